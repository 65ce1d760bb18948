//! Describes block devices for a record.

use cryptbench_record::Device;

pub(super) use cryptbench_os::storage::{Node, Tree};

/// Describes a device.
pub(super) fn describe(node: &Node) -> Option<Device> {
    // The queue and the model of a partition are in the directory of its disk.
    let disk = if node.directory().join("queue").is_dir() { node.clone() } else { node.disk() };
    let queue = |name: &str| disk.attribute(&format!("queue/{name}"));
    let number = |name: &str| queue(name).and_then(|s| s.parse().ok()).unwrap_or(512);
    let scheduler = queue("scheduler").unwrap_or_default();
    let chosen = scheduler.split(['[', ']']).nth(1).unwrap_or(&scheduler).to_owned();
    Some(Device {
        name: node.name(),
        model: disk.attribute("device/model").filter(|m| !m.is_empty()),
        size_bytes: node.bytes()?,
        rotational: queue("rotational").as_deref() == Some("1"),
        logical_block_size: number("logical_block_size"),
        physical_block_size: number("physical_block_size"),
        scheduler: chosen,
        write_cache: queue("write_cache").unwrap_or_else(|| "unknown".to_owned()),
    })
}
