//! The directory of a user's journals, held open: everything read there was written by that user.
//!
//! A journal says what to remove. Anyone who could write one, or redirect the reader to another,
//! could choose what is removed. Directory and file are therefore opened without following links,
//! and the owner is checked on the open descriptor.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use cryptbench_os::Directory;
use cryptbench_os::files::is_own_alone;

use crate::provision::make_private;

/// Its name in the state directory, unchanged from earlier versions so that their journals are
/// found.
const NAME: &str = "ledgers";

/// Largest journal in bytes; a run writes some kilobytes.
const MOST: u64 = 64 << 20;

/// The open directory.
pub(super) struct Journals {
    directory: Directory,
    path: PathBuf,
}

/// A journal.
pub(super) enum Found {
    /// Its process has ended.
    Dead { text: String, lock: File },
    /// Its process has it locked.
    Living { text: String, file: File },
}

impl Journals {
    /// Creates the directory in `state`, or uses the existing one. `None` if it could belong to
    /// someone else.
    pub(super) fn make(state: &Path) -> Option<Self> {
        (make_private(state) && make_private(&state.join(NAME))).then(|| Self::open(state))?
    }

    /// Opens the directory in `state`. `None` if it does not exist or could belong to someone else.
    pub(super) fn open(state: &Path) -> Option<Self> {
        let above = Directory::open_no_follow(state).ok().filter(Directory::is_own_alone)?;
        let directory =
            above.subdirectory(OsStr::new(NAME)).ok().filter(Directory::is_own_alone)?;
        Some(Self { directory, path: state.join(NAME) })
    }

    pub(super) fn held(&self) -> &Directory {
        &self.directory
    }

    /// Path of a journal, for messages.
    pub(super) fn path(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// The names of all journals.
    pub(super) fn names(&self) -> Vec<OsString> {
        let mut names = self.directory.names().unwrap_or_default();
        names.retain(|name| Path::new(name).extension().is_some_and(|e| e == "jsonl"));
        names.sort();
        names
    }

    /// Reads a journal of this user, and checks whether its process lives.
    pub(super) fn look(&self, name: &OsStr) -> Option<Found> {
        let file = self.directory.open_file(name).ok()?;
        if !is_own_alone(&file) {
            return None;
        }
        // A shared lock, so that simultaneous readers do not make a dead process look alive.
        let dead = file.try_lock_shared().is_ok();
        let mut bytes = Vec::new();
        // Windows lets nobody else read what its owner has locked.
        let read = (&file).take(MOST).read_to_end(&mut bytes);
        if dead {
            read.ok()?;
        }
        // A kill may have torn the last line within a character; the others still count.
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Some(if dead { Found::Dead { text, lock: file } } else { Found::Living { text, file } })
    }
}
