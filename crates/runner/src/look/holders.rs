//! Finds the users of a block device or file: if there are any, it must not be overwritten.
#![expect(clippy::disallowed_methods, reason = "targets, with checks of their own")]

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cryptbench_os::files::Opening;
use cryptbench_os::storage::{Node, Tree, Untold, number_in_words};
use cryptbench_os::{Details, FileIdentity};
use cryptbench_text::{quoted_path, shown};
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// A use of a file or device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Holder {
    /// It contains the root file system, possibly through other devices.
    Root { device: String },
    /// It, or one of its partitions, is mounted.
    Mounted { device: String, at: PathBuf },
    /// The kernel uses it as swap space.
    Swap { device: String },
    /// Another device is built on it.
    Held { device: String, by: String },
    /// A loop device is attached to it.
    Looped { device: String, by: String },
}

impl fmt::Display for Holder {
    /// Describes the use and its remedy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root { device } => write!(
                f,
                "the root file system of this machine is on {device} and would be destroyed: choose another device"
            ),
            Self::Mounted { device, at } => {
                write!(f, "{device} is mounted at {}: umount {}", shown(at), quoted_path(at))
            }
            Self::Swap { device } => {
                write!(f, "{device} is used as swap space: swapoff {device}")
            }
            Self::Held { device, by } => write!(
                f,
                "{device} is in use by {by}: stop that first (cryptsetup close, vgchange -an, mdadm --stop)"
            ),
            Self::Looped { device, by } => {
                write!(f, "loop device {by} is attached to {device}: losetup --detach {by}")
            }
        }
    }
}

/// All uses of the block device with this number: its own, those of its partitions, and those of its disk, except
/// for other partitions of that disk. Also the uses of the backing files and devices of its loop devices, which the
/// kernel does not protect.
///
/// # Errors
/// [`Refusal::Unknown`] if the kernel does not report the uses, [`Refusal::Claimed`] for a claim without
/// further information.
pub(super) fn uses(tree: &Tree, number: u64) -> Result<Vec<Holder>, Refusal> {
    let node = tree.of_number(number).ok_or_else(|| {
        let device = number_in_words(number);
        Refusal::Unknown { what: format!("/sys has no device {device}") }
    })?;
    let mut all = uses_from(tree, &node)?;
    // The backing file of a loop device does not show that the device uses it, and may have other users.
    for node in tree.directly(&node) {
        if let Some(file) = node.backing_file() {
            let mut below = uses_below(tree, &file)?;
            let by_itself =
                |a: &Holder| matches!(a, Holder::Looped { by, .. } if *by == path(&node));
            below.retain(|a| !by_itself(a) && !all.contains(a));
            all.append(&mut below);
        }
    }
    Ok(all)
}

/// Uses of the backing file or device of a loop device.
fn uses_below(tree: &Tree, file: &Path) -> Result<Vec<Holder>, Refusal> {
    let found = fs::metadata(file).map_err(|e| unknown(file, &e))?;
    if found.is_file() {
        return uses_of_file(tree, file);
    }
    let node = tree.of_number(Details::of(&found).device);
    let gone = || unknown(file, &io::ErrorKind::NotFound.into());
    let uses = uses_from(tree, &node.ok_or_else(gone)?)?;
    // Members of file systems on several disks are claimed, but not listed anywhere.
    match Opening::to_read().alone(true).open(file) {
        Err(e) if e.kind() == io::ErrorKind::ResourceBusy && uses.is_empty() => {
            Err(Refusal::Claimed)
        }
        Err(e) if e.kind() != io::ErrorKind::ResourceBusy => Err(unknown(file, &e)),
        _ => Ok(uses),
    }
}

/// Uses of a device, of its partitions and of its disk.
fn uses_from(tree: &Tree, node: &Node) -> Result<Vec<Holder>, Refusal> {
    let mut all = Vec::new();
    let mut own = vec![node.clone()];
    own.extend(node.overlapping());
    if let Some(root) = tree.root_device()?
        && let Some(hit) = tree.stack(&root).iter().find(|n| own.contains(n))
    {
        all.push(Holder::Root { device: path(hit) });
    }
    if node.is_partition() {
        own.push(node.disk());
    }
    for node in &own {
        all.extend(uses_of(tree, node)?);
    }
    Ok(all)
}

fn uses_of(tree: &Tree, node: &Node) -> Result<Vec<Holder>, Refusal> {
    let device = path(node);
    let mut all: Vec<_> = tree
        .mount_points(node)?
        .into_iter()
        .map(|at| Holder::Mounted { device: device.clone(), at })
        .collect();
    if tree.swaps()?.iter().any(|swap| node.is_named(swap)) {
        all.push(Holder::Swap { device: device.clone() });
    }
    for holder in tree.holders(node)? {
        let mut by = path(&holder);
        if let Some(mapping) = holder.mapping() {
            by = format!("{by} ({mapping})");
        }
        for at in tree.mount_points(&holder)? {
            by = format!("{by}, which is mounted at {}", shown(&at));
        }
        all.push(Holder::Held { device: device.clone(), by });
    }
    for over in tree.loops_over(node)? {
        all.push(Holder::Looped { device: device.clone(), by: path(&over) });
    }
    Ok(all)
}

/// Uses of a regular file.
pub(super) fn uses_of_file(tree: &Tree, file: &Path) -> Result<Vec<Holder>, Refusal> {
    let device = shown(file);
    let same = |other: &Path| {
        let identity = |path: &Path| FileIdentity::reached_by(path).ok();
        identity(other).is_some_and(|found| Some(found) == identity(file))
    };
    let mut all = Vec::new();
    if tree.swaps()?.iter().any(|swap| same(swap)) {
        all.push(Holder::Swap { device: device.clone() });
    }
    for node in tree.all()? {
        if node.backing_file().is_some_and(|backing| same(&backing)) {
            all.push(Holder::Looped { device: device.clone(), by: path(&node) });
        }
    }
    Ok(all)
}
fn unknown(path: &Path, why: &io::Error) -> Refusal {
    Refusal::Unknown { what: format!("{}: {why}", shown(path)) }
}

impl From<Untold> for Refusal {
    fn from(untold: Untold) -> Self {
        unknown(&untold.place, &untold.why)
    }
}

fn path(node: &Node) -> String {
    shown(&node.device_path())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::makedev;

    use super::*;

    /// A simulated machine consisting of files, with device numbers that no real device has.
    struct Machine {
        dir: tempfile::TempDir,
        mounts: String,
        swaps: String,
    }

    impl Machine {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            for sub in ["sys/dev/block", "sys/block", "sys/devices", "proc/self"] {
                fs::create_dir_all(dir.path().join(sub)).unwrap();
            }
            Self { dir, mounts: String::new(), swaps: "Filename Type Size Used Priority\n".into() }
        }

        /// A device below `parent` (the name of a disk), or without a parent.
        fn device(&self, name: &str, minor: u32, parent: Option<&str>) -> PathBuf {
            let base = self.dir.path().join("sys/devices");
            let own = parent.map_or(base.clone(), |p| base.join(p)).join(name);
            fs::create_dir_all(own.join("holders")).unwrap();
            fs::write(own.join("dev"), format!("4000:{minor}\n")).unwrap();
            match parent {
                Some(_) => {
                    fs::write(own.join("partition"), "1\n").unwrap();
                    // Next to each other, without overlap.
                    fs::write(own.join("start"), format!("{}\n", 4096 * minor)).unwrap();
                    fs::write(own.join("size"), "4096\n").unwrap();
                }
                None => symlink(&own, self.dir.path().join("sys/block").join(name)).unwrap(),
            }
            symlink(&own, self.dir.path().join(format!("sys/dev/block/4000:{minor}"))).unwrap();
            own
        }

        /// Stacks `upper` on `lower`.
        fn stands_on(upper: &Path, lower: &Path) {
            fs::create_dir_all(upper.join("slaves")).unwrap();
            symlink(lower, upper.join("slaves").join(lower.file_name().unwrap())).unwrap();
            symlink(upper, lower.join("holders").join(upper.file_name().unwrap())).unwrap();
        }

        fn mount(&mut self, minor: u32, at: &str, source: &str) {
            self.mounts += &format!("27 1 4000:{minor} / {at} rw - ext4 {source} rw\n");
        }

        fn said(&self, minor: u32) -> Vec<String> {
            self.uses(minor).unwrap().iter().map(ToString::to_string).collect()
        }

        fn uses(&self, minor: u32) -> Result<Vec<Holder>, Refusal> {
            fs::write(self.dir.path().join("proc/self/mountinfo"), &self.mounts).unwrap();
            fs::write(self.dir.path().join("proc/swaps"), &self.swaps).unwrap();
            let tree = Tree::rooted(fs::canonicalize(self.dir.path()).unwrap());
            uses(&tree, makedev(4000, minor))
        }
    }

    #[test]
    fn a_mounted_partition_is_a_use_of_its_disk_and_not_of_its_neighbour() {
        let mut m = Machine::new();
        m.device("zda", 0, None);
        m.device("zda1", 1, Some("zda"));
        m.device("zda2", 2, Some("zda"));
        assert!(m.said(0).is_empty());
        m.mount(1, "/mnt/with\\040space", "/dev/zda1");
        insta::assert_snapshot!(m.said(0).join("\n"), @"/dev/zda1 is mounted at /mnt/with space: umount '/mnt/with space'");
        assert!(m.said(2).is_empty(), "{:?}", m.said(2));
        // An overlapping partition is not just a neighbour.
        let reaching = m.device("zda3", 3, Some("zda"));
        fs::write(reaching.join("start"), "4100\n").unwrap();
        assert_eq!(m.said(3), m.said(0));
        m.mount(0, "/whole", "/dev/zda");
        insta::assert_snapshot!(m.said(2).join("\n"), @"/dev/zda is mounted at /whole: umount /whole");
    }

    #[test]
    fn what_the_root_file_system_stands_on_is_told_through_every_layer() {
        let mut m = Machine::new();
        let disk = m.device("zda", 0, None);
        let part = m.device("zda2", 2, Some("zda"));
        m.device("zda3", 3, Some("zda"));
        let array = m.device("md7", 20, None);
        let mapped = m.device("dm-9", 30, None);
        Machine::stands_on(&array, &part);
        Machine::stands_on(&mapped, &array);
        fs::create_dir_all(mapped.join("dm")).unwrap();
        fs::write(mapped.join("dm/name"), "secret\n").unwrap();
        fs::write(mapped.join("dm/uuid"), "CRYPT-LUKS2-00-secret\n").unwrap();
        m.mount(30, "/", "/dev/mapper/secret");
        let said = [0, 2, 20, 30].map(|minor| format!("{minor}: {}", m.said(minor).join("\n    ")));
        insta::assert_snapshot!(said.join("\n"), @"
            0: the root file system of this machine is on /dev/zda and would be destroyed: choose another device
                /dev/zda2 is in use by /dev/md7: stop that first (cryptsetup close, vgchange -an, mdadm --stop)
            2: the root file system of this machine is on /dev/zda2 and would be destroyed: choose another device
                /dev/zda2 is in use by /dev/md7: stop that first (cryptsetup close, vgchange -an, mdadm --stop)
            20: the root file system of this machine is on /dev/md7 and would be destroyed: choose another device
                /dev/md7 is in use by /dev/dm-9 (secret, CRYPT), which is mounted at /: stop that first (cryptsetup close, vgchange -an, mdadm --stop)
            30: the root file system of this machine is on /dev/dm-9 and would be destroyed: choose another device
                /dev/dm-9 is mounted at /: umount /
            ");
        assert!(m.said(3).is_empty(), "another partition of that disk: {:?}", m.said(3));
        let tree = Tree::rooted(fs::canonicalize(m.dir.path()).unwrap());
        let top = tree.of_number(makedev(4000, 30)).unwrap();
        assert_eq!(tree.disks(&top).into_iter().collect::<Vec<_>>(), ["zda"]);
        drop(disk);
    }

    #[test]
    fn swap_holders_and_loops_are_told() {
        let mut m = Machine::new();
        let disk = m.device("zdb", 5, None);
        m.device("zdb1", 6, Some("zdb"));
        let group = m.device("dm-1", 31, None);
        let looped = m.device("loop77", 40, None);
        Machine::stands_on(&group, &disk.join("zdb1"));
        fs::create_dir_all(looped.join("loop")).unwrap();
        fs::write(looped.join("loop/backing_file"), "/dev/zdb\n").unwrap();
        m.swaps += "/dev/zdb1 partition 1 0 -2\n";
        insta::assert_snapshot!(m.said(5).join("\n"), @"
            loop device /dev/loop77 is attached to /dev/zdb: losetup --detach /dev/loop77
            /dev/zdb1 is used as swap space: swapoff /dev/zdb1
            /dev/zdb1 is in use by /dev/dm-1: stop that first (cryptsetup close, vgchange -an, mdadm --stop)
            ");
        assert!(m.said(31).is_empty());
    }

    #[test]
    fn what_the_kernel_does_not_tell_is_refused() {
        let m = Machine::new();
        let disk = m.device("zdb", 5, None);
        assert!(m.said(5).is_empty());
        assert!(matches!(m.uses(999), Err(Refusal::Unknown { .. })), "no such device");
        let tree = Tree::rooted(fs::canonicalize(m.dir.path()).unwrap());
        for file in ["proc/swaps", "proc/self/mountinfo"] {
            fs::remove_file(m.dir.path().join(file)).unwrap();
            let uses = uses(&tree, makedev(4000, 5));
            assert!(matches!(uses, Err(Refusal::Unknown { .. })), "without {file}: {uses:?}");
            assert!(m.said(5).is_empty());
        }
        fs::remove_dir(disk.join("holders")).unwrap();
        assert!(matches!(m.uses(5), Err(Refusal::Unknown { .. })));
    }

    #[test]
    fn what_a_loop_device_stands_on_has_users_too() {
        let m = Machine::new();
        let file = m.dir.path().join("image");
        fs::write(&file, "").unwrap();
        let looped = |name: &str, minor: u32, file: &Path| {
            let node = m.device(name, minor, None);
            fs::create_dir_all(node.join("loop")).unwrap();
            fs::write(node.join("loop/backing_file"), file.display().to_string()).unwrap();
            node
        };
        let first = looped("loop70", 70, &file);
        assert!(m.said(70).is_empty(), "its own file: {:?}", m.said(70));
        looped("loop71", 71, &file);
        let mapped = m.device("dm-3", 3, None);
        Machine::stands_on(&mapped, &first);
        let said = [70, 71, 3].map(|minor| format!("{minor}: {}", m.said(minor).join("\n    ")));
        let said = said.join("\n").replace(&m.dir.path().display().to_string(), "DIR");
        insta::assert_snapshot!(said, @"
            70: /dev/loop70 is in use by /dev/dm-3: stop that first (cryptsetup close, vgchange -an, mdadm --stop)
                loop device /dev/loop71 is attached to DIR/image: losetup --detach /dev/loop71
            71: loop device /dev/loop70 is attached to DIR/image: losetup --detach /dev/loop70
            3: loop device /dev/loop71 is attached to DIR/image: losetup --detach /dev/loop71
            ");
        looped("loop72", 72, &m.dir.path().join("gone"));
        assert!(matches!(m.uses(72), Err(Refusal::Unknown { .. })), "a file that cannot be seen");
    }

    #[test]
    fn counters_are_those_of_the_device_that_moves_the_bytes() {
        let m = Machine::new();
        let disk = m.device("zda", 0, None);
        let (single, array) = (m.device("dm-1", 1, None), m.device("md1", 2, None));
        let other = m.device("zdb", 3, None);
        Machine::stands_on(&single, &disk);
        Machine::stands_on(&array, &disk);
        Machine::stands_on(&array, &other);
        let tree = Tree::rooted(fs::canonicalize(m.dir.path()).unwrap());
        let counted = |minor| {
            let node = tree.of_number(makedev(4000, minor)).unwrap();
            (tree.counted(&node).map(|n| n.name()), tree.kept_in(&node))
        };
        assert_eq!(counted(1), (Some("zda".to_owned()), None));
        assert_eq!(counted(2), (Some("md1".to_owned()), None));
        // The device of the file does not belong to this machine.
        let (looped, upper) = (m.device("loop73", 73, None), m.device("dm-4", 4, None));
        let file = m.dir.path().join("container");
        fs::write(&file, "").unwrap();
        fs::create_dir_all(looped.join("loop")).unwrap();
        fs::write(looped.join("loop/backing_file"), file.display().to_string()).unwrap();
        Machine::stands_on(&upper, &looped);
        assert_eq!(counted(4), (None, Some(file)));
    }
}
