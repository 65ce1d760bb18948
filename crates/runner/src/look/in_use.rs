//! A dm-crypt device that is in use, and its underlying device: found by its name, by a directory on it, or as
//! the only one that is open. Read-only.

use std::fs;
use std::path::{Path, PathBuf};

use cryptbench_catalog::DM_CRYPT;
use cryptbench_os::storage::{LUKS2_OPAL, Node, Tree, mount_of, number_in_words};
use cryptbench_os::{Details, FileType, user};
use cryptbench_record as record;
use cryptbench_system::SystemError;
use cryptbench_system::provision::{CryptTable, crypt_table};
use cryptbench_text::chain;

use crate::RunError;

/// An open dm-crypt device, and the part of its underlying device that it maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InUse {
    /// Path of the open device.
    pub mapped: PathBuf,
    /// Path of the underlying device.
    pub below: PathBuf,
    /// The device, its encryption, and the location of its payload.
    pub facts: record::InUse,
}

/// The source of tables: the kernel, or a test.
type Tables<'a> = &'a dyn Fn(&str) -> Result<CryptTable, SystemError>;

impl InUse {
    /// The device at `asked`, or the one that holds the directory `asked`; or, without `asked`, the only open
    /// device.
    ///
    /// # Errors
    /// [`RunError::Target`] if there is none, if there are several, or if the underlying device cannot be read
    /// at the same time.
    pub fn find(asked: Option<&Path>) -> Result<Self, RunError> {
        let tables = |name: &str| match user::is_root() {
            true => crypt_table(name),
            false => Err(SystemError::Target {
                path: Path::new("/dev/mapper").join(name),
                problem: "reading whole devices requires root: run the command with sudo"
                    .to_owned(),
            }),
        };
        find(&Tree::this(), asked, &tables)
    }

    /// `LUKS2 (dm-crypt)`.
    pub fn label(&self) -> String {
        format!("{} (dm-crypt)", self.facts.system)
    }
}

fn find(tree: &Tree, asked: Option<&Path>, tables: Tables<'_>) -> Result<InUse, RunError> {
    let place = asked.unwrap_or(Path::new("/dev/mapper"));
    let refuse = |problem: String| RunError::Target { path: place.to_owned(), problem };
    let told = |e: &dyn std::error::Error| refuse(chain(e));
    let open = tops(tree, tree.all().map_err(|e| told(&e))?);
    let found = match asked {
        None => open.clone(),
        Some(path) => {
            let node = node_of(tree, path).map_err(refuse)?;
            node.map_or_else(Vec::new, |node| tops(tree, tree.directly(&node)))
        }
    };
    let top = match (&found[..], asked) {
        ([only], _) => only.clone(),
        ([], None) => {
            return Err(refuse(
                "no dm-crypt device is open (LUKS, VeraCrypt, or BitLocker with cryptsetup), so there is nothing to \
                 measure; to measure what encryption would cost: cryptbench run DIRECTORY"
                    .to_owned(),
            ));
        }
        ([], Some(_)) => {
            let others = match &open[..] {
                [] => "none are open".to_owned(),
                open => format!("open: {}", names(open)),
            };
            return Err(refuse(format!(
                "is not a dm-crypt device and is not on one ({others}); to measure what encryption would cost: \
                 cryptbench run DIRECTORY"
            )));
        }
        (several, None) => {
            return Err(refuse(format!(
                "several devices are open: choose one of {}",
                names(several)
            )));
        }
        (several, Some(_)) => {
            return Err(refuse(format!(
                "is on several dm-crypt devices: choose one of {}",
                names(several)
            )));
        }
    };
    below(tree, &top, tables).map_err(refuse)
}

/// The encrypting devices on which no other encrypting device is built.
fn tops(tree: &Tree, mut nodes: Vec<Node>) -> Vec<Node> {
    nodes.retain(|node| node.encryption().is_some());
    let all = nodes.clone();
    let is_below = |node: &Node, other: &Node| other != node && tree.directly(other).contains(node);
    nodes.retain(|node| !all.iter().any(|other| is_below(node, other)));
    nodes.sort();
    nodes
}

fn names(nodes: &[Node]) -> String {
    let each = |node: &Node| {
        format!("{} ({})", path_of(node).display(), node.encryption().unwrap_or_default())
    };
    nodes.iter().map(each).collect::<Vec<_>>().join(", ")
}

/// `/dev/mapper/NAME`, which is more informative than `/dev/dm-0`.
fn path_of(node: &Node) -> PathBuf {
    match node.attribute("dm/name") {
        Some(name) => Path::new("/dev/mapper").join(name),
        None => node.device_path(),
    }
}

/// The block device at `path`, or the one that holds the file system there.
fn node_of(tree: &Tree, path: &Path) -> Result<Option<Node>, String> {
    let path = fs::canonicalize(path).map_err(|e| e.to_string())?;
    let details = Details::of(&fs::metadata(&path).map_err(|e| e.to_string())?);
    if details.kind == FileType::BlockDevice {
        return Ok(tree.of_number(details.device));
    }
    let mount = mount_of(details.file_system, &path).unwrap_or_default();
    Ok(tree.of_mount(details.file_system, &mount.source))
}

/// The underlying storage of `top`. This is the first device that is not dm-crypt, because a cascade consists of
/// stacked devices.
fn below(tree: &Tree, top: &Node, tables: Tables<'_>) -> Result<InUse, String> {
    let (mut node, mut systems, mut ciphers) = (top.clone(), Vec::new(), Vec::new());
    let mut offset = 0_u64;
    let (mut bytes, mut first) = (u64::MAX, None);
    loop {
        let name = node.attribute("dm/name").unwrap_or_default();
        let table = match tables(&name) {
            Err(SystemError::Program { .. }) if node.encryption() == Some(LUKS2_OPAL) => {
                return Err(format!(
                    "the drive itself encrypts {name} (OPAL), so the device below shows the same plaintext: compare a \
                     directory on it with one on a partition that is not locked: cryptbench run --pair PLAIN OPAL"
                ));
            }
            found => found.map_err(|e| chain(&e))?,
        };
        if table.has_integrity {
            return Err(format!(
                "{name} stores authentication tags between its sectors (dm-integrity), so its data is at different \
                 offsets on the underlying device: measure it as a system with cryptbench run --system dm-crypt"
            ));
        }
        let next = match &tree.directly_below(&node)[..] {
            [only] if only.number().map(number_in_words).as_ref() == Some(&table.below) => {
                only.clone()
            }
            [_] => return Err(format!("{name} is not on the device that its table specifies")),
            all => return Err(format!("{name} is on {} devices instead of one", all.len())),
        };
        systems.push(node.encryption().unwrap_or(DM_CRYPT.name));
        ciphers.push(table.cipher.clone());
        offset = offset.saturating_add(table.offset);
        bytes = bytes.min(table.bytes);
        first.get_or_insert(table);
        node = next;
        if node.encryption().is_none() {
            break;
        }
    }
    let there = node.bytes().unwrap_or(0);
    if offset.checked_add(bytes).is_none_or(|end| end > there) {
        return Err(format!("{} ends before its payload", node.name()));
    }
    systems.dedup();
    let first = first.expect("the loop ran");
    Ok(InUse {
        mapped: path_of(top),
        below: path_of(&node),
        facts: record::InUse {
            system: systems.join(" over "),
            cipher: ciphers.join(" over "),
            key_bits: first.key_bits,
            sector_size: first.sector_size,
            below: node.name(),
            offset_bytes: offset,
            size_bytes: bytes,
        },
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A machine consisting of files: a disk with two partitions, and the devices that a test opens on them.
    struct Machine {
        dir: tempfile::TempDir,
        tables: Vec<(String, CryptTable)>,
    }

    impl Machine {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            for sub in ["sys/dev/block", "sys/block", "proc/self"] {
                fs::create_dir_all(dir.path().join(sub)).unwrap();
            }
            let machine = Self { dir, tables: Vec::new() };
            machine.device("zda1", 1, 1 << 12);
            machine.device("zda2", 2, 1 << 12);
            machine
        }

        fn root(&self) -> PathBuf {
            fs::canonicalize(self.dir.path()).unwrap()
        }

        fn device(&self, name: &str, minor: u32, sectors: u64) -> PathBuf {
            let own = self.root().join("sys/devices").join(name);
            fs::create_dir_all(own.join("slaves")).unwrap();
            fs::write(own.join("dev"), format!("4000:{minor}\n")).unwrap();
            fs::write(own.join("size"), format!("{sectors}\n")).unwrap();
            symlink(&own, self.root().join("sys/block").join(name)).unwrap();
            symlink(&own, self.root().join(format!("sys/dev/block/4000:{minor}"))).unwrap();
            own
        }

        /// Opens `name` as `dm-MINOR` over devices.
        fn open(&mut self, name: &str, uuid: &str, minor: u32, over: &[(&str, u32)]) {
            let own = self.device(&format!("dm-{minor}"), minor, 2048);
            fs::create_dir_all(own.join("dm")).unwrap();
            fs::write(own.join("dm/name"), name).unwrap();
            fs::write(own.join("dm/uuid"), uuid).unwrap();
            for (lower, _) in over {
                let lower = self.root().join("sys/devices").join(lower);
                symlink(&lower, own.join("slaves").join(lower.file_name().unwrap())).unwrap();
            }
            let table = CryptTable {
                bytes: 1 << 20,
                cipher: format!("cipher-of-{name}"),
                key_bits: Some(512),
                sector_size: 4096,
                below: format!("4000:{}", over[0].1),
                offset: 1 << 18,
                has_integrity: false,
            };
            self.tables.push((name.to_owned(), table));
        }

        fn find(&self, asked: Option<&Path>) -> Result<InUse, String> {
            let tables = |name: &str| {
                let found = self.tables.iter().find(|(of, _)| of == name);
                let linear = || SystemError::Program {
                    program: "dmsetup",
                    reason: "not a dm-crypt table".to_owned(),
                };
                let found = found.map(|(_, table)| table.clone()).ok_or(SystemError::Stopped);
                if name.starts_with("opal") { Err(linear()) } else { found }
            };
            find(&Tree::rooted(self.root()), asked, &tables).map_err(|e| e.to_string())
        }
    }

    #[test]
    fn the_only_open_device_is_found_with_what_lies_below_it() {
        let mut m = Machine::new();
        insta::assert_snapshot!(m.find(None).unwrap_err(), @"/dev/mapper: no dm-crypt device is open (LUKS, VeraCrypt, or BitLocker with cryptsetup), so there is nothing to measure; to measure what encryption would cost: cryptbench run DIRECTORY");
        m.open("root", "CRYPT-LUKS2-00-root", 10, &[("zda2", 2)]);
        // An LVM volume on it does not encrypt.
        m.open("vg-home", "LVM-abc", 11, &[("dm-10", 10)]);
        let found = m.find(None).unwrap();
        assert_eq!(found.mapped, Path::new("/dev/mapper/root"));
        assert_eq!(found.below, Path::new("/dev/zda2"));
        assert_eq!(found.label(), "LUKS2 (dm-crypt)");
        let facts = &found.facts;
        assert_eq!((facts.offset_bytes, facts.size_bytes), (1 << 18, 1 << 20));
        assert_eq!((facts.cipher.as_str(), facts.sector_size), ("cipher-of-root", 4096));
        assert_eq!(facts.below, "zda2");
        m.open("swap", "CRYPT-PLAIN-swap", 12, &[("zda1", 1)]);
        insta::assert_snapshot!(m.find(None).unwrap_err(), @"/dev/mapper: several devices are open: choose one of /dev/mapper/root (LUKS2), /dev/mapper/swap (plain dm-crypt)");
    }

    #[test]
    fn a_cascade_is_one_system_down_to_the_device_that_is_none_of_its() {
        let mut m = Machine::new();
        m.open("veracrypt1_1", "", 10, &[("zda1", 1)]);
        m.open("veracrypt1", "", 11, &[("dm-10", 10)]);
        let found = m.find(None).unwrap();
        assert_eq!(found.below, Path::new("/dev/zda1"));
        assert_eq!(found.facts.system, "VeraCrypt");
        assert_eq!(found.facts.cipher, "cipher-of-veracrypt1 over cipher-of-veracrypt1_1");
        assert_eq!(found.facts.offset_bytes, 1 << 19);
    }

    #[test]
    fn what_cannot_be_read_beside_is_refused_with_the_reason() {
        let said = |change: &dyn Fn(&mut Machine)| {
            let mut m = Machine::new();
            m.open("root", "CRYPT-LUKS2-00-root", 10, &[("zda2", 2)]);
            change(&mut m);
            m.find(None).unwrap_err()
        };
        let mut all = vec![
            said(&|m| m.tables[0].1.has_integrity = true),
            said(&|m| m.tables[0].1.below = "4000:1".to_owned()),
            said(&|m| m.tables[0].1.bytes = 1 << 30),
            said(&|m| m.tables.clear()),
            said(&|m| {
                let lower = m.root().join("sys/devices/zda1");
                symlink(&lower, m.root().join("sys/devices/dm-10/slaves/zda1")).unwrap();
            }),
        ];
        let mut opal = Machine::new();
        opal.open("opal", "CRYPT-LUKS2-OPAL-00-opal", 10, &[("zda2", 2)]);
        all.push(opal.find(None).unwrap_err());
        // A directory of this machine is not stored on the other one.
        let dir = tempfile::tempdir().unwrap();
        let mut m = Machine::new();
        m.open("root", "CRYPT-LUKS2-00-root", 10, &[("zda2", 2)]);
        all.push(m.find(Some(dir.path())).unwrap_err());
        all.push(m.find(Some(&dir.path().join("none"))).unwrap_err());
        let all = all.join("\n").replace(&dir.path().display().to_string(), "DIR");
        insta::assert_snapshot!(all, @"
            /dev/mapper: root stores authentication tags between its sectors (dm-integrity), so its data is at different offsets on the underlying device: measure it as a system with cryptbench run --system dm-crypt
            /dev/mapper: root is not on the device that its table specifies
            /dev/mapper: zda2 ends before its payload
            /dev/mapper: interrupted
            /dev/mapper: root is on 2 devices instead of one
            /dev/mapper: the drive itself encrypts opal (OPAL), so the device below shows the same plaintext: compare a directory on it with one on a partition that is not locked: cryptbench run --pair PLAIN OPAL
            DIR: is not a dm-crypt device and is not on one (open: /dev/mapper/root (LUKS2)); to measure what encryption would cost: cryptbench run DIRECTORY
            DIR/none: No such file or directory (os error 2)
            ");
    }
}
