//! The location of an arm's disk: a container file on the measured storage, a real partition, or a container
//! file on such a partition.
//!
//! The partition is in a disk image with a partition table, which a loop device presents as a disk. The image
//! is a file on the measured storage. If a whole disk is overwritten, the partition is on that disk. A container
//! file on the partition adds one file system and one loop device, so the difference is the cost of a container.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use cryptbench_os::Directory;

use crate::provision::filesystem;
use crate::resource::container::{self, Container};
use crate::resource::{ResourceStack, loop_device, mount};
use crate::{ArmSpec, Setting, SystemError};

const MIB: u64 = 1 << 20;

/// Number of bytes before the partition; partitioning programs leave the same number.
pub(crate) const FIRST: u64 = MIB;

/// Name of the container in the file system of a partition.
const FILE: &str = "container";

/// The setting that chooses the location.
pub(crate) const ON: Setting = Setting {
    name: "on",
    about: "a container file on the target, a partition of a disk image there, or a container file in that partition",
    values: &["container", "partition", "container-in-partition"],
};

/// The location of an arm's disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Container,
    Partition,
    ContainerInPartition,
}

impl Place {
    pub(crate) fn of(arm: &ArmSpec) -> Self {
        match arm.settings.get(ON.name).map(String::as_str) {
            Some("partition") => Self::Partition,
            Some("container-in-partition") => Self::ContainerInPartition,
            _ => Self::Container,
        }
    }

    /// Size in bytes of the file on the measured storage, for a container or partition of `len` bytes.
    pub(crate) fn image(self, len: u64) -> u64 {
        match self {
            Self::Container => len,
            Self::Partition => FIRST + len,
            // Extra space for ext4's tables and journal.
            Self::ContainerInPartition => FIRST + (len + len / 16).next_multiple_of(MIB) + 64 * MIB,
        }
    }
}

/// Sets up the system's storage: `image` itself, a partition, or the disk in it. The first time, creates the disk
/// with `len` bytes and fills it with random data until `stop` is set.
pub(crate) fn bring_up(
    stack: &mut ResourceStack,
    place: Place,
    image: &Container,
    len: u64,
    new: Option<&AtomicBool>,
) -> Result<Container, SystemError> {
    if place == Place::Container {
        return Ok(image.clone());
    }
    let is_own = is_device(&image.path);
    if new.is_some() && !is_own {
        write_table(image)?;
    }
    let partition = match is_own {
        true => image.path.clone(),
        false => loop_device::create_partitioned(stack, &image.path)?,
    };
    if place == Place::Partition {
        return Ok(Container { path: partition, mode: image.mode, len });
    }
    if new.is_some() {
        filesystem::make_settled(&partition)?;
    }
    let root = mount::mount(stack, &partition, (!is_own).then_some(&*image.path))?;
    let path = root.join(FILE);
    match new {
        Some(stop) => container::make(&path, len, stop),
        None => Ok(Container { path, mode: image.mode, len }),
    }
}

/// Writes a partition table that every operating system can read, with one partition that covers all but the
/// first MiB.
fn write_table(image: &Container) -> Result<(), SystemError> {
    let failed = || SystemError::io("write the partition table of", &image.path);
    let (directory, name) = Directory::of(&image.path).map_err(failed())?;
    let mut file = directory.open_file_to_write(&name).map_err(failed())?;
    file.write_all(&table((image.len - FIRST) / 512)).map_err(failed())?;
    file.sync_data().map_err(failed())
}

/// A master boot record with one partition of `sectors` sectors and type 83 (Linux), located only by sector
/// numbers.
fn table(sectors: u64) -> [u8; 512] {
    let (first, sectors) = ((FIRST / 512) as u32, u32::try_from(sectors).unwrap_or(u32::MAX));
    let mut record = [0; 512];
    // Cylinders, heads and sectors have the values that mean "too large".
    let entry = [0, 0xfe, 0xff, 0xff, 0x83, 0xfe, 0xff, 0xff];
    record[446..454].copy_from_slice(&entry);
    record[454..458].copy_from_slice(&first.to_le_bytes());
    record[458..462].copy_from_slice(&sectors.to_le_bytes());
    record[510..].copy_from_slice(&[0x55, 0xaa]);
    record
}

/// Whether `path` is a block device, such as a partition.
pub(crate) fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device())
}

/// The device for the disk in `container`: if that is a file, a loop device with this block size in bytes;
/// otherwise the partition itself.
pub(crate) fn device(
    stack: &mut ResourceStack,
    container: &Path,
    blocks: Option<u32>,
) -> Result<PathBuf, SystemError> {
    match is_device(container) {
        true => Ok(container.to_owned()),
        false => loop_device::create_with(stack, container, blocks),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use cryptbench_blockdev::IoMode;

    use super::*;
    use crate::resource::Journal;

    #[test]
    fn a_partition_and_a_container_in_one_hold_what_they_are_asked_for() {
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
            eprintln!("SKIPPED: loop devices require root and the loop module");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let state = [directory.path().join("state")];
        let stop = AtomicBool::new(false);
        for place in [Place::Partition, Place::ContainerInPartition] {
            let (path, len) = (directory.path().join("image"), 16 * MIB);
            let all = place.image(len);
            let mut stack = ResourceStack::new(&Journal::create_in(&state, "place").unwrap());
            let image = container::make(&path, all, &stop).unwrap();
            stack.data_ends_here();
            let made = bring_up(&mut stack, place, &image, len, Some(&stop)).unwrap();
            assert_eq!(is_device(&made.path), place == Place::Partition);
            let open = || fs::File::options().read(true).write(true).open(&made.path).unwrap();
            let mut file = open();
            let end = std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).unwrap();
            assert!(end >= len, "{place:?}: {end}");
            file.write_all_at(b"kept", 0).unwrap();
            file.sync_all().unwrap();
            drop(file);
            stack.close().unwrap();
            assert!(loop_device::of_file(&path, None).is_none(), "{place:?}");
            let again = bring_up(&mut stack, place, &image, len, None).unwrap();
            let mut kept = [0; 4];
            fs::File::open(&again.path).unwrap().read_exact_at(&mut kept, 0).unwrap();
            assert_eq!(&kept, b"kept", "{place:?}");
            stack.destroy().unwrap();
            assert!(loop_device::of_file(&path, None).is_none(), "{place:?}");
            assert_eq!(image.mode == IoMode::Direct, again.mode == IoMode::Direct);
            fs::remove_file(&path).unwrap();
        }
    }
}
