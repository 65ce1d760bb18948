//! Gives an arm its own disk: a container file on the measured storage, a device that shows its plaintext, ext4
//! on that, and the I/O target for requests.
//!
//! One device is used for both kinds of workload. Small files are created in the file system. Requests go to a
//! scratch file in the file system, as in normal use and for the mounted built-in engine, or to the device
//! itself, after the end of the file system.
#![expect(clippy::disallowed_methods, reason = "a file of /sys; a device of a run")]

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use cryptbench_blockdev::{Extent, IoMode, IoTarget};
use cryptbench_cipher::Tier;
use rustix::fs::{OFlags, statvfs};
use zeroize::Zeroizing;

use crate::command::Invocation;
use crate::kind::place::{self, Place};
use crate::machine::Machine;
use crate::prepared::{CONTAINER, Shown};
use crate::provision::mountinfo::mount_at;
use crate::provision::secret;
use crate::resource::container::{self, Container};
use crate::resource::{ResourceStack, UblkDisk, kernel_parameter, mount, ublk_disk};
use crate::settings::Choice;
use crate::transport::Transport;
use crate::{
    ArmContext, ArmSpec, Backing, Content, Features, PreparedArm, Random, Setting, SystemError,
};

const MIB: u64 = 1 << 20;

/// Creating a file system on a large, slow disk can take minutes.
const MKFS_LIMIT: Duration = Duration::from_secs(900);

/// The setting that chooses the target of requests.
pub(crate) const IO_TARGET: Setting = Setting {
    name: "io-target",
    about: "where requests go: to a file in ext4 on the system's device, or to the device itself",
    values: &["file", "device"],
};

/// The setting that chooses the file system on the disk.
pub(crate) const FILE_SYSTEM: Setting = Setting {
    name: "file-system",
    about: "file system on the system's device; ntfs requires mkfs.ntfs and either the kernel's ntfs3 or ntfs-3g",
    values: &["ext4", NTFS],
};

const NTFS: &str = "ntfs";

/// Why the file system that `values` specifies is not available; `None` if it is.
pub(crate) fn check_file_system(
    name: &str,
    values: &Choice,
    features: &Features,
) -> Result<(), SystemError> {
    match (values.get(FILE_SYSTEM.name), features.lacks_ntfs.clone()) {
        (Some(&NTFS), Some((reason, remedy))) => {
            Err(SystemError::Unavailable { name: format!("{name} with NTFS"), reason, remedy })
        }
        _ => Ok(()),
    }
}

/// Minimum space in bytes for an I/O target of `len` bytes, in addition to the new files of workloads. It is
/// small, so that small targets need not wait for large containers; it has room for a 4 MiB journal and the
/// files of the proof.
fn least_room(len: u64) -> u64 {
    (len / 2 / MIB * MIB).clamp(24 * MIB, 160 * MIB)
}

/// Space in bytes for the file system's own structures (journal, inode tables) and for the files of workloads:
/// 512 MiB, or less if little is free.
fn room(free: u64) -> u64 {
    (free / 4 / MIB * MIB).clamp(64 * MIB, 512 * MIB)
}

/// Free bytes on the file system of `directory`.
pub(crate) fn free(directory: &Path) -> Result<u64, SystemError> {
    let space = statvfs(directory).map_err(|e| SystemError::io("inspect", directory)(e.into()))?;
    Ok(space.f_bavail * space.f_frsize)
}

/// Size of the mapped device for an I/O target of `len` bytes, and the part of it that the file system
/// occupies; in bytes, rounded up to whole MiB.
fn layout(len: u64, room: u64, on_device: bool) -> (u64, u64) {
    let len = len.next_multiple_of(MIB);
    if on_device {
        return (len + room, room);
    }
    // ext4 needs at most a sixteenth for its tables.
    let all = (len + len / 16 + room).next_multiple_of(MIB);
    (all, all)
}

/// A name for a mapping or a pool that no other run uses. It is short, because UUIDs are derived from it.
pub(crate) fn mapping_name(run_id: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("cryptbench-{run_id}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// How to turn the container of a system into a device.
pub(crate) struct Mapped {
    /// Size of the container beyond that of the device, in bytes.
    pub(crate) overhead: fn(&ArmSpec, u64) -> u64,
    /// Space for files beyond what a run needs, in bytes; it depends on the free space.
    pub(crate) spare: fn(u64) -> u64,
    /// Generates the secret that opens the container.
    pub(crate) secret: fn(&ArmSpec) -> Result<Zeroizing<Vec<u8>>, SystemError>,
    /// Whether the system always writes to the container through the page cache.
    pub(crate) cached: bool,
    /// Kernel parameters for the trials of an arm: files in sysfs, and their values.
    pub(crate) parameters: fn(&ArmSpec) -> Vec<(PathBuf, String)>,
    /// The arm with the settings that the system chose for that device, if any were unspecified.
    pub(crate) turned_out: fn(&ArmSpec, &Disk) -> Option<ArmSpec>,
    /// Creates the device; if the container is new, formats it first.
    pub(crate) open: fn(&Volume<'_>, &mut ResourceStack) -> Result<Disk, SystemError>,
}

impl Mapped {
    /// A system that is opened with a passphrase, with the usual space for files.
    pub(crate) const fn new(
        open: fn(&Volume<'_>, &mut ResourceStack) -> Result<Disk, SystemError>,
        overhead: fn(&ArmSpec, u64) -> u64,
    ) -> Self {
        let secret = |_: &ArmSpec| Ok(Zeroizing::new(secret::passphrase().as_bytes().to_vec()));
        Self {
            overhead,
            spare: room,
            secret,
            cached: false,
            parameters: |_| Vec::new(),
            turned_out: |_, _| None,
            open,
        }
    }

    /// Space in bytes for the file system, in addition to an I/O target of `len` bytes, if `files` bytes of new
    /// files are created.
    fn room(&self, len: u64, files: u64, free: u64) -> u64 {
        // If workloads create few files or none, more space would be filled unnecessarily.
        let spare = (self.spare)(free).min(2 * files);
        spare.max(files + files / 16 + least_room(len))
    }
}

/// A container before it becomes a device.
pub(crate) struct Volume<'a> {
    pub(crate) arm: &'a ArmSpec,
    pub(crate) container: &'a Container,
    /// Whether the container is new and contains only random data; otherwise it has been open before.
    pub(crate) is_new: bool,
    pub(crate) secret: &'a Zeroizing<Vec<u8>>,
    /// A name for mappings that is unique to this run.
    pub(crate) name: &'a str,
    pub(crate) tier: Tier,
}

/// A device that shows the plaintext of a container.
pub(crate) struct Disk {
    /// Path of the device.
    pub(crate) device: PathBuf,
    /// The backing file, if it is a loop device; `None` for a device-mapper device.
    pub(crate) file: Option<PathBuf>,
    /// Whether unwritten sectors cannot be read, as with dm-integrity.
    pub(crate) unreadable: bool,
    /// Processes that serve it.
    pub(crate) daemons: Vec<u32>,
    /// The transport through which this process serves it, if any.
    pub(crate) served: Option<Transport>,
    /// The ublk device, if the disk is one.
    pub(crate) ublk: Option<UblkDisk>,
}

impl Disk {
    /// A kernel device on which every sector can be read.
    pub(crate) fn by_kernel(device: PathBuf) -> Self {
        Self {
            device,
            file: None,
            unreadable: false,
            daemons: Vec::new(),
            served: None,
            ublk: None,
        }
    }
}

/// Bytes of storage that an arm needs for `len` bytes of files if `free` bytes are free: for a container with a
/// header, a file system and space for both kinds of workload.
pub(crate) fn footprint(len: u64, free: u64) -> u64 {
    len + len / 16 + room(free).max(least_room(len)) + (16 << 20)
}

/// Bytes that are filled for an I/O target of `len` bytes and `files` bytes of files if `free` bytes are free.
pub(crate) fn filled(mapped: &Mapped, len: u64, files: u64, free: u64) -> u64 {
    layout(len, mapped.room(len, files, free), false).0
}

/// Bytes of the partition for an I/O target of `len` bytes, without other files, if `arm` is set up on a partition.
pub(crate) fn partition(mapped: &Mapped, arm: &ArmSpec, len: u64) -> Option<u64> {
    let place = Place::of(arm);
    let (bytes, _) = layout(len, mapped.room(len, 0, 0), arm.is_set(IO_TARGET.name, "device"));
    let all = (bytes + (mapped.overhead)(arm, bytes)).next_multiple_of(MIB);
    (place != Place::Container).then(|| place.image(all))
}

pub(crate) fn prepare(
    mapped: &Mapped,
    arm: &ArmSpec,
    context: &mut ArmContext<'_>,
) -> Result<PreparedArm, SystemError> {
    let len = context.scratch.extent.len;
    let room = mapped.room(len, context.room, free(context.directory)?);
    let on_device = arm.is_set(IO_TARGET.name, "device");
    let (bytes, file_system) = layout(len, room, on_device);
    let own = (mapped.overhead)(arm, bytes);
    let mut stack = ResourceStack::new(context.journal);
    let path = context.path_for(arm, CONTAINER);
    let all = (bytes + own).next_multiple_of(MIB);
    let place = Place::of(arm);
    let image = container::create(&mut stack, &path, place.image(all), context)?;
    // A partition that was reserved for it is somewhere else.
    let path = image.path.clone();
    let parameters = (mapped.parameters)(arm)
        .into_iter()
        .map(|(path, value)| kernel_parameter::promise(&mut stack, path, &value))
        .collect::<Result<_, _>>()?;
    stack.data_ends_here();
    let asked = arm;
    let (arm, tier, name) = (arm.clone(), context.tier, mapping_name(context.run_id));
    let (secret, open_disk) = ((mapped.secret)(&arm)?, mapped.open);
    let disk = move |stack: &mut ResourceStack, new: Option<&AtomicBool>| {
        let container = place::bring_up(stack, place, &image, all, new)?;
        let (arm, container, secret, is_new) = (&arm, &container, &secret, new.is_some());
        open_disk(&Volume { arm, container, is_new, secret, name: &name, tier }, stack)
    };
    let made = disk(&mut stack, Some(context.stop))?;
    context.go_on()?;
    let whole = open(&made.device, IoMode::Direct, 0, None)?;
    if whole.extent.len < bytes {
        return Err(SystemError::Target {
            path: made.device,
            problem: format!(
                "it is {} bytes long, but {bytes} are needed: the container's overhead is larger than expected",
                whole.extent.len
            ),
        });
    }
    if made.unreadable {
        (context.fill)(&whole)?;
    }
    drop(whole);
    context.go_on()?;
    let size = on_device.then_some(file_system);
    let is_ntfs = asked.is_set(FILE_SYSTEM.name, NTFS);
    let makes = match is_ntfs {
        true => Invocation::new("mkfs.ntfs").args(mkfs_ntfs(&made.device, size)),
        // Writes zeros explicitly, because QEMU accepts hole punching but keeps the old data.
        false => Invocation::new("mkfs.ext4")
            .args(mkfs(&made.device, size))
            .variable("UNIX_IO_NOZEROOUT", "1"),
    };
    makes.run_until(context.stop, &Machine::this(), MKFS_LIMIT)?;
    context.go_on()?;
    let random = match made.unreadable || place == Place::ContainerInPartition {
        // Tags and a journal are interleaved with the data, or the structures of a file system surround it.
        true => Random::Untold,
        // After the headers, which may contain zeros, all data is ciphertext or the original random data.
        false if place == Place::Partition => Random::From(place::FIRST + own),
        false => Random::From(own),
    };
    let turned_out = (mapped.turned_out)(asked, &made);
    let mode = context.scratch.mode;
    let show = move |stack: &mut ResourceStack, made: Disk| {
        let directory = mount(stack, &made)?;
        let on = || open(&made.device, mode, file_system, Some(len));
        let device = on_device.then(on).transpose()?;
        Ok(Shown { directory, device, daemons: made.daemons })
    };
    let (device, served) = (made.device.clone(), made.file.clone().filter(|_| mapped.cached));
    let shown = show(&mut stack, made)?;
    let cached = mapped.cached || stack.caches();
    // A process that serves the file system reads and writes its device through the page cache.
    let is_served = |shown: &Shown| {
        mount_at(&shown.directory).is_some_and(|mount| mount.file_system.starts_with("fuse"))
    };
    let device = (is_ntfs && is_served(&shown)).then_some(device);
    let above = device.into_iter().chain(served).collect();
    let reopen = Box::new(move |stack: &mut ResourceStack| {
        let made = disk(stack, None)?;
        show(stack, made)
    });
    let backing =
        Backing { content: vec![Content::Path(path.clone())], tree: None, random, beside: None };
    let mut prepared = PreparedArm::on_stack(shown, context, stack, backing, reopen)?;
    prepared.turned_out = turned_out;
    prepared.parameters = parameters;
    let prepared = if cached { prepared.cached_in(path) } else { prepared };
    Ok(prepared.cached_on(above))
}

/// Mounts the file system of a disk.
fn mount(stack: &mut ResourceStack, disk: &Disk) -> Result<PathBuf, SystemError> {
    if let Some(ublk) = &disk.ublk {
        return ublk_disk::mount(stack, ublk, false, None);
    }
    let root = mount::mount(stack, &disk.device, disk.file.as_deref())?;
    if disk.file.is_some() {
        zero_by_writing(&disk.device);
    }
    Ok(root)
}

/// Prevents the mounted file system from requesting zeroing from a loop device where that can be avoided.
fn zero_by_writing(device: &Path) {
    if let Some(name) = device.file_name() {
        let knob = Path::new("/sys/fs/ext4").join(name).join("extent_max_zeroout_kb");
        // A kernel without this file uses other ways to split extents.
        let _ = std::fs::write(knob, "0");
    }
}

/// Arguments for an ext4 of `size` bytes, or on the whole device, without background work after its creation.
fn mkfs(device: &Path, size: Option<u64>) -> Vec<OsString> {
    let options = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
    let mut words: Vec<OsString> =
        ["-q", "-F", "-b", "4096", "-m", "0", "-E", options].map(Into::into).into();
    words.push(device.into());
    words.extend(size.map(|bytes| format!("{}k", bytes >> 10).into()));
    words
}

/// Arguments for an NTFS of `size` bytes, or on the whole device, without writing zeros to all of it.
fn mkfs_ntfs(device: &Path, size: Option<u64>) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        ["-q", "-F", "-f", "-s", "512", "-c", "4096"].map(Into::into).into();
    words.push(device.into());
    words.extend(size.map(|bytes| (bytes / 512).to_string().into()));
    words
}

/// Opens the device at `offset`, limited to `len` bytes.
pub(super) fn open(
    device: &Path,
    mode: IoMode,
    offset: u64,
    len: Option<u64>,
) -> Result<IoTarget, SystemError> {
    let flags = if mode == IoMode::Direct { OFlags::DIRECT.bits() } else { 0 };
    let mut file: File = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(flags.cast_signed())
        .open(device)
        .map_err(SystemError::io("open", device))?;
    let end = file.seek(SeekFrom::End(0)).map_err(SystemError::io("get the size of", device))?;
    let there = end.saturating_sub(offset);
    Ok(IoTarget {
        file: Arc::new(file),
        extent: Extent { offset, len: len.map_or(there, |len| len.min(there)) },
        mode,
        transform: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_surface_lies_behind_the_file_system_or_in_it() {
        let room = room(u64::MAX);
        for len in [16 * MIB, 100 * MIB + 512, 4096 * MIB] {
            let (mapped, file_system) = layout(len, room, true);
            assert!(mapped - file_system >= len && file_system == room, "{len}");
            let (mapped, file_system) = layout(len, room, false);
            assert_eq!(mapped, file_system);
            assert!(mapped >= len + len / 16 + room, "{len}");
        }
    }

    #[test]
    fn there_is_room_for_files_unless_little_is_free() {
        assert_eq!(room(1 << 40), 512 * MIB);
        assert_eq!(room(1 << 30), 256 * MIB);
        assert_eq!(room(0), 64 * MIB);
        assert_eq!([4, 16, 128, 512].map(|len| least_room(len * MIB) / MIB), [24, 24, 64, 160]);
    }

    #[test]
    fn names_are_short_and_never_given_twice() {
        let (one, two) = (mapping_name("20261121-203000-1a2b3c"), mapping_name("x"));
        assert_ne!(one.rsplit('-').next(), two.rsplit('-').next());
        // At most 128 bytes, including `CRYPT-INTEGRITY-`, a UUID and `_dif` (DM_UUID_LEN, dm-ioctl.h).
        assert!(one.len() + 16 + 33 + 4 < 128, "{one}");
    }

    #[test]
    fn a_file_system_of_a_size_leaves_the_rest_of_the_device() {
        let said = |size| {
            let words = mkfs(Path::new("/dev/mapper/x"), size);
            words.iter().map(|w| w.to_str().unwrap()).collect::<Vec<_>>().join(" ")
        };
        assert!(
            said(None)
                .ends_with("-E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/x")
        );
        assert!(said(Some(64 * MIB)).ends_with(" /dev/mapper/x 65536k"));
    }
}
