//! Newly created files: the scratch file, which is one range of the disk that all arms share, and the files on
//! which programs mount.
#![expect(clippy::disallowed_methods, reason = "files of a run, and of /proc and /sys; for now")]

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::{Extent, IoMode, IoTarget};
use cryptbench_os::files::{allocate_part, server_is_gone, with_direct};
use cryptbench_os::machine::possible_cpus;
use cryptbench_os::{Details, Directory, FileType};
use serde::{Deserialize, Serialize};

use super::ours::{held, is_noted, is_this_users};
use super::stack::Made;
use super::{Identity, Journal, NOT_OURS, Recovered, Resource, removed};
use crate::SystemError;

/// A file that did not exist before (created exclusively). It stays empty until its identity is
/// recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScratchFile {
    /// Absolute path.
    pub path: PathBuf,
}

/// The open file.
pub(crate) struct Held {
    pub(crate) file: Arc<File>,
    /// Held open, so that the file is removed from its original directory, even if the path now leads
    /// elsewhere.
    directory: Directory,
    name: OsString,
}

impl ScratchFile {
    /// Creates the file, empty and accessible only to this user.
    pub(crate) fn make(&self) -> Result<(Held, Option<Identity>), SystemError> {
        let failed = || SystemError::io("create", &self.path);
        let (directory, name) = Directory::of(&self.path).map_err(failed())?;
        let file = directory.create_scratch(&name).map_err(failed())?;
        let identity = Identity::of(&file).map_err(|e| {
            let _ = directory.remove_file(&name);
            SystemError::io("inspect", &self.path)(e)
        })?;
        Ok((Held { file: Arc::new(file), directory, name }, Some(identity)))
    }

    /// Creates the file so that a file system with several allocation goals uses the same goal as for `like`.
    ///
    /// Since Linux 6.17, ext4 has one goal per CPU, which it chooses by the inode number
    /// (`ext4_mb_regular_allocator`).
    pub(super) fn make_like(&self, like: &File) -> Result<(Held, Option<Identity>), SystemError> {
        let inode = |file: &File| file.metadata().map(|found| Details::of(&found).inode);
        let wanted = inode(like).map_err(SystemError::io("inspect", &self.path))?;
        let places = u64::from(possible_cpus());
        // These files have no name but stay open, so that their inodes are not reused in the meantime.
        let mut passed_over = Vec::new();
        loop {
            let made = self.make()?;
            let found = inode(&made.0.file).unwrap_or(wanted);
            if found % places == wanted % places || passed_over.len() as u64 > places {
                return Ok(made);
            }
            let (Held { directory, name, file }, _) = made;
            directory.remove_file(&name).map_err(SystemError::io("remove", &self.path))?;
            passed_over.push(file);
        }
    }
}

impl Resource for ScratchFile {
    type Live = Held;
    const EXCLUSIVE: bool = true;

    fn destroy(&self, live: &mut Held, identity: Option<Identity>) -> Result<(), SystemError> {
        // Removes the file only if it is the one that was created: it may have been replaced in the meantime.
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
            // The process was killed between creation and recording, so our file is still empty.
            None => found.len == 0 && is_this_users(&found),
        };
        if found.kind != FileType::RegularFile || !ours {
            return NOT_OURS;
        }
        removed(directory.remove_file(&name))
    }
}

/// Allocates the range `part` of a file. Prefilling writes every byte anyway; allocation only detects a full
/// disk earlier.
pub(super) fn allocate(file: &File, part: Range<u64>, path: &Path) -> Result<(), SystemError> {
    allocate_part(file, part).map_err(SystemError::io("allocate", path))
}

/// The file with direct I/O. If the file system does not support that, the file is returned unchanged.
pub(super) fn go_direct(file: &Arc<File>) -> (Arc<File>, IoMode) {
    match with_direct(file, true) {
        Ok(direct) => (direct, IoMode::Direct),
        Err(_) => (Arc::clone(file), IoMode::Buffered),
    }
}

/// An allocated file that is removed when it is dropped, or otherwise by cleanup.
pub struct Scratch {
    /// `None` once it has been removed.
    made: Option<Made<ScratchFile>>,
    file: Arc<File>,
    path: PathBuf,
    len: u64,
    mode: IoMode,
}

impl Scratch {
    /// Creates `path`, which must not exist, with `len` bytes allocated on the device.
    ///
    /// Uses direct I/O if the file system supports it, otherwise the page cache (see
    /// [`mode`](Self::mode)).
    ///
    /// # Errors
    /// [`SystemError::Io`]; nothing is left behind.
    pub fn create(path: &Path, len: u64, journal: &Journal) -> Result<Self, SystemError> {
        let scratch = Self::create_empty(path, len, None, journal)?;
        allocate(&scratch.file, 0..len, path)?;
        Ok(scratch)
    }

    /// Creates `path`, which must not exist, for `len` bytes. [`allocate_in_turn`](super::allocate_in_turn)
    /// later allocates them alternately with those of `beside`.
    ///
    /// # Errors
    /// [`SystemError::Io`]; nothing is left behind.
    pub fn create_empty(
        path: &Path,
        len: u64,
        beside: Option<&Self>,
        journal: &Journal,
    ) -> Result<Self, SystemError> {
        let what = ScratchFile { path: path.to_owned() };
        let made = Made::make(journal, what.clone(), || match beside {
            Some(beside) => what.make_like(&beside.file),
            None => what.make(),
        })?;
        let file = Arc::clone(&made.live.file);
        // From here on, `Drop` removes the file after a failure.
        let mode = IoMode::Buffered;
        let mut scratch = Self { made: Some(made), file, path: path.to_owned(), len, mode };
        (scratch.file, scratch.mode) = go_direct(&scratch.file);
        Ok(scratch)
    }

    /// Switches to the page cache, for tests and for users who request this.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn go_buffered(&mut self) -> Result<(), SystemError> {
        self.file = with_direct(&self.file, false)
            .map_err(SystemError::io("change the I/O mode of", &self.path))?;
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

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether its length is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Its location.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Truncates the file to `len` bytes, for devices that are too slow to fill all of it.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn shrink(&mut self, len: u64) -> Result<(), SystemError> {
        self.file.set_len(len).map_err(SystemError::io("shrink", &self.path))?;
        self.len = len;
        Ok(())
    }

    /// Closes the file and leaves it in place. It must be in a directory or container that its creator removes
    /// as a whole, because nothing else will remove it.
    pub(crate) fn leave(mut self) -> Result<Left, SystemError> {
        self.made.take().map_or(Ok(()), Made::leave)?;
        Ok(Left { len: self.len, mode: self.mode })
    }

    /// Removes the file. On failure it stays in the journal, and cleanup tries again.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn remove(mut self) -> Result<(), SystemError> {
        self.made.take().map_or(Ok(()), |mut made| made.destroy())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // On failure the file stays in the journal, and cleanup tries again.
        let _ = self.made.take().map(|mut made| made.destroy());
    }
}

/// A scratch file that was left in place while its file system is not mounted.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    len: u64,
    mode: IoMode,
}

impl Left {
    /// Opens the file, which is now at `path`.
    ///
    /// # Errors
    /// [`SystemError::Lost`] if it is missing or shorter than before; otherwise [`SystemError::Io`].
    pub(crate) fn open(self, path: &Path) -> Result<IoTarget, SystemError> {
        let file =
            OpenOptions::new().read(true).write(true).open(path).map_err(|e| match e.kind() {
                io::ErrorKind::NotFound => lost(path, "the written file is missing".to_owned()),
                _ => SystemError::io("open", path)(e),
            })?;
        let mut file = Arc::new(file);
        if self.mode == IoMode::Direct {
            // Set after opening, as the first time, because some file servers do not open files with this flag.
            file = with_direct(&file, true)
                .map_err(SystemError::io("change the I/O mode of", path))?;
        }
        let there = file.metadata().map_err(SystemError::io("inspect", path))?.len();
        if there < self.len {
            return Err(lost(path, format!("only {there} of its {} bytes are left", self.len)));
        }
        Ok(IoTarget {
            file,
            extent: Extent { offset: 0, len: self.len },
            mode: self.mode,
            transform: None,
        })
    }
}

fn lost(path: &Path, problem: String) -> SystemError {
    SystemError::Lost { path: path.to_owned(), problem }
}
