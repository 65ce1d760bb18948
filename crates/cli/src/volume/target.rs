//! The file or device that holds a volume: opened, locked, and never destroyed by mistake.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode};
use cryptbench_kdf::Function;
use cryptbench_volume::detect::{Kind, detect};
use cryptbench_volume::{Access, OpenOptions, Volume, VolumeError, formats};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::args::UnlockArgs;
use super::secrets::{self, Prompt};
use crate::exit::Refusal;

/// A device, and the lock that keeps a second writer of ours away from it.
pub struct Target {
    pub device: Arc<dyn BlockDevice>,
    _lock: File,
    /// A block device opened exclusively: the kernel then gives it to nobody else.
    _claim: Option<File>,
}

/// How long another process may hold the lock: udev takes it for a moment when a writer closes a disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// Opens the file or device at `path`, past the page cache where `direct` asks for it and it can be done.
pub fn open(path: &Path, access: Access, direct: bool) -> anyhow::Result<Target> {
    let read_only = access == Access::ReadOnly;
    let fail = |e: io::Error| Refusal::target(path, &e.to_string());
    // Not blocking: opening a FIFO would wait for its other end.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let lock = File::options().read(true).write(!read_only).custom_flags(flags).open(path);
    let lock = lock.map_err(fail)?;
    lock_within(PATIENCE, path, &lock, access)?;
    let kind = lock.metadata().map_err(fail)?.file_type();
    let mut claim = None;
    if !read_only && kind.is_block_device() {
        claim = Some(claim_device(path, &lock)?);
    } else if !read_only && let Some(device) = attached(path) {
        let reason = format!("{} is attached to it", device.display());
        return Err(Refusal::target(path, &reason).into());
    }
    let mode = if direct { IoMode::Direct } else { IoMode::Buffered };
    let device = match FileDevice::open(path, mode, read_only) {
        // Volumes have sectors of 512 bytes as a rule: a disk with larger ones goes through the cache.
        Ok(device) if device.sector() <= 512 => Ok(device),
        _ => FileDevice::open(path, IoMode::Buffered, read_only),
    };
    Ok(Target { device: Arc::new(device.map_err(fail)?), _lock: lock, _claim: claim })
}

fn lock_within(patience: Duration, path: &Path, file: &File, access: Access) -> anyhow::Result<()> {
    let how = match access {
        Access::ReadOnly => FlockOperation::NonBlockingLockShared,
        Access::ReadWrite => FlockOperation::NonBlockingLockExclusive,
    };
    let until = Instant::now() + patience;
    loop {
        match rustix::fs::flock(file, how) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(50));
            }
            Err(Errno::WOULDBLOCK) => {
                let reason = "it is in use by another cryptbench; unmount it first";
                return Err(Refusal::target(path, reason).into());
            }
            Err(e) => {
                eprintln!(
                    "cryptbench: {} cannot be locked ({e}); make sure that nobody else uses it",
                    path.display()
                );
                return Ok(());
            }
        }
    }
}

/// The loop device that somebody put on a file, which makes them its user.
fn attached(path: &Path) -> Option<PathBuf> {
    cryptbench_system::provision::loopdev::of_file(&fs::canonicalize(path).ok()?, None)
}

/// Refuses a block device that the system uses: mounted, swapped to, or held by another device. The
/// result keeps others from it while it is open.
fn claim_device(path: &Path, device: &File) -> anyhow::Result<File> {
    let number = device.metadata()?.rdev();
    let mounts = cryptbench_system::provision::mountinfo::mounts().unwrap_or_default();
    if let Some(entry) = mounts.iter().find(|entry| entry.device == number) {
        let reason = format!("it is mounted at {}", entry.mountpoint.display());
        return Err(Refusal::target(path, &reason).into());
    }
    // O_EXCL on a block device fails if anything in the kernel has claimed it, a partition of it included.
    let exclusive = rustix::fs::OFlags::EXCL.bits() as i32;
    match File::options().read(true).custom_flags(exclusive).open(path) {
        Ok(claim) => Ok(claim),
        Err(e) if e.kind() == io::ErrorKind::ResourceBusy => {
            let reason = "the system uses it: mounted, swap, or part of another device";
            Err(Refusal::target(path, reason).into())
        }
        Err(e) => Err(Refusal::target(path, &e.to_string()).into()),
    }
}

/// Whether the volume is LUKS, by what the user said or by its header.
pub fn is_luks(target: &Target, format: Option<&str>) -> anyhow::Result<bool> {
    Ok(match format {
        Some(name) if !formats().any(|known| known == name) => {
            let known: Vec<_> = formats().collect();
            bail!(VolumeError::Invalid(format!(
                "unknown volume format `{name}` (known: {})",
                known.join(", ")
            )))
        }
        Some(name) => name.starts_with("luks"),
        None => matches!(detect(&*target.device)?.kind, Kind::Luks { .. }),
    })
}

/// Opens the volume that `args` names, asking for what unlocks it.
pub fn unlock(
    args: &UnlockArgs,
    target: &Target,
    options: &OpenOptions<'_>,
) -> anyhow::Result<Volume> {
    let luks = is_luks(target, args.format.as_deref())?;
    let whose = args.volume.display().to_string();
    let credentials = secrets::read(&(&args.secret).into(), &whose, luks, Prompt::Once)?;
    unlock_with(args, target, &credentials, options)
}

/// The same with credentials that are known already.
pub fn unlock_with(
    args: &UnlockArgs,
    target: &Target,
    credentials: &cryptbench_volume::Credentials,
    options: &OpenOptions<'_>,
) -> anyhow::Result<Volume> {
    let prf = args.prf.as_deref().map(Function::find).transpose()?;
    let options = OpenOptions {
        format: args.format.as_deref(),
        hidden: args.hidden,
        backup_header: args.backup_header,
        prf: prf.map(Function::name),
        system: args.system,
        ..*options
    };
    cryptbench_volume::open(Arc::clone(&target.device), credentials, &options)
        .with_context(|| args.volume.display().to_string())
}

/// Makes sure that creating a volume at `path` destroys nothing that the user did not name twice. Gives
/// whether there is something at `path` already.
pub fn may_create(path: &Path, destroy: Option<&Path>) -> anyhow::Result<bool> {
    let Ok(found) = fs::metadata(path) else {
        if destroy.is_some() {
            return Err(Refusal::target(path, "there is nothing to destroy").into());
        }
        return Ok(false);
    };
    let same = destroy.map(fs::metadata).transpose();
    let same = same.with_context(|| "--destroy names what is not there".to_owned())?;
    match same {
        Some(other) if (other.dev(), other.ino()) == (found.dev(), found.ino()) => Ok(true),
        Some(_) => bail!(Refusal::target(path, "--destroy names something else")),
        None => {
            let reason = "it exists, and all on it would be lost; if that is meant, name it again with --destroy";
            bail!(Refusal::target(path, reason))
        }
    }
}
