//! Files that contain an arm's own disk and are filled with random data before use.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cryptbench_blockdev::{AlignedBuf, IoMode};
use cryptbench_cipher::{Layout, SectorCipher, Tier};
use cryptbench_os::Directory;

use super::scratch_file::{allocate, go_direct};
use super::{ResourceStack, ScratchFile};
use crate::machine::Machine;
use crate::provision::secret::random_key;
use crate::{ArmContext, SystemError};

/// A container and its I/O mode.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub(crate) path: PathBuf,
    pub(crate) mode: IoMode,
    /// Size in bytes.
    pub(crate) len: u64,
}

/// Creates a file of `len` bytes for a file system, or uses the file or partition reserved for `path`, and fills
/// it with random data unless the context requests a stop.
///
/// Workload data is not used for filling, because its marker would look like plaintext in areas that the file system
/// never writes.
pub(crate) fn create(
    stack: &mut ResourceStack,
    path: &Path,
    len: u64,
    context: &ArmContext<'_>,
) -> Result<Container, SystemError> {
    if let Some((partition, claimed)) = context.reserve.given(path) {
        return in_partition(partition, claimed, len, context.stop);
    }
    let file = match context.reserve.take(path) {
        Some(made) => {
            let file = Arc::clone(&stack.adopt(made).file);
            file.set_len(len).map_err(SystemError::io("truncate", path))?;
            file
        }
        None => {
            let what = ScratchFile { path: path.to_owned() };
            Arc::clone(&stack.create(what.clone(), || what.make())?.file)
        }
    };
    filled(&file, path, len, context.stop)
}

/// Like [`create`], but in a partition, which is filled to its end, because data stored there before is not random.
fn in_partition(
    path: PathBuf,
    claimed: File,
    len: u64,
    stop: &AtomicBool,
) -> Result<Container, SystemError> {
    let (file, mode) = go_direct(&Arc::new(claimed));
    let there = (&*file).seek(SeekFrom::End(0));
    let there = there.map_err(SystemError::io("get the size of", &path))?;
    if there < len {
        let problem = format!("has {there} bytes, but {len} are needed");
        return Err(SystemError::Target { path, problem });
    }
    fill_at_random(&file, there, &path, stop)?;
    Ok(Container { path, mode, len })
}

/// Like [`create`], but in a directory that is removed with all its contents.
pub(crate) fn make(path: &Path, len: u64, stop: &AtomicBool) -> Result<Container, SystemError> {
    let made =
        Directory::of(path).and_then(|(directory, name)| directory.create_file(&name, 0o600));
    filled(&Arc::new(made.map_err(SystemError::io("create", path))?), path, len, stop)
}

fn filled(
    file: &Arc<File>,
    path: &Path,
    len: u64,
    stop: &AtomicBool,
) -> Result<Container, SystemError> {
    // A reserved file is already allocated completely.
    allocate(file, 0..len, path)?;
    let (file, mode) = go_direct(file);
    fill_at_random(&file, len, path, stop)?;
    Ok(Container { path: path.to_owned(), mode, len })
}

/// Number of bytes per write, which is also the number of bytes per tweak.
const BLOCK: usize = 1 << 20;
const UNIT: usize = 4096;

/// After a write that takes longer, smaller writes of at least this many bytes are used.
const PATIENCE: Duration = Duration::from_millis(300);
const LEAST_BLOCK: usize = 64 << 10;

/// AES-256-XTS with a key that is generated here and then discarded. From zeros it produces bytes that are
/// indistinguishable from random ones, many times faster than the kernel's generator.
fn keystream() -> Result<Box<dyn SectorCipher>, SystemError> {
    let cipher = cryptbench_cipher::find("aes-256-xts")?;
    let key = random_key(cipher.key_bytes);
    let layout = Layout { data_unit: UNIT, tweak_step: 1 };
    let tier = cryptbench_cipher::tier().unwrap_or(Tier::Soft);
    Ok(cipher.with_key(&key, layout, tier)?)
}

/// Fills the file at `path`, which may be open for direct I/O, with non-repeating random data.
fn fill_at_random(
    file: &File,
    len: u64,
    path: &Path,
    stop: &AtomicBool,
) -> Result<(), SystemError> {
    if !Machine::this().fills {
        return Ok(());
    }
    let failed = || SystemError::io("fill", path);
    let (zeros, mut block) = (AlignedBuf::zeroed(BLOCK), AlignedBuf::zeroed(BLOCK));
    let keystream = keystream()?;
    let (mut at, mut at_once) = (0, BLOCK);
    while at < len {
        if stop.load(Ordering::Relaxed) {
            return Err(SystemError::Stopped);
        }
        let part = block.len().min(at_once).min((len - at) as usize);
        keystream.encrypt(at / UNIT as u64, &zeros[..part], &mut block[..part]);
        let began = Instant::now();
        file.write_all_at(&block[..part], at).map_err(failed())?;
        // A slow disk needs a second for a block, during which the run could not be stopped.
        if began.elapsed() > PATIENCE {
            at_once = (at_once / 2).max(LEAST_BLOCK);
        }
        at += part as u64;
    }
    file.sync_data().map_err(failed())
}
