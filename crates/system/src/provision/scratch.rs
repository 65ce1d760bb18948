//! The scratch file: one stretch of the disk that all arms share.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::{Extent, IoMode, Surface};
use cryptbench_os::Directory;
use rustix::fs::{FallocateFlags, OFlags, fallocate, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use super::ledger::{Act, Identity, Ledger};
use crate::SystemError;

/// What the kernel says of a file whose server in user space is gone, the last two while it clears up.
const SERVER_GONE: [Errno; 3] = [Errno::NOTCONN, Errno::CONNABORTED, Errno::CANCELED];

/// An allocated file that is removed when it is dropped, and by cleanup when it is not.
pub struct Scratch {
    file: Arc<File>,
    /// Held open: it is removed from where it was made, wherever its path leads by then.
    directory: Directory,
    name: OsString,
    path: PathBuf,
    len: u64,
    mode: IoMode,
    identity: Identity,
    ledger: Ledger,
    act: u32,
    removed: bool,
}

impl Scratch {
    /// Creates `path`, which must not exist, with `len` bytes allocated on the device.
    ///
    /// Direct I/O where the file system has it, the page cache otherwise (see [`mode`](Self::mode)).
    pub fn create(path: &Path, len: u64, mut ledger: Ledger) -> Result<Self, SystemError> {
        let failed = || SystemError::io("create", path);
        let (directory, name) = Directory::of(path).map_err(failed())?;
        let (act, file) = ledger.attempt(&Act::ScratchFile { path: path.to_owned() }, || {
            directory.create_file(&name, 0o600).map_err(failed())
        })?;
        let identity = Identity::of(&file).map_err(SystemError::io("inspect", path))?;
        // From here on `Drop` removes the file, whatever fails.
        let mut scratch = Self {
            file: Arc::new(file),
            directory,
            name,
            path: path.to_owned(),
            len,
            mode: IoMode::Buffered,
            identity,
            ledger,
            act,
            removed: false,
        };
        scratch.ledger.made(act, identity)?;
        scratch.allocate()?;
        scratch.go_direct()?;
        Ok(scratch)
    }

    fn allocate(&self) -> Result<(), SystemError> {
        match fallocate(&*self.file, FallocateFlags::empty(), 0, self.len) {
            Ok(()) => Ok(()),
            // Prefilling writes every byte anyway; allocation only finds a full disk earlier.
            Err(Errno::OPNOTSUPP) => {
                self.file.set_len(self.len).map_err(SystemError::io("extend", &self.path))
            }
            Err(e) => Err(SystemError::io("allocate", &self.path)(e.into())),
        }
    }

    /// Sets `O_DIRECT` on the open file; a file system without it refuses.
    fn go_direct(&mut self) -> Result<(), SystemError> {
        let flags = fcntl_getfl(&*self.file)
            .map_err(|e| SystemError::io("inspect", &self.path)(e.into()))?;
        self.mode = match fcntl_setfl(&*self.file, flags | OFlags::DIRECT) {
            Ok(()) => IoMode::Direct,
            Err(_) => IoMode::Buffered,
        };
        Ok(())
    }

    /// Gives up direct I/O, for tests and for users who ask for the page cache.
    pub fn go_buffered(&mut self) -> Result<(), SystemError> {
        let set = || {
            let flags = fcntl_getfl(&*self.file)?;
            fcntl_setfl(&*self.file, flags - OFlags::DIRECT)
        };
        set().map_err(|e| SystemError::io("change the mode of", &self.path)(e.into()))?;
        self.mode = IoMode::Buffered;
        Ok(())
    }

    /// The file as a plain surface.
    pub fn surface(&self) -> Surface {
        Surface {
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
    pub fn shrink(&mut self, len: u64) -> Result<(), SystemError> {
        self.file.set_len(len).map_err(SystemError::io("shrink", &self.path))?;
        self.len = len;
        Ok(())
    }

    /// Lets go of the file and leaves it where it is. It must lie in something that is removed as a whole by who made
    /// that: from here on, nothing else removes it.
    pub(crate) fn leave(mut self) -> Result<Left, SystemError> {
        self.removed = true;
        self.ledger.undone(self.act)?;
        Ok(Left { len: self.len, mode: self.mode })
    }

    /// Removes the file and says whether that went well.
    pub fn remove(mut self) -> Result<(), SystemError> {
        self.take_down()
    }

    pub(super) fn take_down(&mut self) -> Result<(), SystemError> {
        if std::mem::replace(&mut self.removed, true) {
            return Ok(());
        }
        // Only the very file that was created: somebody may have replaced it meanwhile.
        match self.directory.entry(&self.name) {
            Ok(Some(found)) if self.identity.is(found.identity.into()) => {
                match self.directory.remove_file(&self.name) {
                    Err(e) if server_is_gone(&e) => {}
                    other => other.map_err(SystemError::io("remove", &self.path))?,
                }
            }
            Ok(_) => {}
            Err(e) if server_is_gone(&e) => {}
            Err(e) => return Err(SystemError::io("inspect", &self.path)(e)),
        }
        self.ledger.undone(self.act)
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
    pub(crate) fn open(self, path: &Path) -> Result<Surface, SystemError> {
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
        Ok(Surface {
            file: Arc::new(file),
            extent: Extent { offset: 0, len: self.len },
            mode: self.mode,
            transform: None,
        })
    }
}

/// Whether whoever served the file's file system is gone: what that lies in is removed by who made it.
fn server_is_gone(e: &io::Error) -> bool {
    SERVER_GONE.iter().any(|gone| e.raw_os_error() == Some(gone.raw_os_error()))
}

fn lost(path: &Path, problem: String) -> SystemError {
    SystemError::Lost { path: path.to_owned(), problem }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What fails here stays in the ledger, and cleanup tries again.
        let _ = self.take_down();
    }
}
