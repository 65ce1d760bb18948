//! Block devices as /sys shows them: what each stands on, and who stands on it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cryptbench_record::Device;
use rustix::fs::{major, makedev, minor};

/// Devices upon devices: more levels than anybody stacks.
const LEVELS: usize = 16;

/// A machine's block devices. Tests put a directory in the place of `/`.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) root: PathBuf,
}

/// One device or partition: its directory in /sys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Node(pub(super) PathBuf);

impl Node {
    /// The kernel's name, such as `sda1` or `dm-0`.
    pub(super) fn name(&self) -> String {
        self.0.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// A file of its directory, trimmed.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        Some(fs::read_to_string(self.0.join(name)).ok()?.trim().to_owned())
    }

    /// Its device number.
    pub(super) fn number(&self) -> Option<u64> {
        let text = self.attribute("dev")?;
        let (major, minor) = text.split_once(':')?;
        Some(makedev(major.parse().ok()?, minor.parse().ok()?))
    }

    pub(super) fn is_partition(&self) -> bool {
        self.0.join("partition").exists()
    }

    /// The disk of a partition; of anything else itself.
    pub(super) fn disk(&self) -> Self {
        match self.0.parent() {
            Some(parent) if self.is_partition() => Self(parent.to_owned()),
            _ => self.clone(),
        }
    }

    /// Its partitions.
    pub(super) fn partitions(&self) -> Vec<Self> {
        let mut all: Vec<_> =
            entries(&self.0).into_iter().map(Self).filter(Self::is_partition).collect();
        all.sort();
        all
    }

    /// Partitions that its bytes belong to as well: those of a disk, or of a partition others that reach into it.
    pub(super) fn overlapping(&self) -> Vec<Self> {
        if !self.is_partition() {
            return self.partitions();
        }
        let reach = |node: &Self| node.start()..node.start() + node.bytes().unwrap_or(u64::MAX / 2);
        let own = reach(self);
        let mut others = self.disk().partitions();
        others.retain(|other| {
            let there = reach(other);
            other != self && there.start < own.end && own.start < there.end
        });
        others
    }

    /// Where it is reached.
    pub(super) fn device_path(&self) -> PathBuf {
        // The kernel writes a slash in a name as an exclamation mark (cciss).
        Path::new("/dev").join(self.name().replace('!', "/"))
    }

    /// Bytes.
    pub(super) fn bytes(&self) -> Option<u64> {
        Some(self.attribute("size")?.parse::<u64>().ok()? * 512)
    }

    /// First byte on its disk; 0 for a disk.
    pub(super) fn start(&self) -> u64 {
        self.attribute("start").and_then(|s| s.parse::<u64>().ok()).unwrap_or(0) * 512
    }

    /// The file behind a loop device.
    pub(super) fn backing_file(&self) -> Option<String> {
        self.attribute("loop/backing_file")
    }

    /// The name and kind that device mapper's user gave it, such as `secret (CRYPT)`.
    pub(super) fn mapping(&self) -> Option<String> {
        let name = self.attribute("dm/name")?;
        let uuid = self.attribute("dm/uuid").unwrap_or_default();
        Some(match uuid.split_once('-') {
            Some((kind, _)) => format!("{name}, {kind}"),
            None => name,
        })
    }
}

impl Tree {
    /// This machine's.
    pub(super) fn this() -> Self {
        Self { root: "/".into() }
    }

    fn sys(&self, path: &str) -> PathBuf {
        self.root.join("sys").join(path)
    }

    /// The device of that number.
    pub(super) fn of_number(&self, number: u64) -> Option<Node> {
        let link = format!("dev/block/{}:{}", major(number), minor(number));
        fs::canonicalize(self.sys(&link)).ok().map(Node)
    }

    /// The device that a file system of the device number `dev`, mounted from `source`, lies on. Where several stand
    /// upon each other it is the topmost.
    pub(super) fn of_mount(&self, dev: u64, source: &str) -> Option<Node> {
        self.of_number(dev).or_else(|| {
            // Some name their program instead, which is no path.
            let found = Some(source).filter(|source| Path::new(source).is_absolute());
            let found = fs::metadata(found?).ok()?;
            // A file system over a directory, as FUSE has them, names it as its source.
            self.of_number(if found.is_dir() { found.dev() } else { found.rdev() })
        })
    }

    /// The loop devices over this one.
    pub(super) fn loops_over(&self, node: &Node) -> io::Result<Vec<Node>> {
        let path = node.device_path();
        let over = |candidate: &Node| {
            candidate.backing_file().is_some_and(|backing| {
                let number = fs::metadata(&backing).ok().map(|m| m.rdev()).filter(|n| *n != 0);
                Path::new(&backing) == path || (number.is_some() && number == node.number())
            })
        };
        Ok(self.all()?.into_iter().filter(over).collect())
    }

    /// All disks, mappings, arrays and loop devices.
    pub(super) fn all(&self) -> io::Result<Vec<Node>> {
        let found = fs::read_dir(self.sys("block"))?.collect::<io::Result<Vec<_>>>()?;
        Ok(found.into_iter().map(|entry| Node(canonical(entry.path()))).collect())
    }

    /// What a device stands on directly, with no file system between: the members of a mapping or an array, the
    /// disk of a partition, the device below a loop device.
    pub(super) fn directly_below(&self, node: &Node) -> Vec<Node> {
        let mut all: Vec<_> =
            entries(&node.0.join("slaves")).into_iter().map(canonical).map(Node).collect();
        if node.is_partition() {
            all.push(node.disk());
        }
        let backing = node.backing_file().and_then(|file| fs::metadata(file).ok());
        all.extend(backing.and_then(|file| self.of_number(file.rdev())));
        all
    }

    /// The same, and the device with the file of a loop device.
    fn below(&self, node: &Node) -> Vec<Node> {
        let mut all = self.directly_below(node);
        let backing = node.backing_file().and_then(|file| fs::metadata(file).ok());
        all.extend(backing.filter(fs::Metadata::is_file).and_then(|f| self.of_number(f.dev())));
        all
    }

    /// A device and all that it stands on with no file system between, the topmost first.
    pub(super) fn directly(&self, top: &Node) -> Vec<Node> {
        let mut all = vec![top.clone()];
        let mut next = 0;
        while let Some(node) = all.get(next).cloned() {
            let mut below = self.directly_below(&node);
            below.retain(|node| !all.contains(node));
            all.extend(below);
            next += 1;
        }
        all
    }

    /// The regular files that a device keeps its bytes in, by device and inode, each with its loop device.
    pub(super) fn files(&self, top: &Node) -> BTreeMap<(u64, u64), Node> {
        let file = |node: Node| {
            let found = fs::metadata(node.backing_file()?).ok().filter(fs::Metadata::is_file)?;
            Some(((found.dev(), found.ino()), node))
        };
        self.directly(top).into_iter().filter_map(file).collect()
    }

    /// The file of the topmost loop device that a device stands on: the page cache keeps it a second time.
    pub(super) fn kept_in(&self, top: &Node) -> Option<PathBuf> {
        let all = self.directly(top);
        let files = all.iter().filter_map(|node| Some(PathBuf::from(node.backing_file()?)));
        let is_device = |file: &PathBuf| fs::metadata(file).is_ok_and(|found| found.rdev() != 0);
        files.into_iter().find(|file| !is_device(file))
    }

    /// A device and all that it stands on.
    pub(super) fn stack(&self, top: &Node) -> BTreeSet<Node> {
        let mut all = BTreeSet::from([top.clone()]);
        let mut level = vec![top.clone()];
        for _ in 0..LEVELS {
            level = level.iter().flat_map(|node| self.below(node)).collect();
            level.retain(|node| all.insert(node.clone()));
        }
        all
    }

    /// The names of the disks that a device ends on, such as `sda`.
    pub(super) fn disks(&self, top: &Node) -> BTreeSet<String> {
        let all = self.stack(top);
        all.iter().filter(|node| self.below(node).is_empty()).map(Node::name).collect()
    }

    /// The devices that hold this one: mappings, arrays, volume groups.
    pub(super) fn holders(&self, node: &Node) -> io::Result<Vec<Node>> {
        let found = fs::read_dir(node.0.join("holders"))?.collect::<io::Result<Vec<_>>>()?;
        Ok(found.into_iter().map(|entry| Node(canonical(entry.path()))).collect())
    }

    /// The device whose counters tell what was moved. A loop device, and a mapping upon one, counts what it is
    /// asked for, cached or not: its file's device tells the truth. `None` where that has none.
    pub(super) fn counted(&self, top: &Node) -> Option<Node> {
        let mut found = top.clone();
        for _ in 0..LEVELS {
            if let Some(backing) = found.disk().backing_file() {
                let file = fs::metadata(backing).ok()?;
                found = self.of_number(file.rdev()).or_else(|| self.of_number(file.dev()))?;
                continue;
            }
            match &entries(&found.0.join("slaves"))[..] {
                [only] => found = Node(canonical(only.clone())),
                _ => break,
            }
        }
        let cached = self.directly(&found).iter().any(|node| node.backing_file().is_some());
        (!cached).then_some(found)
    }
}

/// What a record says of a device.
pub(super) fn describe(node: &Node) -> Option<Device> {
    // A partition has its queue and its model in the directory of its disk.
    let disk = if node.0.join("queue").is_dir() { node.clone() } else { node.disk() };
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

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).map(|d| d.flatten().map(|e| e.path()).collect()).unwrap_or_default()
}

/// The entries of `holders`, `slaves` and `block` are symbolic links.
fn canonical(path: PathBuf) -> PathBuf {
    fs::canonicalize(&path).unwrap_or(path)
}
