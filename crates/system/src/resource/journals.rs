//! The directory of a user's journals, held open: what is read there was written by that user alone.
//!
//! A journal says what to remove. Whoever could write one, or lead the reader to another, would have it remove what they
//! choose, so directory and file are opened without following links, and their owner is checked on the open descriptor.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cryptbench_os::Directory;
use rustix::fs::{FlockOperation, flock};

use crate::provision::make_private;

/// Its name in the state directory: that of earlier versions, whose journals are found there.
const NAME: &str = "ledgers";

/// Most bytes of a journal; a run writes some kilobytes.
const MOST: u64 = 64 << 20;

/// Permission bits that let others write.
const OTHERS: u32 = 0o022;

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
    /// Makes the directory in `state`, or takes the one that is there; `None` if it could be somebody else's.
    pub(super) fn make(state: &Path) -> Option<Self> {
        (make_private(state) && make_private(&state.join(NAME))).then(|| Self::open(state))?
    }

    /// Opens the directory in `state`; `None` if there is none, or if it could be somebody else's.
    pub(super) fn open(state: &Path) -> Option<Self> {
        let above = Directory::open_no_follow(state).ok().filter(is_ours)?;
        let directory = above.subdirectory(OsStr::new(NAME)).ok().filter(is_ours)?;
        Some(Self { directory, path: state.join(NAME) })
    }

    pub(super) fn held(&self) -> &Directory {
        &self.directory
    }

    /// Where a journal lies, for messages.
    pub(super) fn path(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// All names of journals.
    pub(super) fn names(&self) -> Vec<OsString> {
        let mut names = self.directory.names().unwrap_or_default();
        names.retain(|name| Path::new(name).extension().is_some_and(|e| e == "jsonl"));
        names.sort();
        names
    }

    /// Reads a journal that is this user's, and finds out whether its process lives.
    pub(super) fn look(&self, name: &OsStr) -> Option<Found> {
        let file = self.directory.open_file(name).ok()?;
        let about = file.metadata().ok()?;
        if about.uid() != rustix::process::getuid().as_raw() || about.mode() & OTHERS != 0 {
            return None;
        }
        // Shared: others who look at the same time do not make a dead process look alive.
        let dead = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
        let mut text = String::new();
        (&file).take(MOST).read_to_string(&mut text).ok()?;
        Some(if dead { Found::Dead { text, lock: file } } else { Found::Living { text, file } })
    }
}

fn is_ours(directory: &Directory) -> bool {
    let ours = rustix::process::getuid().as_raw();
    directory.owner_and_mode().is_ok_and(|(owner, mode)| owner == ours && mode & OTHERS == 0)
}
