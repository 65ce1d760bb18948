//! The block device of a target, and its underlying devices.

use std::collections::BTreeSet;
use std::path::PathBuf;

use cryptbench_os::machine::Machine;
use cryptbench_os::storage::{Node, Tree};
use cryptbench_record::{Device, KindOfDevice, Uncounted};
use serde::{Deserialize, Serialize};

use super::Number;

/// A block device, with all its underlying devices.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Below {
    /// The kernel's name.
    pub(crate) name: String,
    pub(crate) is_partition: bool,
    /// Offset of its first byte on its disk.
    pub(crate) start: u64,
    /// Size of a logical sector in bytes.
    pub(crate) sector: Option<u32>,
    /// The device whose counters show the real traffic, otherwise this device, in the form of the record.
    pub(crate) device: Option<Device>,
    /// The file with those counters.
    pub(crate) counters: Option<PathBuf>,
    /// The backing file of the topmost loop device.
    pub(crate) kept_in: Option<PathBuf>,
    /// The lowest-level disks.
    pub(crate) disks: BTreeSet<String>,
    /// This device and all its underlying devices.
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
            sector: sector(node),
            device: describe(counted.as_ref().unwrap_or(node)),
            counters: counted
                .filter(|node| !tree.shares_file_system(node))
                .map(|node| node.counters()),
            kept_in: tree.kept_in(node),
            disks: tree.disks(node),
            stack: tree.stack(node).iter().map(Node::name).collect(),
            files: tree.files(node).into_iter().map(|(file, by)| (file, by.name())).collect(),
        }
    }
}

/// File systems that are stored on the host of this virtual machine.
pub(super) const OF_HOST: [&str; 5] = ["9p", "fuse.vmhgfs-fuse", "prl_fs", "vboxsf", "virtiofs"];

/// File systems whose disk is in another machine.
pub(super) const REMOTE: [&str; 13] = [
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "fuse.glusterfs",
    "fuse.sshfs",
    "gfs2",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "smb3",
];

/// Why the requests that reach the disk of a file system, or of a device without one, are unknown; `None` if
/// they can be counted.
pub(super) fn uncounted(file_system: &str, below: Option<&Below>) -> Option<Uncounted> {
    match (file_system, below) {
        (_, Some(below)) if below.counters.is_some() => None,
        ("btrfs" | "bcachefs" | "zfs", _) => Some(Uncounted::SeveralDevices),
        (_, Some(_)) => Some(Uncounted::Cached),
        ("overlay" | "aufs" | "unionfs", None) => Some(Uncounted::Overlay),
        ("tmpfs" | "ramfs" | "hugetlbfs", None) => Some(Uncounted::Memory),
        (remote, None) if REMOTE.contains(&remote) || OF_HOST.contains(&remote) => {
            Some(Uncounted::Network)
        }
        (program, None) if program.starts_with("fuse") => Some(Uncounted::Program),
        (_, None) => Some(Uncounted::Unknown),
    }
}

/// The device itself or, for a partition, its disk, whose directory in sysfs contains the queue and the model.
fn with_queue(node: &Node) -> Node {
    if node.directory().join("queue").is_dir() { node.clone() } else { node.disk() }
}

fn sector(node: &Node) -> Option<u32> {
    with_queue(node).attribute("queue/logical_block_size")?.parse().ok()
}

/// The kind of the device that [`Below::device`] describes.
pub(super) fn kind(tree: &Tree, node: &Node) -> KindOfDevice {
    let counted = tree.counted(node);
    let found = tree.kind(counted.as_ref().unwrap_or(node), Machine::this().is_virtual());
    KindOfDevice {
        kind: found.kind.map(|kind| kind.as_str().to_owned()),
        why: found.why,
        by_owner: false,
    }
}

/// What the drive of that device reports about self-encryption.
pub(super) fn self_encrypting(tree: &Tree, node: &Node) -> Option<String> {
    let counted = tree.counted(node);
    let found = tree.self_encrypting(counted.as_ref().unwrap_or(node));
    found.map(|found| found.to_string())
}

/// Describes a device for a record.
fn describe(node: &Node) -> Option<Device> {
    let disk = with_queue(node);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_nothing_is_counted_is_told_by_the_file_system() {
        let counted = Below { counters: Some(PathBuf::from("stat")), ..Below::default() };
        assert_eq!(uncounted("ext4", Some(&counted)), None);
        assert_eq!(uncounted("btrfs", Some(&counted)), None);
        assert_eq!(uncounted("", Some(&counted)), None);
        for (file_system, below, expected) in [
            ("ext4", Some(&Below::default()), Uncounted::Cached),
            ("btrfs", Some(&Below::default()), Uncounted::SeveralDevices),
            ("zfs", None, Uncounted::SeveralDevices),
            ("overlay", None, Uncounted::Overlay),
            ("nfs4", None, Uncounted::Network),
            ("fuse.sshfs", None, Uncounted::Network),
            ("fuse.gocryptfs", None, Uncounted::Program),
            ("fuseblk", None, Uncounted::Program),
            ("tmpfs", None, Uncounted::Memory),
            ("ubifs", None, Uncounted::Unknown),
        ] {
            assert_eq!(uncounted(file_system, below), Some(expected), "{file_system}");
        }
    }
}
