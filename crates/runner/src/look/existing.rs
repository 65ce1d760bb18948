//! A file or block device that could be overwritten: its kind, its content, and its users. Examined when a run
//! is planned, and again before the first byte is written.
#![expect(clippy::disallowed_methods, reason = "targets, with checks of their own")]

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cryptbench_os::files::{Opening, names_of};
use cryptbench_os::lock::{Lock, lock_within};
use cryptbench_os::storage::{Node, Tree, space};
use cryptbench_os::{Details, FileIdentity, FileType};
use cryptbench_system::provision::signatures;
use cryptbench_text::{chain, shown};
use serde::{Deserialize, Serialize};

use super::holders::{uses, uses_of_file};
use super::{Asked, Ground, Holder, Number};
use crate::refusal::Refusal;

/// How long another program may hold a lock: udev acquires it briefly when a writer closes a disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// A signature on the storage to be overwritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Held {
    /// Its name in blkid(8).
    pub(crate) name: String,
    /// The partition with the signature; `None` for the target itself.
    pub(crate) partition: Option<PathBuf>,
    /// Offset of that partition on the target, bytes.
    pub(crate) start: u64,
    /// The signature's offset on the partition or target, in bytes.
    pub(crate) offset: u64,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.partition {
            Some(partition) => write!(f, "{}: {}", shown(partition), self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The kind of the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    File,
    Device,
    Partition,
}

impl Kind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Device => "device",
            Self::Partition => "partition",
        }
    }

    pub(crate) const fn in_words(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Device => "block device",
            Self::Partition => "partition",
        }
    }
}

/// Distinguishes storage from other storage with the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) number: Number,
    pub(crate) size: u64,
    /// Serial number of the disk, or the file of a loop device.
    pub(crate) serial: Option<String>,
    /// The kernel's sequence number, counted as disks are attached (Linux 5.15).
    pub(crate) sequence: Option<String>,
}

/// Holes in the part of a file to be overwritten, for which no space is allocated yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holes {
    /// Bytes of the file in holes.
    pub(crate) bytes: u64,
    /// Free bytes of its file system; `None` if the file system does not count them.
    pub(crate) free: Option<u64>,
}

/// An existing file or block device. Anything that could not be determined is a reason not to overwrite it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Found {
    /// Absolute path.
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) uses: Result<Vec<Holder>, Refusal>,
    /// Number of names of a file.
    pub(crate) names: Result<u64, Refusal>,
    pub(crate) is_read_only: bool,
    /// Whether the storage could be opened exclusively and locked.
    pub(crate) is_free: Result<(), Refusal>,
    pub(crate) identity: Result<Identity, Refusal>,
    /// The signatures on it, and on the partitions that overlap with it.
    pub(crate) held: Result<Vec<Held>, Refusal>,
    pub(crate) holes: Result<Holes, Refusal>,
    /// Model and serial number of a disk, in parentheses.
    pub(crate) maker: String,
    /// The backing file of a loop device.
    pub(crate) backing_file: Option<String>,
    /// Whether the storage is a disk with partitions.
    #[serde(default)]
    pub(crate) has_partitions: bool,
    /// Its underlying device.
    pub(crate) ground: Asked<Ground>,
}

impl Found {
    /// If it cannot be examined, or is neither a file nor a block device. In the latter case it is not opened.
    pub(super) fn look(path: &Path) -> Result<Self, Refusal> {
        let found = fs::metadata(path).map_err(Refusal::io("examine it"))?;
        let kind = kind(&found)?;
        let number = Details::of(&found).device;
        let node = Tree::this().of_number(number).filter(|_| kind != Kind::File);
        let uses = users(path, kind, number);
        // Storage in use by others is not locked, not even briefly.
        let is_used = uses.as_ref().is_ok_and(|uses| !uses.is_empty());
        Ok(Self {
            path: path.to_owned(),
            kind,
            uses,
            names: match kind {
                Kind::File => {
                    File::open(path).map_err(Refusal::io("open it")).and_then(|f| names(&f))
                }
                Kind::Device | Kind::Partition => Ok(1),
            },
            is_read_only: node.as_ref().is_some_and(|n| n.attribute("ro").as_deref() == Some("1")),
            is_free: if is_used { Err(Refusal::Claimed) } else { try_claim(path, kind) },
            identity: identity(path, kind),
            held: held(path, kind),
            holes: holes(path, kind),
            maker: node.as_ref().map(maker).unwrap_or_default(),
            has_partitions: node.as_ref().is_some_and(|node| !node.partitions().is_empty()),
            backing_file: node.and_then(|node| node.backing_file()).map(|file| shown(&file)),
            ground: match kind {
                Kind::File => Ground::of_file(path),
                Kind::Device | Kind::Partition => Ok(Ground::of_device(path, number)),
            },
        })
    }
}

/// Acquires the lock that keeps udev and other runs away.
pub(crate) fn lock(file: &File) -> Result<(), Refusal> {
    match lock_within(file, Lock::Exclusive, PATIENCE) {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Err(Refusal::Locked),
        // On a file system without locks, nobody can hold a lock.
        _ => Ok(()),
    }
}

/// Whether the file or device could be claimed now.
fn try_claim(path: &Path, kind: Kind) -> Result<(), Refusal> {
    let file = Opening::to_read().alone(kind != Kind::File).open(path);
    lock(&file.map_err(|e| match e.kind() {
        io::ErrorKind::ResourceBusy => Refusal::Claimed,
        _ => Refusal::io("open it")(e),
    })?)
}

/// The users of a file or device; `number` is the number of a device.
pub(crate) fn users(path: &Path, kind: Kind, number: u64) -> Result<Vec<Holder>, Refusal> {
    match kind {
        Kind::File => uses_of_file(&Tree::this(), path),
        Kind::Device | Kind::Partition => uses(&Tree::this(), number),
    }
}

/// Number of names of a file.
pub(crate) fn names(file: &File) -> Result<u64, Refusal> {
    names_of(file).map_err(Refusal::io("examine it"))
}

/// All signatures on a device, and on the partitions that overlap with it.
pub(crate) fn held(path: &Path, kind: Kind) -> Result<Vec<Held>, Refusal> {
    // The content of a file is its user's responsibility; but others may rely on the contents of a disk.
    if kind == Kind::File {
        return Ok(Vec::new());
    }
    let gone = |what: &Path| Refusal::Unknown { what: format!("{} does not exist", shown(what)) };
    let number = |path: &Path| fs::metadata(path).ok().map(|found| Details::of(&found).device);
    let node = number(path).and_then(|number| Tree::this().of_number(number));
    let node = node.ok_or_else(|| gone(path))?;
    let mut all = Vec::new();
    let mut add = |path: &Path, partition: Option<PathBuf>, start: u64| -> Result<(), Refusal> {
        let unreadable = |why| Refusal::Unreadable { why: chain(&why) };
        for found in signatures(path).map_err(unreadable)? {
            let partition = partition.clone();
            all.push(Held { name: found.name, partition, start, offset: found.offset });
        }
        Ok(())
    };
    add(path, None, 0)?;
    for partition in node.overlapping() {
        let device = partition.device_path();
        let number = number(&device);
        if number.is_none() || number != partition.number() {
            return Err(gone(&device));
        }
        let start = if node.is_partition() { 0 } else { partition.start() };
        add(&device, Some(device.clone()), start)?;
    }
    Ok(all)
}

/// The holes of a file.
pub(crate) fn holes(path: &Path, kind: Kind) -> Result<Holes, Refusal> {
    if kind != Kind::File {
        return Ok(Holes::default());
    }
    let found = fs::metadata(path).map_err(Refusal::io("examine it"))?;
    let space = space(path).map_err(Refusal::io("examine its file system"))?;
    Ok(Holes {
        bytes: found.len().saturating_sub(Details::of(&found).allocated),
        free: (space.size != 0).then_some(space.free),
    })
}

/// Model and serial number of a disk, in parentheses.
fn maker(node: &Node) -> String {
    let disk = node.disk();
    let find = |names: &[&str]| {
        names.iter().find_map(|name| disk.attribute(name)).filter(|text| !text.is_empty())
    };
    let model = find(&["device/model"]);
    let serial = find(&["device/serial", "serial", "device/wwid"]);
    let known: Vec<_> =
        [model, serial.map(|s| format!("serial {s}"))].into_iter().flatten().collect();
    if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) }
}

fn kind(found: &fs::Metadata) -> Result<Kind, Refusal> {
    if found.is_file() {
        return Ok(Kind::File);
    }
    let details = Details::of(found);
    if details.kind != FileType::BlockDevice {
        return Err(Refusal::Kind);
    }
    let node = Tree::this().of_number(details.device);
    Ok(if node.is_some_and(|n| n.is_partition()) { Kind::Partition } else { Kind::Device })
}

/// Distinguishes open storage from other storage.
pub(crate) fn number(file: &File, kind: Kind) -> io::Result<Number> {
    match kind {
        Kind::File => FileIdentity::of(file).map(|found| (found.device, found.inode)),
        Kind::Device | Kind::Partition => Ok((Details::of(&file.metadata()?).device, 0)),
    }
}

/// Distinguishes the destination of `path` from other storage; `None` if the destination cannot be overwritten.
pub(crate) fn numbered(path: &Path) -> Option<Number> {
    let found = fs::metadata(path).ok()?;
    match kind(&found).ok()? {
        Kind::File => FileIdentity::reached_by(path).ok().map(|found| (found.device, found.inode)),
        Kind::Device | Kind::Partition => Some((Details::of(&found).device, 0)),
    }
}

pub(crate) fn identity(path: &Path, kind: Kind) -> Result<Identity, Refusal> {
    let mut file = File::open(path).map_err(Refusal::io("open it"))?;
    let found = file.metadata().map_err(Refusal::io("examine it"))?;
    let node = Tree::this().of_number(Details::of(&found).device).filter(|_| kind != Kind::File);
    let disk = node.as_ref().map(Node::disk);
    let of_disk = |names: &[&str]| {
        disk.as_ref().and_then(|disk| names.iter().find_map(|name| disk.attribute(name)))
    };
    Ok(Identity {
        number: number(&file, kind).map_err(Refusal::io("examine it"))?,
        size: file.seek(SeekFrom::End(0)).map_err(Refusal::io("determine its size"))?,
        serial: of_disk(&[
            "device/serial",
            "device/wwid",
            "serial",
            "dm/uuid",
            "loop/backing_file",
        ]),
        sequence: of_disk(&["diskseq"]),
    })
}
