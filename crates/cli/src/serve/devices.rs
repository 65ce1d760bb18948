//! Disks and partitions of this machine that a user may choose to overwrite.

use cryptbench_os::storage::{Node, Tree};
use cryptbench_serve::Device;

/// Kinds of devices without storage, or without persistent storage.
const NOT_OFFERED: [&str; 3] = ["ram", "zram", "nbd"];

/// All devices with a size, in the order of their names: disks before their partitions.
pub fn devices() -> Vec<Device> {
    let disks = Tree::this().all().unwrap_or_default();
    let mut nodes: Vec<(String, Node)> = disks
        .into_iter()
        .flat_map(|disk| {
            let partitions = disk.partitions();
            [disk].into_iter().chain(partitions)
        })
        .map(|node| (node.name(), node))
        .filter(|(name, _)| !NOT_OFFERED.iter().any(|kind| name.starts_with(kind)))
        .collect();
    nodes.sort();
    nodes.iter().filter_map(|(_, node)| device(node)).collect()
}

fn device(node: &Node) -> Option<Device> {
    let size = node.bytes().filter(|size| *size > 0)?;
    let of = |name: &str| node.attribute(name);
    let about = match (of("partition"), of("device/model"), of("loop/backing_file")) {
        (Some(number), ..) => format!("partition {number}"),
        (_, Some(model), _) => model,
        (.., Some(file)) => format!("loop device of {file}"),
        _ => "disk".to_owned(),
    };
    let path = node.device_path();
    path.exists().then(|| Device { path: path.display().to_string(), size, about })
}
