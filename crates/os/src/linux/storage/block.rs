//! Block devices in /sys, each with its underlying devices and its holders.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cryptbench_catalog::{SYSTEMS, System};
use rustix::fs::{major, makedev, minor};

use super::mounts;
use crate::storage::{LUKS2_OPAL, Mount, Untold};

/// Maximum number of levels of stacked devices; more levels than occur in practice.
const LEVELS: usize = 16;

/// The block devices of a machine. Tests replace `/` with a directory.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
}

/// A device or partition: its directory in /sys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node(PathBuf);

pub(crate) fn untold(place: &Path) -> String {
    format!("the kernel does not provide {}", place.display())
}

impl Node {
    /// The kernel's name, such as `sda1` or `dm-0`.
    pub fn name(&self) -> String {
        self.0.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Its directory in /sys, for errors.
    pub fn directory(&self) -> &Path {
        &self.0
    }

    /// The file with its counters ([`crate::counters`]).
    pub fn counters(&self) -> PathBuf {
        self.0.join("stat")
    }

    /// Whether a path refers to this device, by device number or by the kernel's name.
    pub fn is_named(&self, path: &Path) -> bool {
        if !path.is_absolute() {
            return false;
        }
        let number = fs::metadata(path).ok().map(|m| m.rdev()).filter(|n| *n != 0);
        match number {
            Some(_) => number == self.number(),
            None => path == self.device_path(),
        }
    }

    /// The trimmed contents of a file in the device's directory; `None` if the file does not exist or is not text.
    pub fn attribute(&self, name: &str) -> Option<String> {
        Some(fs::read_to_string(self.0.join(name)).ok()?.trim().to_owned())
    }

    /// Its device number.
    pub fn number(&self) -> Option<u64> {
        let text = self.attribute("dev")?;
        let (major, minor) = text.split_once(':')?;
        Some(makedev(major.parse().ok()?, minor.parse().ok()?))
    }

    /// Whether it is a partition.
    pub fn is_partition(&self) -> bool {
        self.0.join("partition").exists()
    }

    /// The disk of a partition; the device itself for anything else.
    pub fn disk(&self) -> Self {
        match self.0.parent() {
            Some(parent) if self.is_partition() => Self(parent.to_owned()),
            _ => self.clone(),
        }
    }

    /// Its partitions.
    pub fn partitions(&self) -> Vec<Self> {
        let mut all: Vec<_> =
            entries(&self.0).into_iter().map(Self).filter(Self::is_partition).collect();
        all.sort();
        all
    }

    /// Partitions that overlap with this device: all partitions of a disk or, for a partition, the partitions that
    /// overlap with it.
    pub fn overlapping(&self) -> Vec<Self> {
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

    /// Its path below /dev.
    pub fn device_path(&self) -> PathBuf {
        // The kernel writes a slash in a name as an exclamation mark (cciss).
        Path::new("/dev").join(self.name().replace('!', "/"))
    }

    /// Size in bytes.
    pub fn bytes(&self) -> Option<u64> {
        Some(self.attribute("size")?.parse::<u64>().ok()? * 512)
    }

    /// Offset of the device's first byte on its disk; 0 for a disk.
    pub fn start(&self) -> u64 {
        self.attribute("start").and_then(|s| s.parse::<u64>().ok()).unwrap_or(0) * 512
    }

    /// The backing file of a loop device; its name need not be UTF-8.
    pub fn backing_file(&self) -> Option<PathBuf> {
        let mut name = fs::read(self.0.join("loop/backing_file")).ok()?;
        // The kernel appends a newline, and does not escape anything.
        name.pop_if(|last| *last == b'\n');
        Some(OsString::from_vec(name).into())
    }

    /// The name and the type that were chosen by the program that created the mapping, such as `secret (CRYPT)`.
    pub fn mapping(&self) -> Option<String> {
        let name = self.attribute("dm/name")?;
        let uuid = self.attribute("dm/uuid").unwrap_or_default();
        Some(match uuid.split_once('-') {
            Some((kind, _)) => format!("{name}, {kind}"),
            None => name,
        })
    }
}

/// The prefixes of cryptsetup(8)'s UUIDs for devices that encrypt. Devices of systems that set no UUID are
/// identified by the prefix of their name.
const BY_UUID: [(&str, &str); 8] = [
    ("CRYPT-LUKS2-OPAL-", LUKS2_OPAL),
    ("CRYPT-LUKS2-", "LUKS2"),
    ("CRYPT-LUKS1-", "LUKS1"),
    ("CRYPT-PLAIN-", "plain dm-crypt"),
    ("CRYPT-TCRYPT-", "VeraCrypt or TrueCrypt"),
    ("CRYPT-BITLK-", "BitLocker"),
    ("CRYPT-FVAULT2-", "FileVault 2"),
    ("CRYPT-LOOPAES-", "loop-AES"),
];

impl Node {
    /// The encryption of this device itself, as far as the device's name shows it; `None` if the device does not
    /// encrypt.
    pub fn encryption(&self) -> Option<&'static str> {
        let name = self.attribute("dm/name")?;
        let uuid = self.attribute("dm/uuid").unwrap_or_default();
        if uuid.is_empty() {
            let is_its =
                |system: &&&System| system.devices.is_some_and(|own| name.starts_with(own));
            return SYSTEMS.iter().find(is_its).map(|system| system.brand());
        }
        BY_UUID.iter().find(|(own, _)| uuid.starts_with(own)).map(|(_, what)| *what)
    }
}

impl Tree {
    /// The tree of this machine.
    pub fn this() -> Self {
        Self::rooted(PathBuf::from("/"))
    }

    /// The tree of a machine whose `proc` and `sys` are below `root`, which must be canonical.
    pub fn rooted(root: PathBuf) -> Self {
        Self { root }
    }

    fn proc(&self, name: &str) -> Result<Vec<u8>, Untold> {
        let place = self.root.join("proc").join(name);
        fs::read(&place).map_err(|why| Untold { place, why })
    }

    /// All mounts in this process's namespace, the latest last.
    ///
    /// # Errors
    /// If the kernel's list cannot be read.
    pub fn mounts(&self) -> Result<Vec<Mount>, Untold> {
        Ok(mounts::parse(&self.proc("self/mountinfo")?))
    }

    /// The mount points of file systems on a device.
    ///
    /// # Errors
    /// Those of [`Self::mounts`].
    pub fn mount_points(&self, node: &Node) -> Result<Vec<PathBuf>, Untold> {
        let number = node.number();
        // A file system on several devices (btrfs) hides the numbers of these devices.
        let of = |mount: &Mount| number == Some(mount.device) || node.is_named(&mount.source);
        Ok(self.mounts()?.into_iter().filter(of).map(|mount| mount.mountpoint).collect())
    }

    /// The devices and files used as swap space (proc(5), /proc/swaps).
    ///
    /// # Errors
    /// If the kernel's list cannot be read.
    pub fn swaps(&self) -> Result<Vec<PathBuf>, Untold> {
        let list = self.proc("swaps")?;
        let lines = list.split(|&b| b == b'\n').skip(1);
        let names =
            lines.filter_map(|l| l.split(u8::is_ascii_whitespace).find(|word| !word.is_empty()));
        Ok(names.map(mounts::unescaped).collect())
    }

    /// The device of the root file system.
    ///
    /// # Errors
    /// Those of [`Self::mounts`].
    pub fn root_device(&self) -> Result<Option<Node>, Untold> {
        let root = self.mounts()?.into_iter().rfind(|mount| mount.mountpoint == Path::new("/"));
        Ok(root.and_then(|mount| self.of_mount(mount.device, &mount.source)))
    }

    fn sys(&self, path: &str) -> PathBuf {
        self.root.join("sys").join(path)
    }

    /// The device with that number.
    pub fn of_number(&self, number: u64) -> Option<Node> {
        let link = format!("dev/block/{}:{}", major(number), minor(number));
        fs::canonicalize(self.sys(&link)).ok().map(Node)
    }

    /// The device that holds a file system with device number `dev` that is mounted from `source`. For a stack of
    /// devices, the topmost device.
    pub fn of_mount(&self, dev: u64, source: &Path) -> Option<Node> {
        self.of_number(dev).or_else(|| {
            // Some file systems have the name of their program as the source, which is not a path.
            let found = Some(source).filter(|source| source.is_absolute());
            let found = fs::metadata(found?).ok()?;
            // A file system on top of a directory, such as a FUSE program, reports the directory as its source.
            self.of_number(if found.is_dir() { found.dev() } else { found.rdev() })
        })
    }

    /// The loop devices over this device.
    ///
    /// # Errors
    /// If the kernel's list of devices cannot be read.
    pub fn loops_over(&self, node: &Node) -> Result<Vec<Node>, Untold> {
        let path = node.device_path();
        let over = |candidate: &Node| {
            candidate.backing_file().is_some_and(|backing| {
                let number = fs::metadata(&backing).ok().map(|m| m.rdev()).filter(|n| *n != 0);
                backing == path || (number.is_some() && number == node.number())
            })
        };
        Ok(self.all()?.into_iter().filter(over).collect())
    }

    /// All disks, mappings, arrays and loop devices.
    ///
    /// # Errors
    /// If the kernel's list of devices cannot be read.
    pub fn all(&self) -> Result<Vec<Node>, Untold> {
        listed(self.sys("block"))
    }

    /// The devices directly below a device, without a file system in between: the members of a
    /// mapping or an array, the disk of a partition, the device below a loop device.
    pub fn directly_below(&self, node: &Node) -> Vec<Node> {
        let mut all: Vec<_> =
            entries(&node.0.join("slaves")).into_iter().map(canonical).map(Node).collect();
        if node.is_partition() {
            all.push(node.disk());
        }
        let backing = node.backing_file().and_then(|file| fs::metadata(file).ok());
        all.extend(backing.and_then(|file| self.of_number(file.rdev())));
        all
    }

    /// Like [`Self::directly_below`], but also the device that holds the file of a loop device.
    fn below(&self, node: &Node) -> Vec<Node> {
        let mut all = self.directly_below(node);
        let backing = node.backing_file().and_then(|file| fs::metadata(file).ok());
        all.extend(backing.filter(fs::Metadata::is_file).and_then(|f| self.of_number(f.dev())));
        all
    }

    /// A device and all devices below it without a file system in between, topmost first.
    pub fn directly(&self, top: &Node) -> Vec<Node> {
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

    /// The regular files that contain a device's data, by device and inode number, each with the loop device that uses
    /// it.
    pub fn files(&self, top: &Node) -> BTreeMap<(u64, u64), Node> {
        let file = |node: Node| {
            let found = fs::metadata(node.backing_file()?).ok().filter(fs::Metadata::is_file)?;
            Some(((found.dev(), found.ino()), node))
        };
        self.directly(top).into_iter().filter_map(file).collect()
    }

    /// The file of the topmost loop device in a stack: the page cache may hold this file's data a second time.
    pub fn kept_in(&self, top: &Node) -> Option<PathBuf> {
        let all = self.directly(top);
        let files = all.iter().filter_map(Node::backing_file);
        let is_device = |file: &PathBuf| fs::metadata(file).is_ok_and(|found| found.rdev() != 0);
        files.into_iter().find(|file| !is_device(file))
    }

    /// A device and all devices below it, including those that hold the files of loop devices.
    pub fn stack(&self, top: &Node) -> BTreeSet<Node> {
        let mut all = BTreeSet::from([top.clone()]);
        let mut level = vec![top.clone()];
        for _ in 0..LEVELS {
            level = level.iter().flat_map(|node| self.below(node)).collect();
            level.retain(|node| all.insert(node.clone()));
        }
        all
    }

    /// The names of the disks at the bottom of a stack, such as `sda`.
    pub fn disks(&self, top: &Node) -> BTreeSet<String> {
        let all = self.stack(top);
        all.iter().filter(|node| self.below(node).is_empty()).map(Node::name).collect()
    }

    /// The devices built on this device: mappings, arrays, volume groups.
    ///
    /// # Errors
    /// If the kernel's list of holders cannot be read.
    pub fn holders(&self, node: &Node) -> Result<Vec<Node>, Untold> {
        listed(node.0.join("holders"))
    }

    /// Whether the device holds only a part of a file system that spans several devices (btrfs); such a file system's
    /// mounts specify only one of the devices.
    pub fn shares_file_system(&self, node: &Node) -> bool {
        let members =
            entries(&self.sys("fs/btrfs")).into_iter().map(|at| entries(&at.join("devices")));
        let holds = |all: &Vec<PathBuf>| all.iter().any(|at| at.file_name() == node.0.file_name());
        members.into_iter().any(|all| all.len() > 1 && holds(&all))
    }

    /// The device whose counters show the real traffic. A loop device, or a mapping on top of a loop device, counts all
    /// requests, cached or not; the device that holds the loop device's file counts only the real requests. `None` if
    /// the file has no such device.
    pub fn counted(&self, top: &Node) -> Option<Node> {
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

/// The devices that the entries of a directory link to.
fn listed(place: PathBuf) -> Result<Vec<Node>, Untold> {
    let found = fs::read_dir(&place).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let found = found.map_err(|why| Untold { place, why })?;
    Ok(found.into_iter().map(|entry| Node(canonical(entry.path()))).collect())
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).map(|d| d.flatten().map(|e| e.path()).collect()).unwrap_or_default()
}

/// The entries of `holders`, `slaves` and `block` are symbolic links.
fn canonical(path: PathBuf) -> PathBuf {
    fs::canonicalize(&path).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;

    use rustix::fs::makedev;

    use super::*;

    /// A simulated machine consisting of files, with one loop device over `file`, whose name and number no real
    /// device has.
    fn machine(file: &OsStr) -> (tempfile::TempDir, Tree) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let own = root.join("sys/devices/loop4007");
        for sub in ["sys/dev/block", "sys/block", "proc/self", "sys/devices/loop4007/loop"] {
            fs::create_dir_all(root.join(sub)).unwrap();
        }
        fs::write(own.join("dev"), "4000:7\n").unwrap();
        let line = [root.join("file").as_os_str().as_bytes(), file.as_bytes(), b"\n"].concat();
        fs::write(own.join("loop/backing_file"), line).unwrap();
        symlink(&own, root.join("sys/block/loop4007")).unwrap();
        symlink(&own, root.join("sys/dev/block/4000:7")).unwrap();
        (dir, Tree::rooted(root))
    }

    #[test]
    fn a_loop_device_over_a_file_whose_name_is_no_text_is_seen() {
        let name = OsStr::from_bytes(b" \xff \n");
        let (dir, tree) = machine(name);
        let mut file = dir.path().canonicalize().unwrap().join("file").into_os_string();
        file.push(name);
        fs::write(&file, "").unwrap();
        let node = tree.of_number(makedev(4000, 7)).unwrap();
        assert_eq!(node.backing_file().as_deref(), Some(Path::new(&file)));
        assert_eq!(tree.files(&node).len(), 1);
        assert_eq!(tree.kept_in(&node).as_deref(), Some(Path::new(&file)));
    }

    #[test]
    fn a_device_of_a_file_system_on_several_is_told() {
        let (dir, tree) = machine(OsStr::new(""));
        let node = tree.of_number(makedev(4000, 7)).unwrap();
        assert!(!tree.shares_file_system(&node), "no such file system");
        let devices = dir.path().join("sys/fs/btrfs/0123/devices");
        fs::create_dir_all(&devices).unwrap();
        symlink(&node.0, devices.join("loop4007")).unwrap();
        assert!(!tree.shares_file_system(&node), "on one device");
        fs::create_dir(devices.join("loop4008")).unwrap();
        assert!(tree.shares_file_system(&node));
    }

    #[test]
    fn devices_that_encrypt_are_told_by_what_their_users_call_them() {
        let (_dir, tree) = machine(OsStr::new(""));
        let node = tree.of_number(makedev(4000, 7)).unwrap();
        assert_eq!(node.encryption(), None, "no mapping");
        fs::create_dir(node.0.join("dm")).unwrap();
        for (name, uuid, expected) in [
            ("home", "CRYPT-LUKS2-0123456789abcdef-home\n", Some("LUKS2")),
            ("drive", "CRYPT-LUKS2-OPAL-0123456789abcdef-drive\n", Some(LUKS2_OPAL)),
            ("c", "CRYPT-BITLK-0123-c\n", Some("BitLocker")),
            ("veracrypt1\n", "\n", Some("VeraCrypt")),
            // Of LVM, whose volumes have any name; and of dm-verity, which encrypts nothing.
            ("veracrypt1", "LVM-abc", None),
            ("root", "CRYPT-VERITY-0123-root", None),
        ] {
            fs::write(node.0.join("dm/name"), name).unwrap();
            fs::write(node.0.join("dm/uuid"), uuid).unwrap();
            assert_eq!(node.encryption(), expected, "{name} {uuid}");
        }
    }

    #[test]
    fn mounts_swap_and_root_are_told_among_names_that_are_no_text() {
        let (dir, tree) = machine(OsStr::new(""));
        let (mounts, swaps) =
            (dir.path().join("proc/self/mountinfo"), dir.path().join("proc/swaps"));
        let untold = tree.mounts().unwrap_err();
        assert!(untold.place.ends_with("proc/self/mountinfo"), "{untold}");
        let stranger = b"20 1 0:9 / /media/\xfe rw - fuse.x \xff rw\n".as_slice();
        let root = b"21 1 4000:7 / / rw - ext4 /dev/loop4007 rw\n";
        let data = b"22 1 0:50 / /mnt/\\012\xfd rw - btrfs /dev/loop4007 rw\n";
        fs::write(mounts, [stranger, root, data].concat()).unwrap();
        fs::write(swaps, b"Filename Type\n/swap\\040\xff file 1 0 -2\n/dev/loop4007\tpartition\n")
            .unwrap();
        let node = tree.of_number(makedev(4000, 7)).unwrap();
        let points = tree.mount_points(&node).unwrap();
        let at = |bytes: &'static [u8]| PathBuf::from(OsStr::from_bytes(bytes));
        assert_eq!(points, [at(b"/"), at(b"/mnt/\n\xfd")]);
        assert_eq!(tree.root_device().unwrap(), Some(node));
        assert_eq!(tree.swaps().unwrap(), [at(b"/swap \xff"), at(b"/dev/loop4007")]);
    }
}
