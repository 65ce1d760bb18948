//! Files that are made where none was: the scratch file, which is one stretch of the disk that all arms share, and what
//! programs mount upon.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::{Extent, IoMode, IoTarget};
use cryptbench_os::{Directory, FileType};
use rustix::fs::{FallocateFlags, OFlags, fallocate, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::ours::{held, is_noted, is_this_users};
use super::stack::Made;
use super::{Identity, Journal, NOT_OURS, Recovered, Resource, removed};
use crate::SystemError;

/// What the kernel says of a file whose server in user space is gone, the last two while it clears up.
const SERVER_GONE: [Errno; 3] = [Errno::NOTCONN, Errno::CONNABORTED, Errno::CANCELED];

/// A file created where none was (exclusively), empty until its identity is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScratchFile {
    /// Absolute path.
    pub path: PathBuf,
}

/// The open file.
pub(crate) struct Held {
    pub(crate) file: Arc<File>,
    /// Held open: it is removed from where it was made, wherever its path leads by then.
    directory: Directory,
    name: OsString,
}

impl ScratchFile {
    /// Makes it, empty and for this user alone.
    pub(crate) fn make(&self) -> Result<(Held, Option<Identity>), SystemError> {
        let failed = || SystemError::io("create", &self.path);
        let (directory, name) = Directory::of(&self.path).map_err(failed())?;
        let file = directory.create_file(&name, 0o600).map_err(failed())?;
        let identity = Identity::of(&file).map_err(|e| {
            let _ = directory.remove_file(&name);
            SystemError::io("inspect", &self.path)(e)
        })?;
        Ok((Held { file: Arc::new(file), directory, name }, Some(identity)))
    }
}

impl Resource for ScratchFile {
    type Live = Held;
    const EXCLUSIVE: bool = true;

    fn path(&self) -> &Path {
        &self.path
    }

    fn destroy(&self, live: &mut Held, identity: Option<Identity>) -> Result<(), SystemError> {
        // Only the very file that was created: somebody may have replaced it meanwhile.
        match live.directory.entry(&live.name) {
            Ok(Some(found)) if identity.is_some_and(|id| id.is(found.identity.into())) => {
                match live.directory.remove_file(&live.name) {
                    Err(e) if server_is_gone(&e) => Ok(()),
                    other => other.map_err(SystemError::io("remove", &self.path)),
                }
            }
            Ok(_) => Ok(()),
            Err(e) if server_is_gone(&e) => Ok(()),
            Err(e) => Err(SystemError::io("inspect", &self.path)(e)),
        }
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        let (directory, name, found) = held(&self.path)?;
        let ours = match identity {
            Some(id) => is_noted(&self.path, &found, id),
            // Killed between creation and the note of it: our file has no byte in it yet.
            None => found.len == 0 && is_this_users(&found),
        };
        if found.kind != FileType::RegularFile || !ours {
            return NOT_OURS;
        }
        removed(directory.remove_file(&name))
    }
}

/// Whether whoever served the file's file system is gone: what that lies in is removed by who made it.
fn server_is_gone(e: &io::Error) -> bool {
    SERVER_GONE.iter().any(|gone| e.raw_os_error() == Some(gone.raw_os_error()))
}

/// Takes `len` bytes of the device for an empty file, and sets `O_DIRECT` on it; a file system without it refuses.
pub(super) fn allocate(file: &File, len: u64, path: &Path) -> Result<IoMode, SystemError> {
    match fallocate(file, FallocateFlags::empty(), 0, len) {
        Ok(()) => {}
        // Prefilling writes every byte anyway; allocation only finds a full disk earlier.
        Err(Errno::OPNOTSUPP) => file.set_len(len).map_err(SystemError::io("extend", path))?,
        Err(e) => return Err(SystemError::io("allocate", path)(e.into())),
    }
    let flags = fcntl_getfl(file).map_err(|e| SystemError::io("inspect", path)(e.into()))?;
    Ok(match fcntl_setfl(file, flags | OFlags::DIRECT) {
        Ok(()) => IoMode::Direct,
        Err(_) => IoMode::Buffered,
    })
}

/// An allocated file that is removed when it is dropped, and by cleanup when it is not.
pub struct Scratch {
    /// There until it is removed.
    made: Option<Made<ScratchFile>>,
    file: Arc<File>,
    path: PathBuf,
    len: u64,
    mode: IoMode,
}

impl Scratch {
    /// Creates `path`, which must not exist, with `len` bytes allocated on the device.
    ///
    /// Direct I/O where the file system has it, the page cache otherwise (see [`mode`](Self::mode)).
    ///
    /// # Errors
    /// [`SystemError::Io`]; nothing is left.
    pub fn create(path: &Path, len: u64, journal: &Journal) -> Result<Self, SystemError> {
        let what = ScratchFile { path: path.to_owned() };
        let made = Made::make(journal, what.clone(), || what.make())?;
        let file = Arc::clone(&made.live.file);
        // From here on `Drop` removes the file, whatever fails.
        let mode = IoMode::Buffered;
        let mut scratch = Self { made: Some(made), file, path: path.to_owned(), len, mode };
        scratch.mode = allocate(&scratch.file, len, path)?;
        Ok(scratch)
    }

    /// Gives up direct I/O, for tests and for users who ask for the page cache.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn go_buffered(&mut self) -> Result<(), SystemError> {
        let set = || {
            let flags = fcntl_getfl(&*self.file)?;
            fcntl_setfl(&*self.file, flags - OFlags::DIRECT)
        };
        set().map_err(|e| SystemError::io("change the mode of", &self.path)(e.into()))?;
        self.mode = IoMode::Buffered;
        Ok(())
    }

    /// The file as a plain I/O target.
    pub fn io_target(&self) -> IoTarget {
        IoTarget {
            file: Arc::clone(&self.file),
            extent: Extent { offset: 0, len: self.len },
            mode: self.mode,
            transform: None,
        }
    }

    /// Whether the page cache is bypassed.
    pub fn mode(&self) -> IoMode {
        self.mode
    }

    /// Bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it holds no byte at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Cuts the file to `len` bytes, for devices too slow to fill it.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn shrink(&mut self, len: u64) -> Result<(), SystemError> {
        self.file.set_len(len).map_err(SystemError::io("shrink", &self.path))?;
        self.len = len;
        Ok(())
    }

    /// Lets go of the file and leaves it where it is. It must lie in something that is removed as a whole by who made
    /// that: from here on, nothing else removes it.
    pub(crate) fn leave(mut self) -> Result<Left, SystemError> {
        self.made.take().map_or(Ok(()), Made::leave)?;
        Ok(Left { len: self.len, mode: self.mode })
    }

    /// Removes the file and says whether that went well. What fails stays in the journal, and cleanup tries again.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn remove(mut self) -> Result<(), SystemError> {
        self.made.take().map_or(Ok(()), |mut made| made.destroy())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What fails here stays in the journal, and cleanup tries again.
        let _ = self.made.take().map(|mut made| made.destroy());
    }
}

/// A scratch file that was left where it is, while what shows it is taken down.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    len: u64,
    mode: IoMode,
}

impl Left {
    /// Opens the file, which is now reached at `path`.
    ///
    /// # Errors
    /// [`SystemError::Lost`] if it is not there or shorter; else [`SystemError::Io`].
    pub(crate) fn open(self, path: &Path) -> Result<IoTarget, SystemError> {
        let file =
            OpenOptions::new().read(true).write(true).open(path).map_err(|e| match e.kind() {
                io::ErrorKind::NotFound => {
                    lost(path, "the file that was written is not there".to_owned())
                }
                _ => SystemError::io("open", path)(e),
            })?;
        if self.mode == IoMode::Direct {
            // Afterwards, as it was set: some that serve files refuse to open them so.
            fcntl_getfl(&file)
                .and_then(|flags| fcntl_setfl(&file, flags | OFlags::DIRECT))
                .map_err(|e| SystemError::io("change the mode of", path)(e.into()))?;
        }
        let there = file.metadata().map_err(SystemError::io("inspect", path))?.len();
        if there < self.len {
            return Err(lost(path, format!("{there} bytes are there where {} were", self.len)));
        }
        Ok(IoTarget {
            file: Arc::new(file),
            extent: Extent { offset: 0, len: self.len },
            mode: self.mode,
            transform: None,
        })
    }
}

fn lost(path: &Path, problem: String) -> SystemError {
    SystemError::Lost { path: path.to_owned(), problem }
}
