//! The block device that a target lies on, and what that is made of.

use std::collections::BTreeSet;
use std::path::PathBuf;

use cryptbench_os::storage::{Node, Tree};
use cryptbench_record::Device;
use serde::{Deserialize, Serialize};

use super::Number;

/// A block device, with all that lies below it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Below {
    /// The kernel's name.
    pub(crate) name: String,
    pub(crate) is_partition: bool,
    /// Offset of its first byte on its disk.
    pub(crate) start: u64,
    /// The device whose counters show the real traffic, or else itself, in the form of a record.
    pub(crate) device: Option<Device>,
    /// The file with those counters.
    pub(crate) counters: Option<PathBuf>,
    /// The file of the topmost loop device.
    pub(crate) kept_in: Option<PathBuf>,
    /// The disks at the bottom.
    pub(crate) disks: BTreeSet<String>,
    /// Itself and all devices below.
    pub(crate) stack: BTreeSet<String>,
    /// The files that hold its data, each with its loop device.
    pub(crate) files: Vec<(Number, String)>,
}

impl Below {
    pub(super) fn of(tree: &Tree, node: &Node) -> Self {
        let counted = tree.counted(node);
        Self {
            name: node.name(),
            is_partition: node.is_partition(),
            start: node.start(),
            device: describe(counted.as_ref().unwrap_or(node)),
            counters: counted.map(|node| node.counters()),
            kept_in: tree.kept_in(node),
            disks: tree.disks(node),
            stack: tree.stack(node).iter().map(Node::name).collect(),
            files: tree.files(node).into_iter().map(|(file, by)| (file, by.name())).collect(),
        }
    }
}

/// Describes a device for a record.
fn describe(node: &Node) -> Option<Device> {
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
