//! The directory of a user's journals, held open. Everything read from it was written by that user.
//!
//! A journal lists what to remove. Anyone who could write one, or redirect the reader to another, could choose
//! what is removed. The directory and the files are therefore opened without following links, and the owner of
//! the open file is checked.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cryptbench_os::Directory;
use cryptbench_os::files::is_own_alone;

use crate::provision::make_private;

/// The directory's name in the state directory. Earlier versions use the same name, so their journals are found.
const NAME: &str = "ledgers";

/// Extension of a journal that is not locked yet.
const NEW: &str = "new";

/// Number of attempts to recreate a journal whose file a cleanup removed, and the pause between them.
const ATTEMPTS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// Maximum size of a journal in bytes; a run writes some kilobytes.
const MOST: u64 = 64 << 20;

/// The open directory.
pub(super) struct Journals {
    directory: Directory,
    path: PathBuf,
}

/// A journal.
pub(super) enum Found {
    /// Its process has exited.
    Dead { text: String, lock: File },
    /// Its process holds the lock.
    Living { text: String, file: File },
}

impl Journals {
    /// Creates the directory in `state`, or uses the existing one. `None` if it could belong to another user.
    pub(super) fn make(state: &Path) -> Option<Self> {
        (make_private(state) && make_private(&state.join(NAME))).then(|| Self::open(state))?
    }

    /// Opens the directory in `state`. `None` if it does not exist or could belong to another user.
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
        self.ending_in("jsonl")
    }

    fn ending_in(&self, extension: &str) -> Vec<OsString> {
        let mut names = self.directory.names().unwrap_or_default();
        names.retain(|name| Path::new(name).extension().is_some_and(|e| e == extension));
        names.sort();
        names
    }

    /// Creates a journal, and locks it before it gets the name that cleanup looks for. A simultaneous cleanup
    /// would otherwise take it for the journal of a killed run.
    pub(super) fn create(&self, run_id: &str, name: &OsStr) -> io::Result<File> {
        self.create_with(run_id, name, || std::thread::sleep(PAUSE))
    }

    pub(super) fn create_with(
        &self,
        run_id: &str,
        name: &OsStr,
        mut pause: impl FnMut(),
    ) -> io::Result<File> {
        let unlocked = OsString::from(format!("{run_id}.{NEW}"));
        let attempt = || {
            let file = self.directory.create_file(&unlocked, 0o600)?;
            file.try_lock()?;
            self.directory.rename(&unlocked, name)?;
            Ok(file)
        };
        // A simultaneous cleanup may hold or remove the new file before it is locked.
        let mut last = attempt();
        for _ in 0..ATTEMPTS {
            match &last {
                Err(e) if is_of_cleanup(e) => pause(),
                _ => break,
            }
            last = attempt();
        }
        last
    }

    /// Removes new files whose process was killed before it renamed them. Such a process had not set up
    /// anything yet.
    pub(super) fn remove_unnamed(&self) {
        for name in self.ending_in(NEW) {
            let Ok(file) = self.directory.open_file(&name) else { continue };
            let is_empty = file.metadata().is_ok_and(|found| found.len() == 0);
            if is_own_alone(&file) && is_empty && file.try_lock().is_ok() {
                let _ = self.directory.remove_file(&name);
            }
        }
    }

    /// Reads a journal of this user, and checks whether its process is still running.
    pub(super) fn look(&self, name: &OsStr) -> Option<Found> {
        let file = self.directory.open_file(name).ok()?;
        if !is_own_alone(&file) {
            return None;
        }
        // The lock is shared, so that simultaneous readers do not make a killed process look active.
        let dead = file.try_lock_shared().is_ok();
        let mut bytes = Vec::new();
        // On Windows, other processes cannot read a file that its owner has locked.
        let read = (&file).take(MOST).read_to_end(&mut bytes);
        if dead {
            read.ok()?;
        }
        // A kill may have truncated the last line in the middle of a character; the other lines are still valid.
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Some(if dead { Found::Dead { text, lock: file } } else { Found::Living { text, file } })
    }
}

/// Whether this is an error that occurs if a cleanup examines the file of a journal while the journal is
/// created.
fn is_of_cleanup(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::WouldBlock | ErrorKind::NotFound)
}
