//! A disk of an arm's own: a container file on the storage under measurement, a device that shows its plaintext, ext4 on
//! that, and the I/O target that requests go to.
//!
//! One device serves both kinds of workload. Small files are made in the file system. Requests go either to a scratch
//! file in it, as users have it and as the built-in engine is mounted, or to the device itself, behind the file system's
//! end.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cryptbench_blockdev::{Extent, IoMode, IoTarget};
use cryptbench_cipher::Tier;
use rustix::fs::{OFlags, statvfs};
use zeroize::Zeroizing;

use crate::command::Invocation;
use crate::machine::Machine;
use crate::prepared::Shown;
use crate::provision::secret;
use crate::resource::container::{self, Container};
use crate::resource::{ResourceStack, mount};
use crate::{ArmContext, ArmSpec, Backing, Content, PreparedArm, Random, Setting, SystemError};

const MIB: u64 = 1 << 20;

/// Making a file system on a large slow disk takes minutes.
const MKFS_LIMIT: Duration = Duration::from_secs(900);

/// The setting that chooses what requests go to.
pub(crate) const SURFACE: Setting = Setting {
    name: "surface",
    about: "what requests go to: a file in ext4 on the system's disk, or that disk itself",
    values: &["file", "device"],
};

/// Room that there is in any case, beside the new files of workloads.
const LEAST_ROOM: u64 = 160 << 20;

/// Room for the file system's own (journal, inode tables) and for the files of workloads: 512 MiB, less
/// where little is free.
fn room(free: u64) -> u64 {
    (free / 4 / MIB * MIB).clamp(64 * MIB, 512 * MIB)
}

/// Bytes that are free on the file system that `directory` lies on.
fn free(directory: &Path) -> Result<u64, SystemError> {
    let space = statvfs(directory).map_err(|e| SystemError::io("inspect", directory)(e.into()))?;
    Ok(space.f_bavail * space.f_frsize)
}

/// Bytes that the mapped device needs for `len` bytes of I/O target, and those of them that are the file
/// system's; whole MiB.
fn layout(len: u64, room: u64, on_device: bool) -> (u64, u64) {
    let len = len.next_multiple_of(MIB);
    if on_device {
        return (len + room, room);
    }
    // ext4 keeps a sixteenth at most for its tables.
    let all = (len + len / 16 + room).next_multiple_of(MIB);
    (all, all)
}

/// A name that no other mapping of any run has; short, because UUIDs are made from it.
fn mapping_name(run_id: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("cryptbench-{run_id}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// How the container of a system becomes a device.
pub(crate) struct Mapped {
    /// Bytes of the container beyond a device of that many.
    pub(crate) overhead: fn(&ArmSpec, u64) -> u64,
    /// Bytes for files beside those that a run needs, where so many are free.
    pub(crate) spare: fn(u64) -> u64,
    /// Draws what opens the container.
    pub(crate) secret: fn(&ArmSpec) -> Result<Zeroizing<Vec<u8>>, SystemError>,
    /// Whether it writes to the container through the page cache, whatever is asked for.
    pub(crate) cached: bool,
    /// Makes the device, and first what the container holds if that is new.
    pub(crate) open: fn(&Volume<'_>, &mut ResourceStack) -> Result<Disk, SystemError>,
}

impl Mapped {
    /// One that a passphrase opens, with room for what its users have.
    pub(crate) const fn new(
        open: fn(&Volume<'_>, &mut ResourceStack) -> Result<Disk, SystemError>,
        overhead: fn(&ArmSpec, u64) -> u64,
    ) -> Self {
        let secret = |_: &ArmSpec| Ok(Zeroizing::new(secret::passphrase().as_bytes().to_vec()));
        Self { overhead, spare: room, secret, cached: false, open }
    }
}

/// What is to become a device.
pub(crate) struct Volume<'a> {
    pub(crate) arm: &'a ArmSpec,
    pub(crate) container: &'a Container,
    /// Whether the container is filled at random and holds nothing yet; else it was open before.
    pub(crate) is_new: bool,
    pub(crate) secret: &'a Zeroizing<Vec<u8>>,
    /// A name for a mapping that no other has.
    pub(crate) name: &'a str,
    pub(crate) tier: Tier,
}

/// A device that shows the plaintext of a container.
pub(crate) struct Disk {
    /// Where it is reached.
    pub(crate) device: PathBuf,
    /// The file that it is a loop device over; `None` for a device-mapper device.
    pub(crate) file: Option<PathBuf>,
    /// Whether sectors that were never written cannot be read, as under dm-integrity.
    pub(crate) unreadable: bool,
    /// Processes that serve it.
    pub(crate) daemons: Vec<u32>,
}

impl Disk {
    /// By the kernel, all of it readable.
    pub(crate) fn by_kernel(device: PathBuf) -> Self {
        Self { device, file: None, unreadable: false, daemons: Vec::new() }
    }
}

/// Bytes of storage that an arm takes with `len` bytes of files where `free` are free: those of a container with a file
/// system, a header and room for both.
pub(crate) fn footprint(len: u64, free: u64) -> u64 {
    len + len / 16 + room(free).max(LEAST_ROOM) + (16 << 20)
}

pub(crate) fn prepare(
    mapped: &Mapped,
    arm: &ArmSpec,
    context: &mut ArmContext<'_>,
) -> Result<PreparedArm, SystemError> {
    let len = context.scratch.extent.len;
    let spare = (mapped.spare)(free(context.directory)?);
    let room = spare.max(context.room + context.room / 16 + LEAST_ROOM);
    let on_device = arm.is_set(SURFACE.name, "device");
    let (bytes, file_system) = layout(len, room, on_device);
    let own = (mapped.overhead)(arm, bytes);
    let mut stack = ResourceStack::new(context.journal);
    let path = context.path_for(arm, "container");
    let all = (bytes + own).next_multiple_of(MIB);
    let container = container::create(&mut stack, &path, all, context.stop)?;
    stack.data_ends_here();
    let (arm, tier, name) = (arm.clone(), context.tier, mapping_name(context.run_id));
    let (secret, open_disk) = ((mapped.secret)(&arm)?, mapped.open);
    let disk = move |stack: &mut ResourceStack, is_new| {
        let (arm, container, secret) = (&arm, &container, &secret);
        open_disk(&Volume { arm, container, is_new, secret, name: &name, tier }, stack)
    };
    let made = disk(&mut stack, true)?;
    context.go_on()?;
    let whole = open(&made.device, IoMode::Direct, 0, None)?;
    if whole.extent.len < bytes {
        return Err(SystemError::Target {
            path: made.device,
            problem: format!(
                "has {} bytes where {bytes} are needed: the container's overhead is larger than expected",
                whole.extent.len
            ),
        });
    }
    if made.unreadable {
        (context.fill)(&whole)?;
    }
    drop(whole);
    context.go_on()?;
    Invocation::new("mkfs.ext4")
        .args(mkfs(&made.device, on_device.then_some(file_system)))
        // Zeros are written, not asked for: QEMU takes a hole that is punched and leaves what was there.
        .variable("UNIX_IO_NOZEROOUT", "1")
        .run(&Machine::this(), MKFS_LIMIT)?;
    context.go_on()?;
    let random = match made.unreadable {
        // Tags and a journal lie among the data.
        true => Random::Untold,
        // Behind headers, which may have zeros, all is ciphertext or the random bytes that were there before.
        false => Random::From(own),
    };
    let mode = context.scratch.mode;
    let show = move |stack: &mut ResourceStack, made: Disk| {
        let directory = mount(stack, &made)?;
        let on = || open(&made.device, mode, file_system, Some(len));
        let device = on_device.then(on).transpose()?;
        Ok(Shown { directory, device, daemons: made.daemons })
    };
    let shown = show(&mut stack, made)?;
    let cached = mapped.cached || stack.caches();
    let reopen = Box::new(move |stack: &mut ResourceStack| {
        let made = disk(stack, false)?;
        show(stack, made)
    });
    let backing = Backing { content: vec![Content::Path(path.clone())], tree: None, random };
    let prepared = PreparedArm::on_stack(shown, context, stack, backing, reopen)?;
    Ok(if cached { prepared.cached_in(path) } else { prepared })
}

/// Mounts the file system of a disk.
fn mount(stack: &mut ResourceStack, disk: &Disk) -> Result<PathBuf, SystemError> {
    let root = mount::mount(stack, &disk.device, disk.file.as_deref())?;
    if disk.file.is_some() {
        zero_by_writing(&disk.device);
    }
    Ok(root)
}

/// Keeps the mounted file system from asking a loop device for zeros where it can do without.
fn zero_by_writing(device: &Path) {
    if let Some(name) = device.file_name() {
        let knob = Path::new("/sys/fs/ext4").join(name).join("extent_max_zeroout_kb");
        // A kernel without it splits extents in other ways.
        let _ = std::fs::write(knob, "0");
    }
}

/// ext4 with nothing left to be done later in the background; of `size` bytes, or all of the device.
fn mkfs(device: &Path, size: Option<u64>) -> Vec<OsString> {
    let options = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
    let mut words: Vec<OsString> =
        ["-q", "-F", "-b", "4096", "-m", "0", "-E", options].map(Into::into).into();
    words.push(device.into());
    words.extend(size.map(|bytes| format!("{}k", bytes >> 10).into()));
    words
}

/// The device from `offset` on, at most `len` bytes.
fn open(
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
    let end = file.seek(SeekFrom::End(0)).map_err(SystemError::io("measure", device))?;
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
    }

    #[test]
    fn names_are_short_and_never_given_twice() {
        let (one, two) = (mapping_name("20261121-203000-1a2b3c"), mapping_name("x"));
        assert_ne!(one.rsplit('-').next(), two.rsplit('-').next());
        // With `CRYPT-INTEGRITY-`, a UUID, `_dif`: 128 bytes at most (DM_UUID_LEN, dm-ioctl.h).
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
