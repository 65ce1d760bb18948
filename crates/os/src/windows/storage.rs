//! Volumes, by their drive letters.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf, Prefix};

use windows_sys::Win32::System::SystemServices::FILE_READ_ONLY_VOLUME;

use super::call::device::{self, Sectors};
use super::{call, dirs};
use crate::storage::{Bus, Kind, Medium, Mount, SelfEncrypting, Signs, Space, Untold};

/// All volumes with a drive letter that this user can see.
///
/// # Errors
/// Never fails here.
pub fn mounts() -> io::Result<Vec<Mount>> {
    Ok(call::letters().iter().filter_map(|root| mount(root)).collect())
}

fn mount(root: &Path) -> Option<Mount> {
    let volume = call::volume(root).ok()?;
    let is_read_only = volume.flags & FILE_READ_ONLY_VOLUME != 0;
    Some(Mount {
        id: 0,
        device: volume.serial,
        mountpoint: root.to_owned(),
        file_system: volume.file_system,
        source: call::volume_name(root).unwrap_or_else(|_| root.to_owned()),
        options: if is_read_only { "ro" } else { "rw" }.to_owned(),
    })
}

/// The size and the free space of the volume that contains `path`.
///
/// # Errors
/// The operating system's error.
pub fn space(path: &Path) -> io::Result<Space> {
    call::space(path).map(|(free, size)| Space { free, size })
}

/// The serial number of the volume that contains `path`.
pub(crate) fn number_of(path: &Path) -> io::Result<u64> {
    let root = call::volume_root(&dirs::plain(&path.canonicalize()?))?;
    Ok(call::volume(&root)?.serial)
}

pub(crate) fn number_in_words(number: u64) -> String {
    format!("{:04X}-{:04X}", number >> 16, number & 0xffff)
}

/// Windows device names are not file paths.
pub(crate) fn refused_by_name(path: &Path) -> Option<&'static str> {
    match path.components().next() {
        Some(Component::Prefix(prefix)) if matches!(prefix.kind(), Prefix::DeviceNS(_)) => Some(
            "is a device, and a run never overwrites devices on Windows: specify a directory on it, or a file with \
            --destroy",
        ),
        _ => None,
    }
}

pub(crate) fn serving(_file_system: u64) -> Vec<u32> {
    Vec::new()
}

/// Whether EFS encrypts new files in the directory.
pub(crate) fn is_encrypted(directory: &Path) -> bool {
    use std::os::windows::fs::MetadataExt as _;
    const ENCRYPTED: u32 = 0x4000;
    directory.metadata().is_ok_and(|found| found.file_attributes() & ENCRYPTED != 0)
}

/// Whether NTFS compresses new files in the directory.
pub(crate) fn is_compressed(directory: &Path) -> bool {
    use std::os::windows::fs::MetadataExt as _;
    const COMPRESSED: u32 = 0x800;
    directory.metadata().is_ok_and(|found| found.file_attributes() & COMPRESSED != 0)
}

/// No Windows file system has btrfs's attribute.
pub(crate) fn is_overwritten_in_place(_: &Path) -> bool {
    false
}

pub(crate) fn untold(place: &Path) -> String {
    format!("Windows does not report what {} is", place.display())
}

/// A volume with a drive letter, represented by its root directory. Windows reports its underlying devices only to
/// administrators.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node(PathBuf);

impl Node {
    /// `C:`.
    pub fn name(&self) -> String {
        self.0.display().to_string().trim_end_matches('\\').to_owned()
    }

    /// Its root.
    pub fn directory(&self) -> &Path {
        &self.0
    }

    /// The device whose counters are those of the volume's disk ([`crate::counters`]).
    pub fn counters(&self) -> PathBuf {
        self.device_path()
    }

    /// Whether a path refers to this volume.
    pub fn is_named(&self, path: &Path) -> bool {
        path == self.device_path() || path == self.0
    }

    /// Properties reported by the underlying disk, under their Linux names.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let disk = || super::files::open_volume(&self.device_path()).ok();
        let number = |is: bool| u8::from(is).to_string();
        match name {
            "device/model" => device::model(&disk()?),
            "queue/rotational" => device::seeks(&disk()?).map(number),
            "queue/write_cache" => {
                let is_on = device::caches_writes(&disk()?)?;
                Some(if is_on { "on" } else { "off" }.to_owned())
            }
            "queue/logical_block_size" => Some(self.sectors()?.logical.to_string()),
            "queue/physical_block_size" => Some(self.sectors()?.physical?.to_string()),
            _ => None,
        }
    }

    fn signs(&self, in_virtual_machine: bool) -> Option<Signs> {
        let disk = super::files::open_volume(&self.device_path()).ok()?;
        let (bus, is_removable) = device::bus(&disk)?;
        // STORAGE_BUS_TYPE of winioctl.h.
        let bus = match bus {
            3 | 11 => Bus::Ata,
            7 => Bus::Usb,
            8 => Bus::Hidden("a RAID controller"),
            9 => Bus::Hidden("iSCSI: the drive is in another machine"),
            10 => Bus::Sas,
            12 => Bus::Mmc { card: "SD".to_owned(), is_soldered: false },
            13 => Bus::Mmc { card: "MMC".to_owned(), is_soldered: false },
            14 | 15 => Bus::Virtual("a virtual bus"),
            16 => Bus::Hidden("Storage Spaces"),
            17 => Bus::Nvme,
            19 => Bus::Ufs,
            _ => Bus::Unknown,
        };
        // Windows assumes a seek penalty unless the drive reports that its medium does not rotate.
        let medium = match device::seeks(&disk) {
            Some(false) => Medium::Still,
            Some(true) => Medium::TakenToRotate,
            None => Medium::Unknown,
        };
        let names = device::model(&disk).unwrap_or_default();
        Some(Signs { bus, medium, is_removable, names, in_virtual_machine, says_hybrid: false })
    }

    fn sectors(&self) -> Option<Sectors> {
        let told = super::open_without_waiting(&self.0).and_then(|root| device::sectors(&root));
        told.ok().or_else(|| {
            let logical = device::sector_of_volume(&self.0).ok()?;
            Some(Sectors { logical, physical: None })
        })
    }

    /// Unknown: volumes have names instead.
    pub fn number(&self) -> Option<u64> {
        None
    }

    /// False: a volume is not a partition.
    pub fn is_partition(&self) -> bool {
        false
    }

    /// The volume itself.
    pub fn disk(&self) -> Self {
        self.clone()
    }

    /// None.
    pub fn partitions(&self) -> Vec<Self> {
        Vec::new()
    }

    /// None.
    pub fn overlapping(&self) -> Vec<Self> {
        Vec::new()
    }

    /// `\\.\C:`.
    pub fn device_path(&self) -> PathBuf {
        PathBuf::from(format!(r"\\.\{}", self.name()))
    }

    /// The size of the volume's file system; Windows reports the size of the volume only to administrators.
    pub fn bytes(&self) -> Option<u64> {
        call::space(&self.0).ok().map(|(_, all)| all)
    }

    /// Unknown.
    pub fn start(&self) -> u64 {
        0
    }

    /// Unknown.
    pub fn backing_file(&self) -> Option<PathBuf> {
        None
    }

    /// None.
    pub fn mapping(&self) -> Option<String> {
        None
    }

    /// The product that decrypts the volume, according to its device name. BitLocker has no device name: Windows
    /// reports BitLocker's state only to administrators.
    pub fn encryption(&self) -> Option<&'static str> {
        of_device(&call::dos_device(&self.name()).ok()?)
    }
}

/// The product is identified by the device behind a drive letter: `\Device\VeraCryptVolumeV`.
fn of_device(device: &str) -> Option<&'static str> {
    const DEVICES: [(&str, &str); 2] =
        [("VeraCryptVolume", "VeraCrypt"), ("TrueCryptVolume", "TrueCrypt")];
    let name = device.strip_prefix(r"\Device\")?;
    DEVICES.iter().find(|(begins, _)| name.starts_with(begins)).map(|(_, system)| *system)
}

/// The volumes of this machine.
#[derive(Clone, Debug)]
pub struct Tree;

impl Tree {
    /// The mounts of this machine.
    pub fn this() -> Self {
        Self
    }

    /// The mount points of a volume.
    ///
    /// # Errors
    /// Never fails here.
    pub fn mount_points(&self, node: &Node) -> Result<Vec<PathBuf>, Untold> {
        Ok(vec![node.0.clone()])
    }

    /// None: page files cannot be opened by other programs, so they need not be listed.
    ///
    /// # Errors
    /// Never fails here.
    pub fn swaps(&self) -> Result<Vec<PathBuf>, Untold> {
        Ok(Vec::new())
    }

    /// The volume from which Windows runs.
    ///
    /// # Errors
    /// If the environment does not specify the volume.
    pub fn root_device(&self) -> Result<Option<Node>, Untold> {
        let Some(drive) = std::env::var_os("SystemDrive") else {
            let why = io::ErrorKind::NotFound.into();
            return Err(Untold { place: PathBuf::from("%SystemDrive%"), why });
        };
        Ok(Some(Node(PathBuf::from(drive).join("\\"))))
    }

    /// None: on Windows, devices have no numbers.
    pub fn of_number(&self, _number: u64) -> Option<Node> {
        None
    }

    /// The volume with this serial number and name.
    pub fn of_mount(&self, serial: u64, source: &Path) -> Option<Node> {
        let all = mounts().ok()?;
        let found = all.into_iter().find(|m| m.device == serial && m.source == source)?;
        Some(Node(found.mountpoint))
    }

    /// None.
    ///
    /// # Errors
    /// Never fails here.
    pub fn loops_over(&self, _node: &Node) -> Result<Vec<Node>, Untold> {
        Ok(Vec::new())
    }

    /// The kind of a volume's disk, according to its driver's descriptor.
    pub fn kind(&self, node: &Node, in_virtual_machine: bool) -> Kind {
        node.signs(in_virtual_machine).unwrap_or_default().kind()
    }

    /// Unknown: Windows cannot query it.
    pub fn self_encrypting(&self, _node: &Node) -> Option<SelfEncrypting> {
        None
    }

    /// All volumes with a drive letter.
    ///
    /// # Errors
    /// Never fails here.
    pub fn all(&self) -> Result<Vec<Node>, Untold> {
        Ok(call::letters().into_iter().map(Node).collect())
    }

    /// Unknown.
    pub fn directly_below(&self, _node: &Node) -> Vec<Node> {
        Vec::new()
    }

    /// The volume itself.
    pub fn directly(&self, top: &Node) -> Vec<Node> {
        vec![top.clone()]
    }

    /// Unknown.
    pub fn files(&self, _top: &Node) -> BTreeMap<(u64, u64), Node> {
        BTreeMap::new()
    }

    /// Unknown.
    pub fn kept_in(&self, _top: &Node) -> Option<PathBuf> {
        None
    }

    /// The volume itself.
    pub fn stack(&self, top: &Node) -> BTreeSet<Node> {
        BTreeSet::from([top.clone()])
    }

    /// Unknown.
    pub fn disks(&self, _top: &Node) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Unknown.
    ///
    /// # Errors
    /// Never fails here.
    pub fn holders(&self, _node: &Node) -> Result<Vec<Node>, Untold> {
        Ok(Vec::new())
    }

    /// Never: a volume has its own file system.
    pub fn shares_file_system(&self, _node: &Node) -> bool {
        false
    }

    /// The volume, if its disk has counters.
    pub fn counted(&self, top: &Node) -> Option<Node> {
        Some(top.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_temporary_directory_lies_on_a_volume_with_room() {
        let directory = std::env::temp_dir();
        let space = space(&directory).unwrap();
        assert!(space.size > 0 && space.free <= space.size);
        let number = number_of(&directory).unwrap();
        let real = dirs::plain(&directory.canonicalize().unwrap());
        let mount = crate::storage::mount_of(number, &real).unwrap();
        assert!(real.starts_with(&mount.mountpoint) && !mount.file_system.is_empty());
        let node = Tree::this().of_mount(number, &mount.source).unwrap();
        assert!(node.is_named(&node.device_path()));
        assert_eq!(Tree::this().of_number(number), None);
        let logical: u32 = node.attribute("queue/logical_block_size").unwrap().parse().unwrap();
        assert!(logical.is_power_of_two() && logical >= 512, "{logical}");
        assert!(node.bytes().is_some_and(|bytes| bytes > 0));
        assert_eq!(node.attribute("queue/scheduler"), None);
    }

    #[test]
    fn devices_are_refused_by_their_names() {
        for device in [r"\\.\C:", r"\\.\PhysicalDrive0", r"\\.\C:\x"] {
            assert!(refused_by_name(Path::new(device)).is_some(), "{device}");
        }
        for file in [r"C:\x", r"\\?\C:\x", r"\\server\share\x", "x"] {
            assert_eq!(refused_by_name(Path::new(file)), None, "{file}");
        }
    }

    #[test]
    fn opened_volumes_are_known_by_their_devices() {
        assert_eq!(of_device(r"\Device\VeraCryptVolumeV"), Some("VeraCrypt"));
        assert_eq!(of_device(r"\Device\TrueCryptVolumeT"), Some("TrueCrypt"));
        assert_eq!(of_device(r"\Device\HarddiskVolume3"), None);
    }
}
