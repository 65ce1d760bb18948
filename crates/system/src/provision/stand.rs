//! A disk of its own for a contender: a container file on the storage under measurement, a mapped device
//! over it, ext4 on that, and the surface that requests go to.
//!
//! One mapped device serves both kinds of workload. Small files are made in the file system. Requests go
//! either to a scratch file in it, as users have it and as the built-in engine is mounted, or to the mapped
//! device itself, behind the file system's end.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cryptbench_blockdev::{Extent, IoMode, Surface};
use rustix::fs::{OFlags, statvfs};

use super::dm;
use super::layers::SCRATCH;
use super::stack::{Base, Stack};
use crate::command::{Invocation, remedy};
use crate::contender::Woken;
use crate::machine::Machine;
use crate::{
    ArmSpec, Availability, Backing, Contender, Content, Ground, Random, Setting, SystemError,
};

const MIB: u64 = 1 << 20;

/// Making a file system on a large slow disk takes minutes.
const MKFS_LIMIT: Duration = Duration::from_secs(900);

/// What requests go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A scratch file in the file system.
    File,
    /// The mapped device.
    Device,
}

/// The setting that chooses the [`Place`].
pub(crate) const SURFACE: Setting = Setting {
    name: "surface",
    about: "what requests go to: a file in ext4 on the system's disk, or that disk itself",
    values: &["file", "device"],
};

/// Room that there is in any case, beside the new files of workloads.
pub(crate) const LEAST_ROOM: u64 = 160 << 20;

/// Room for the file system's own (journal, inode tables) and for the files of workloads: 512 MiB, less
/// where little is free.
pub(crate) fn room(free: u64) -> u64 {
    (free / 4 / MIB * MIB).clamp(64 * MIB, 512 * MIB)
}

/// Bytes that are free on the file system that `directory` lies on.
fn free(directory: &Path) -> Result<u64, SystemError> {
    let space = statvfs(directory).map_err(|e| SystemError::io("inspect", directory)(e.into()))?;
    Ok(space.f_bavail * space.f_frsize)
}

/// Bytes that the mapped device needs for `len` bytes of surface, and those of them that are the file
/// system's; whole MiB.
fn layout(len: u64, room: u64, place: Place) -> (u64, u64) {
    let len = len.next_multiple_of(MIB);
    match place {
        // ext4 keeps a sixteenth at most for its tables.
        Place::File => {
            let all = (len + len / 16 + room).next_multiple_of(MIB);
            (all, all)
        }
        Place::Device => (len + room, room),
    }
}

/// A name that no other mapping of any run has; short, because UUIDs are made from it.
pub(crate) fn mapping_name(run_id: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("cryptbench-{run_id}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Why no disk can be set up through a loop device on `machine`, if it cannot.
pub(crate) fn lacks_loop(machine: &Machine) -> Option<Availability> {
    if let Some(program) = machine.missing(&["losetup", "mount", "mkfs.ext4"]) {
        return Some(Availability::without(
            format!("there is no program {program}"),
            remedy(program),
        ));
    }
    if !Path::new("/dev/loop-control").exists() {
        let remedy = "load the loop module (modprobe loop)";
        return Some(Availability::without("there is no /dev/loop-control", remedy));
    }
    (!machine.root)
        .then(|| Availability::without("loop devices and mounts take root", "run as root"))
}

/// Why no disk can be set up through device mapper on `machine`, if it cannot.
pub(crate) fn lacks_device_mapper(machine: &Machine) -> Option<Availability> {
    if !dm::in_kernel() {
        let control = match Path::new("/dev/mapper/control").exists() {
            true => "the node /dev/mapper/control has no driver behind it",
            false => "there is no /dev/mapper/control",
        };
        return Some(Availability::without(
            format!("this kernel has no device mapper ({control}, /proc/misc does not list it)"),
            "modprobe dm_mod; if there is no such module, run a kernel with CONFIG_BLK_DEV_DM and \
             CONFIG_DM_CRYPT",
        ));
    }
    if machine.missing(&["dmsetup"]).is_some() {
        return Some(Availability::without("there is no program dmsetup", "apt install dmsetup"));
    }
    lacks_loop(machine)
}

/// Whether a container is to get a header, or has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    /// It is filled at random and holds nothing.
    New,
    /// It was mapped before.
    Used,
}

/// Sets a disk up. `overhead` gives the bytes of the container beyond a mapped device of that many; `map`
/// makes the mapped device from the container, noting each step on the stack, and says whether what
/// it holds must be written before it can be read. It is called again when the disk was taken down to the container.
pub(crate) fn set_up(
    arm: &ArmSpec,
    ground: &mut Ground<'_>,
    place: Place,
    overhead: impl FnOnce(u64) -> u64,
    mut map: impl FnMut(&mut Stack, &Path, Container) -> Result<Mapped, SystemError> + Send + 'static,
) -> Result<Contender, SystemError> {
    let len = ground.scratch.extent.len;
    let room = room(free(ground.directory)?).max(ground.room + ground.room / 16 + LEAST_ROOM);
    let (mapped, file_system) = layout(len, room, place);
    let mut stack = Stack::new(ground.run_id, &arm.id)?;
    let own = overhead(mapped);
    let bytes = (mapped + own).next_multiple_of(MIB);
    let container = stack.below.container(bytes, ground)?;
    let made = map(&mut stack, &container, Container::New)?;
    ground.go_on()?;
    let whole = open(&made.device, IoMode::Direct, 0, None)?;
    if whole.extent.len < mapped {
        return Err(SystemError::Target {
            path: made.device,
            problem: format!(
                "has {} bytes where {mapped} are needed: the container's overhead is larger than expected",
                whole.extent.len
            ),
        });
    }
    if made.unreadable {
        (ground.fill)(&whole)?;
    }
    drop(whole);
    let size = (place == Place::Device).then_some(file_system);
    ground.go_on()?;
    Invocation::new("mkfs.ext4")
        .args(mkfs(&made.device, size))
        // Zeros are written, not asked for: QEMU takes a hole that is punched and leaves what was there.
        .variable("UNIX_IO_NOZEROOUT", "1")
        .run(&Machine::this(), MKFS_LIMIT)?;
    ground.go_on()?;
    let root = mount(&mut stack, &made)?;
    let mode = ground.scratch.mode;
    let surface = match place {
        Place::File => stack.scratch(&root, ground)?,
        Place::Device => {
            let surface = open(&made.device, mode, file_system, Some(len))?;
            (ground.fill)(&surface)?;
            surface
        }
    };
    let random = match made.unreadable {
        // Tags and a journal lie among the data.
        true => Random::Untold,
        // Behind headers, which may have zeros, all is ciphertext or the random bytes that were there before.
        false => Random::From(own),
    };
    let backing = Backing { content: vec![Content::Path(container.clone())], tree: None, random };
    let stored = stack.caches().then(|| container.clone());
    stack.shown_again_by(move |stack, left| {
        let made = map(stack, &container, Container::Used)?;
        let directory = mount(stack, &made)?;
        let surface = match left {
            Some(left) => left.open(&directory.join(SCRATCH))?,
            None => open(&made.device, mode, file_system, Some(len))?,
        };
        Ok(Woken { surface, directory, daemons: made.daemons })
    });
    let mut contender = Contender::on_stand(surface, root, Box::new(stack)).over(backing);
    contender.daemons = made.daemons;
    contender.cached_below = stored.is_some();
    contender.stored = stored;
    Ok(contender)
}

/// Mounts the file system of a mapped device.
fn mount(stack: &mut Stack, mapped: &Mapped) -> Result<PathBuf, SystemError> {
    let Mapped { device, file, .. } = mapped;
    let Some(file) = file else { return stack.mount(&Base::Mapping(device)) };
    let root = stack.mount(&Base::Loop(device, file))?;
    zero_by_writing(device);
    Ok(root)
}

/// A device that shows the plaintext of a container.
pub(crate) struct Mapped {
    /// Where it is reached.
    pub(crate) device: PathBuf,
    /// The file that it is a loop device over; `None` for a device-mapper device.
    pub(crate) file: Option<PathBuf>,
    /// Whether sectors that were never written cannot be read, as under dm-integrity.
    pub(crate) unreadable: bool,
    /// Processes that serve it.
    pub(crate) daemons: Vec<u32>,
}

impl Mapped {
    /// By the kernel, all of it readable.
    pub(crate) fn by_kernel(device: PathBuf) -> Self {
        Self { device, file: None, unreadable: false, daemons: Vec::new() }
    }
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
) -> Result<Surface, SystemError> {
    let flags = if mode == IoMode::Direct { OFlags::DIRECT.bits() } else { 0 };
    let mut file: File = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(flags.cast_signed())
        .open(device)
        .map_err(SystemError::io("open", device))?;
    let end = file.seek(SeekFrom::End(0)).map_err(SystemError::io("measure", device))?;
    let there = end.saturating_sub(offset);
    Ok(Surface {
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
            let (mapped, file_system) = layout(len, room, Place::Device);
            assert!(mapped - file_system >= len && file_system == room, "{len}");
            let (mapped, file_system) = layout(len, room, Place::File);
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
