//! The file or device of a volume: opened once, locked, and never destroyed by mistake.
#![expect(clippy::disallowed_methods, reason = "the one place that opens a volume")]

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, bail};
use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode};
use cryptbench_catalog::SYSTEMS;
use cryptbench_kdf::Function;
use cryptbench_os::files::{Opening, path_of};
use cryptbench_os::lock::{Lock, lock_within};
use cryptbench_os::{Details, Directory, FileIdentity, FileType};
use cryptbench_text::shown;
use cryptbench_volume::detect::{Kind, detect};
use cryptbench_volume::format::luks::{self, LuksOptions, Resources};
use cryptbench_volume::format::tcrypt;
use cryptbench_volume::format::{bitlocker, filevault};
use cryptbench_volume::{Access, OpenOptions, Part, Volume, VolumeError, formats, partition};

use super::args::{SecretSource, UnlockArgs};
use super::confined::Asks;
use super::cost;
use super::secrets::{self, Prompt};
use crate::exit::Refusal;
use crate::say;

/// The file or device of a volume. The open file holds the lock that excludes a second writing process of this program,
/// and the kernel's exclusive claim on a block device. Lock and claim last as long as this value.
pub struct Target {
    pub device: Arc<dyn BlockDevice>,
}

/// Opens the volume as a directory.
pub fn directory(unlock: &UnlockArgs) -> anyhow::Result<Directory> {
    let lower = Directory::open(&unlock.volume);
    Ok(lower.map_err(|e| Refusal::target(&unlock.volume, &e.to_string()))?)
}

/// Why a directory cannot be opened here: a file in the directory shows that it belongs to another program.
pub fn of_another(lower: &Directory) -> Option<VolumeError> {
    let names = lower.names().unwrap_or_default();
    let is_here = |file: &&str| names.iter().any(|name| name == *file);
    if ["bands", "Info.plist"].iter().all(is_here) {
        return Some(VolumeError::CannotOpen {
            what: "an Apple sparse bundle".to_owned(),
            why: "the bundle stores the disk in pieces".to_owned(),
            with: "convert it first: on a Mac, hdiutil convert BUNDLE -format UDTO -o DISK; on Linux, sparsebundlefs \
                   presents the disk as a file"
                .to_owned(),
        });
    }
    let system = SYSTEMS.iter().find(|system| system.files.iter().any(is_here))?;
    Some(VolumeError::CannotOpen {
        what: format!("a {} directory", system.name),
        why: "this program does not support the format".to_owned(),
        with: format!("use {}", system.name),
    })
}

/// How long another process may hold the lock: udev briefly acquires this lock when a writer closes a disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// The device of an open file, which messages call `path`. Only this open file is used, whatever its name refers to
/// later. If `direct` is set, the page cache is bypassed where possible.
pub fn take(path: &Path, file: File, access: Access, direct: bool) -> anyhow::Result<Target> {
    check_unused(path, &file, access)?;
    let device = device(file, access, direct);
    let device = device.map_err(|e| Refusal::target(path, &e.to_string()))?;
    Ok(Target { device: Arc::new(device) })
}

/// Opens and locks the file or device at `path` for another process, which gets the lock with the open file.
pub fn open_for_child(path: &Path, access: Access) -> anyhow::Result<File> {
    let file = open_file(path, access)?;
    check_unused(path, &file, access)?;
    Ok(file)
}

/// Size in bytes of the open file or device, which messages call `path`.
pub fn size_of(path: &Path, file: &File) -> anyhow::Result<u64> {
    let fail = |e: io::Error| Refusal::target(path, &e.to_string());
    let device = FileDevice::from_file(file.try_clone().map_err(fail)?, IoMode::Buffered, true);
    Ok(device.map_err(fail)?.size())
}

/// The device for an open file that no other process uses.
pub fn device(file: File, access: Access, direct: bool) -> io::Result<FileDevice> {
    let read_only = access == Access::ReadOnly;
    if direct {
        // Most volumes have 512-byte sectors, so a disk with larger sectors is accessed through the page cache.
        let device = FileDevice::from_file(file.try_clone()?, IoMode::Direct, read_only);
        if let Ok(device) = device
            && device.sector() <= 512
        {
            return Ok(device);
        }
    }
    FileDevice::from_file(file, IoMode::Buffered, read_only)
}

/// Locks the file, and checks that it is not in use by a program that does not use locks.
fn check_unused(path: &Path, file: &File, access: Access) -> anyhow::Result<()> {
    lock(path, file, access)?;
    if access == Access::ReadWrite
        && let Some(device) = attached(file)
    {
        let reason = format!("in use: {} is attached to it", device.display());
        return Err(Refusal::target(path, &reason).into());
    }
    Ok(())
}

/// Opens the file or device; a block device must not be in use.
fn open_file(path: &Path, access: Access) -> anyhow::Result<File> {
    let fail = |e: io::Error| Refusal::target(path, &e.to_string());
    // Checked first: opening some devices has side effects; for example, it starts a watchdog.
    let found = fs::metadata(path).map_err(fail)?;
    let details = Details::of(&found);
    if let Some(what) = unfit(details.kind) {
        let reason = format!("a volume must be a regular file or a block device, not {what}");
        return Err(Refusal::target(path, &reason).into());
    }
    // Non-blocking, because the file may have been replaced by a pipe.
    let mut opening = match access {
        Access::ReadOnly => Opening::to_read(),
        Access::ReadWrite => Opening::to_write(),
    }
    .without_waiting();
    if access == Access::ReadWrite && details.kind == FileType::BlockDevice {
        refuse_mounted(path, details.device)?;
        opening = opening.alone(true);
    }
    let file = opening.open(path).map_err(|e| match e.kind() {
        io::ErrorKind::ResourceBusy => {
            let reason = "in use: mounted, swap space, part of another device, or open in another cryptbench process";
            Refusal::target(path, reason)
        }
        _ => fail(e),
    })?;
    let which = |found: &Metadata| (Details::of(found).file_system, Details::of(found).inode);
    if which(&file.metadata().map_err(fail)?) != which(&found) {
        return Err(Refusal::target(path, "it was replaced during the check; try again").into());
    }
    Ok(file)
}

/// The kind of a file, if it cannot contain a volume.
fn unfit(kind: FileType) -> Option<&'static str> {
    match kind {
        FileType::RegularFile | FileType::BlockDevice => None,
        FileType::Directory => Some("a directory"),
        FileType::Fifo => Some("a pipe"),
        FileType::Socket => Some("a socket"),
        _ => Some("a character device"),
    }
}

fn lock(path: &Path, file: &File, access: Access) -> anyhow::Result<()> {
    let how = match access {
        Access::ReadOnly => Lock::Shared,
        Access::ReadWrite => Lock::Exclusive,
    };
    match lock_within(file, how, PATIENCE) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
            let reason = "in use by another cryptbench process, or by another program such as a virtual machine; \
                          unmount it or stop that program first";
            return Err(Refusal::target(path, reason).into());
        }
        Err(e) => say::message(&format!(
            "warning: cannot lock {} ({e}); make sure that no other program uses it",
            path.display()
        )),
    }
    Ok(())
}

/// The loop device on a file, if any: such a file is in use.
fn attached(file: &File) -> Option<PathBuf> {
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let name = path_of(file).ok()?;
    cryptbench_system::resource::loop_device::of_file(&name, None)
}

/// Refuses a block device that is mounted, and reports the mount point.
fn refuse_mounted(path: &Path, number: u64) -> anyhow::Result<()> {
    let mounts = cryptbench_system::provision::mountinfo::mounts().unwrap_or_default();
    match mounts.iter().find(|entry| entry.device == number) {
        Some(entry) => {
            let reason = format!("mounted at {}; unmount it first", entry.mountpoint.display());
            Err(Refusal::target(path, &reason).into())
        }
        None => Ok(()),
    }
}

/// The formats that are handled differently from each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Luks,
    BitLocker,
    FileVault,
    FreeOtfe,
    Other,
}

/// The format of the volume, according to the user or its header.
fn family(target: &Target, format: Option<&str>) -> anyhow::Result<Family> {
    Ok(match format {
        Some(name) if !formats().any(|known| known == name) => {
            let known: Vec<_> = formats().collect();
            bail!(VolumeError::Invalid(format!(
                "unknown volume format {name:?}; known: {}",
                known.join(", ")
            )))
        }
        Some("bitlocker") => Family::BitLocker,
        Some(filevault::FORMAT) => Family::FileVault,
        Some("freeotfe") => Family::FreeOtfe,
        Some(name) if name.starts_with("luks") => Family::Luks,
        Some(_) => Family::Other,
        None => match detect(&*target.device)?.kind {
            Kind::Luks { .. } => Family::Luks,
            Kind::BitLocker { .. } => Family::BitLocker,
            Kind::FileVault => Family::FileVault,
            _ => Family::Other,
        },
    })
}

/// Whether the volume to be changed is LUKS.
pub fn is_changeable_luks(target: &Target, format: Option<&str>) -> anyhow::Result<bool> {
    match family(target, format)? {
        Family::BitLocker => bail!(VolumeError::Unsupported {
            what: "changing a BitLocker volume's keys or metadata".to_owned(),
            hint: Some("use `manage-bde` on Windows".to_owned()),
        }),
        Family::FileVault => bail!(filevault::unchangeable()),
        Family::FreeOtfe => bail!(VolumeError::Unsupported {
            what: "changing the credentials of a FreeOTFE volume".to_owned(),
            hint: Some("use LibreCrypt".to_owned()),
        }),
        family => Ok(family == Family::Luks),
    }
}

/// Whether the volume whose header is to be backed up is LUKS.
pub fn is_saved_as_luks(target: &Target, format: Option<&str>) -> anyhow::Result<bool> {
    let (name, hint) = match family(target, format)? {
        Family::BitLocker => (
            "BitLocker",
            "its metadata is stored on the volume three times; on Windows, `manage-bde -KeyPackage` saves the key \
             package that repair-bde needs if all copies are lost",
        ),
        Family::FileVault => {
            ("FileVault", "its metadata is spread over the disk; copy the whole disk instead")
        }
        Family::FreeOtfe => {
            ("FreeOTFE", "use LibreCrypt, which can back it up as the critical data block")
        }
        family => return Ok(family == Family::Luks),
    };
    let what = format!("backing up the header of a {name} volume");
    Err(VolumeError::Unsupported { what, hint: Some(hint.to_owned()) }.into())
}

/// The requirements of a volume with a detached header. Only LUKS has detached headers; with system encryption,
/// `--header` specifies the disk.
pub fn asks_with_header(args: &UnlockArgs) -> Option<Asks> {
    args.header.as_ref().map(|_| Asks { luks: !args.system, ..Asks::default() })
}

/// The part of the device that `args` specifies, or the whole device.
pub fn part(
    args: &UnlockArgs,
    device: Arc<dyn BlockDevice>,
) -> anyhow::Result<Arc<dyn BlockDevice>> {
    let (offset, len) = match (args.partition, args.offset) {
        (Some(number), _) => {
            let found = partition(&*device, number).with_context(|| shown(&args.volume))?;
            (found.offset, Some(found.len))
        }
        (None, Some(offset)) => (offset, None),
        (None, None) => return Ok(device),
    };
    Ok(Arc::new(Part::new(device, offset, len).with_context(|| shown(&args.volume))?))
}

/// The requirements of the volume in `args`.
pub fn asks(args: &UnlockArgs, target: &Target) -> anyhow::Result<Asks> {
    if let Some(asks) = asks_with_header(args) {
        return Ok(asks);
    }
    let family = family(target, args.format.as_deref())?;
    Ok(Asks {
        luks: family == Family::Luks,
        recovery: matches!(family, Family::BitLocker | Family::FileVault),
        // Errors in the metadata are reported when the volume is opened.
        nothing: family == Family::BitLocker
            && bitlocker::info(&*target.device).is_ok_and(|info| info.open_to_all),
    })
}

/// The credentials of the volume in `args` with these requirements; prompts for credentials that the arguments do not
/// provide.
pub fn credentials(
    args: &UnlockArgs,
    asks: Asks,
    stop: &AtomicBool,
) -> anyhow::Result<cryptbench_volume::Credentials> {
    let whose = args.volume.display().to_string();
    let source = SecretSource { needless: asks.nothing, whole: asks.recovery, ..args.into() };
    if !asks.recovery {
        refuse_recovery(&source)?;
    }
    secrets::read(&source, &whose, asks.luks, Prompt::Once, stop)
}

fn refuse_recovery(source: &SecretSource) -> anyhow::Result<()> {
    if source.recovery_password_file.is_some() || source.startup_key.is_some() {
        let reason = "recovery passwords are supported only for BitLocker and FileVault, startup keys only for \
            BitLocker; this volume has another format";
        bail!(VolumeError::Invalid(reason.to_owned()));
    }
    Ok(())
}

/// Opens the volume in `args`, with a detached header if one is specified.
pub fn unlock(
    args: &UnlockArgs,
    device: Arc<dyn BlockDevice>,
    header: Option<&dyn BlockDevice>,
    credentials: &cryptbench_volume::Credentials,
    options: &OpenOptions<'_>,
) -> anyhow::Result<Volume> {
    cost::tell(args, header.unwrap_or(&*device), credentials.pim, options.effort);
    if let Some(header) = header {
        let volume = if args.system {
            unlock_partition(args, header, device, credentials, options)?
        } else {
            unlock_detached(args, header, device, credentials, options)?
        };
        warn(args, &volume);
        return Ok(volume);
    }
    let prf = args.prf.as_deref().map(Function::find).transpose()?;
    let options = OpenOptions {
        format: args.format.as_deref(),
        hidden: args.hidden,
        backup_header: args.backup_header,
        prf: prf.map(Function::name),
        system: args.system,
        keyslot: args.key_slot,
        ..*options
    };
    let volume = cryptbench_volume::open(device, credentials, &options)
        .with_context(|| args.volume.display().to_string())?;
    warn(args, &volume);
    Ok(volume)
}

fn warn(args: &UnlockArgs, volume: &Volume) {
    for warning in volume.info().warnings() {
        say::message(&format!("warning: {}: {warning}", args.volume.display()));
    }
}

/// Opens a partition with system encryption, whose header is on its disk.
fn unlock_partition(
    args: &UnlockArgs,
    header: &dyn BlockDevice,
    device: Arc<dyn BlockDevice>,
    credentials: &cryptbench_volume::Credentials,
    options: &OpenOptions<'_>,
) -> anyhow::Result<Volume> {
    if args.hidden || args.backup_header || args.key_slot.is_some() || args.format.is_some() {
        let reason = "--system with --header cannot be combined with --hidden, --backup-header, --key-slot or --format";
        bail!(VolumeError::Invalid(reason.to_owned()));
    }
    let prf = args.prf.as_deref().map(Function::find).transpose()?;
    let options = OpenOptions { prf: prf.map(Function::name), ..*options };
    tcrypt::open_partition(header, device, credentials, &options)
        .with_context(|| shown(&args.volume))
}

/// Opens a LUKS volume with a detached header.
fn unlock_detached(
    args: &UnlockArgs,
    header: &dyn BlockDevice,
    device: Arc<dyn BlockDevice>,
    credentials: &cryptbench_volume::Credentials,
    options: &OpenOptions<'_>,
) -> anyhow::Result<Volume> {
    let other = args.format.as_deref().is_some_and(|name| !name.starts_with("luks"));
    if other || args.hidden || args.system || args.prf.is_some() {
        let reason = "--header without --system is only for LUKS; it cannot be combined with --hidden, --prf or another --format";
        bail!(VolumeError::Invalid(reason.to_owned()));
    }
    let options = LuksOptions {
        access: options.access,
        keyslot: args.key_slot,
        secondary: args.backup_header,
        resources: Resources::new(options.tier, options.effort),
    };
    luks::open_detached(header, device, credentials, &options).with_context(|| {
        let path = args.header.as_deref().unwrap_or(Path::new("")).display();
        format!("{} with the header {path}", args.volume.display())
    })
}

/// Opens the file or device at `path` for overwriting, if `destroy` specifies the same file or device. `None` if
/// nothing exists there.
///
/// The file is opened only once, before any prompt, so that exactly the file that the user specified twice is
/// overwritten.
pub fn to_destroy(path: &Path, destroy: Option<&Path>) -> anyhow::Result<Option<File>> {
    let fail = |e: io::Error| Refusal::target(path, &e.to_string());
    match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound && destroy.is_some() => {
            return Err(Refusal::target(path, "no such file or device to destroy").into());
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(fail(e).into()),
        Ok(_) => {}
    }
    let Some(named) = destroy else {
        let reason = "already exists, and all data on it would be lost; to overwrite it, repeat its path with --destroy";
        bail!(Refusal::target(path, reason));
    };
    let named = FileIdentity::reached_by(named)
        .with_context(|| "cannot find the path given with --destroy".to_owned())?;
    if FileIdentity::reached_by(path).map_err(fail)? != named {
        bail!(Refusal::target(path, "the path given with --destroy is a different file or device"));
    }
    let file = open_file(path, Access::ReadWrite)?;
    if FileIdentity::of(&file).map_err(fail)? != named {
        bail!(Refusal::target(path, "it was replaced during the check; try again"));
    }
    check_unused(path, &file, Access::ReadWrite)?;
    Ok(Some(file))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use rustix::fs::{CWD, FlockOperation, RenameFlags, renameat_with};

    use super::*;

    #[test]
    fn what_is_locked_is_what_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        // Two files with separate names, whose other names are exchanged repeatedly.
        for (name, byte) in [("one", 1), ("two", 2)] {
            fs::write(path(name), [byte; 512]).unwrap();
        }
        fs::hard_link(path("one"), path("v")).unwrap();
        fs::hard_link(path("two"), path("w")).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let _ = renameat_with(CWD, path("v"), CWD, path("w"), RenameFlags::EXCHANGE);
                }
            });
            let _ends = Ends(&done);
            let mut seen = [0; 2];
            while seen.iter().any(|times| *times < 1000) {
                // A refused file was swapped while it was being opened.
                let Ok(file) = open_for_child(&path("v"), Access::ReadWrite) else { continue };
                let target = take(&path("v"), file, Access::ReadWrite, true).unwrap();
                let mut sector = [0; 512];
                target.device.read_at(0, &mut sector).unwrap();
                let used = usize::from(sector[0]) - 1;
                let file = |i: usize| File::open(path(["one", "two"][i])).unwrap();
                let locked = |file: &File| {
                    rustix::fs::flock(file, FlockOperation::NonBlockingLockShared).is_err()
                };
                assert!(locked(&file(used)));
                // A child that another test starts holds the earlier lock until it executes its
                // program, so this waits for the lock.
                file(1 - used).lock_shared().unwrap();
                seen[used] += 1;
            }
        });
    }

    /// Stops the other thread, however the test ends.
    struct Ends<'a>(&'a AtomicBool);

    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_was_named_twice_is_what_is_destroyed() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        assert!(to_destroy(&path("v"), None).unwrap().is_none());
        for (name, byte) in [("v", 1), ("other", 2)] {
            fs::write(path(name), [byte; 512]).unwrap();
        }
        let said =
            [("v", None), ("v", Some("other")), ("no", Some("no"))].map(|(volume, again)| {
                let again = again.map(path);
                to_destroy(&path(volume), again.as_deref()).err().unwrap().to_string()
            });
        let said = said.join("\n").replace(&dir.path().display().to_string(), "DIR");
        insta::assert_snapshot!(said, @"
            DIR/v: already exists, and all data on it would be lost; to overwrite it, repeat its path with --destroy
            DIR/v: the path given with --destroy is a different file or device
            DIR/no: no such file or device to destroy
            ");
        // Another name of the same file.
        std::os::unix::fs::symlink("v", path("link")).unwrap();
        let file = to_destroy(&path("v"), Some(&path("link"))).unwrap().unwrap();
        let target = take(&path("v"), file, Access::ReadWrite, false).unwrap();
        fs::rename(path("other"), path("v")).unwrap();
        target.device.write_at(0, &[3; 512]).unwrap();
        assert_eq!(fs::read(path("v")).unwrap(), [2; 512]);
    }
}
