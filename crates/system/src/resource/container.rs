//! Files that hold a disk of an arm's own, filled at random before they are used.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_blockdev::{AlignedBuf, IoMode};

use super::scratch_file::allocate;
use super::{ResourceStack, ScratchFile};
use crate::SystemError;
use crate::machine::Machine;

/// A container, and whether it is used past the page cache.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub(crate) path: PathBuf,
    pub(crate) mode: IoMode,
    /// Bytes.
    pub(crate) len: u64,
}

/// A file of `len` bytes for a file system, filled at random until `stop` is set.
///
/// Not with what workloads write: their marker, where the file system never wrote, would pass for plaintext.
///
/// # Errors
/// [`SystemError::Stopped`], [`SystemError::Io`].
pub(crate) fn create(
    stack: &mut ResourceStack,
    path: &Path,
    len: u64,
    stop: &AtomicBool,
) -> Result<Container, SystemError> {
    let what = ScratchFile { path: path.to_owned() };
    let file = Arc::clone(&stack.create(what.clone(), || what.make())?.file);
    let mode = allocate(&file, len, path)?;
    fill_at_random(&file, len, path, stop)?;
    Ok(Container { path: path.to_owned(), mode, len })
}

/// Fills the file at `path`, which may be open for direct I/O, with random bytes that repeat nowhere.
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
    let mut block = AlignedBuf::zeroed(1 << 20);
    let mut at = 0;
    while at < len {
        if stop.load(Ordering::Relaxed) {
            return Err(SystemError::Stopped);
        }
        getrandom::fill(&mut block).map_err(|e| failed()(io::Error::other(e.to_string())))?;
        let part = block.len().min((len - at) as usize);
        file.write_all_at(&block[..part], at).map_err(failed())?;
        at += part as u64;
    }
    file.sync_data().map_err(failed())
}
