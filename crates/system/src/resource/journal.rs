//! The journal of a run. It records each resource before the resource is created, and its identity afterwards,
//! so that the leftovers of a killed run can be found, identified and removed.
//!
//! A run has one journal, a file of JSON lines. Resources are numbered in the order of creation and removed in
//! reverse order. A path that is not Unicode is written in a form from which its bytes can be recovered
//! ([`text_of_path`]). The journal is locked while its run is active. The kernel releases the lock however the
//! process exits, so a journal that can be locked belongs to a killed run.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cryptbench_os::{path_of_text, text_of_path};
use cryptbench_text::shown;
use serde::{Deserialize, Serialize};
use tracing::{debug, info};

use super::journals::{Found, Journals};
use super::{AnyResource, Identity};
use crate::SystemError;
use crate::provision::state_directories;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    /// The first line: the process that writes the journal.
    Owner {
        process: u32,
        /// The user's target, such as the volume.
        subject: PathBuf,
    },
    Intent {
        id: u32,
        #[serde(flatten)]
        what: AnyResource,
    },
    Made {
        id: u32,
        identity: Identity,
    },
    Undone {
        id: u32,
    },
}

impl Line {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::Owner { subject, .. } => vec![subject],
            Self::Intent { what, .. } => what.paths(),
            Self::Made { .. } | Self::Undone { .. } => Vec::new(),
        }
    }

    fn written(mut self) -> serde_json::Result<Vec<u8>> {
        self.paths().into_iter().for_each(|path| *path = text_of_path(path).into());
        serde_json::to_vec(&self)
    }

    /// `None` if a kill truncated the line.
    fn read(text: &str) -> Option<Self> {
        let mut line: Self = serde_json::from_str(text).ok()?;
        let restore = |path: &mut PathBuf| {
            if let Some(text) = path.to_str() {
                *path = path_of_text(text);
            }
        };
        line.paths().into_iter().for_each(restore);
        Some(line)
    }
}

/// The journal of this run. Clones write to the same file, and the last one to be dropped removes it if all
/// resources were removed.
#[derive(Clone)]
pub struct Journal {
    open: Arc<Mutex<Open>>,
}

struct Open {
    file: File,
    directory: Journals,
    name: OsString,
    next: u32,
    /// Number of existing resources.
    there: u32,
}

impl Journal {
    /// Creates and locks the journal of the run `run_id` in the first usable state directory.
    ///
    /// # Errors
    /// [`SystemError::Target`] if no state directory is writable, otherwise [`SystemError::Io`].
    pub fn create(run_id: &str) -> Result<Self, SystemError> {
        Self::create_in(&state_directories(), run_id)
    }

    /// Like [`create`](Self::create), but with a subject, with which [`living`] lists the journal.
    ///
    /// # Errors
    /// Those of [`create`](Self::create).
    pub fn create_about(run_id: &str, subject: &Path) -> Result<Self, SystemError> {
        let journal = Self::create(run_id)?;
        journal.tell_owner(std::process::id(), subject)?;
        Ok(journal)
    }

    pub(super) fn tell_owner(&self, process: u32, subject: &Path) -> Result<(), SystemError> {
        self.held().append(Line::Owner { process, subject: subject.to_owned() })
    }

    pub(crate) fn create_in(directories: &[PathBuf], run_id: &str) -> Result<Self, SystemError> {
        let mut tried = Vec::new();
        for state in directories {
            let Some(directory) = Journals::make(state) else {
                tried.push(shown(state));
                continue;
            };
            let name = OsString::from(format!("{run_id}.jsonl"));
            let path = directory.path(&name);
            let file = directory
                .create(run_id, &name)
                .map_err(SystemError::io("create the journal", &path))?;
            let open = Open { file, directory, name, next: 0, there: 0 };
            return Ok(Self { open: Arc::new(Mutex::new(open)) });
        }
        Err(SystemError::Target {
            path: PathBuf::from(tried.join(", ")),
                problem: "no directory for the journal is writable, and without a journal a killed run cannot \
                          be cleaned up; set XDG_STATE_HOME to a writable directory"
                .to_owned(),
        })
    }

    /// Records that `what` is about to be created, and returns its number. Must be called before the creation.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn intend(&self, what: impl Into<AnyResource>) -> Result<u32, SystemError> {
        let mut open = self.held();
        let id = open.next;
        let what = what.into();
        info!("sets up {id}: {}", what.told());
        open.append(Line::Intent { id, what })?;
        open.next += 1;
        open.there += 1;
        Ok(id)
    }

    /// Records the identity of the resource with number `id`. Must be called immediately after the creation.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn made(&self, id: u32, identity: Identity) -> Result<(), SystemError> {
        debug!("{id} exists: {identity:?}");
        self.held().append(Line::Made { id, identity })
    }

    /// Records that the resource no longer exists.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn undone(&self, id: u32) -> Result<(), SystemError> {
        let mut open = self.held();
        open.append(Line::Undone { id })?;
        info!("{id} was removed");
        open.there -= 1;
        Ok(())
    }

    fn held(&self) -> MutexGuard<'_, Open> {
        // A truncated line is skipped, so a poisoned lock does no harm.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn append(&mut self, line: Line) -> Result<(), SystemError> {
        let write = |file: &mut File| {
            let mut text = line.written()?;
            text.push(b'\n');
            file.write_all(&text)?;
            file.sync_data()
        };
        write(&mut self.file)
            .map_err(|e| SystemError::io("write the journal", self.directory.path(&self.name))(e))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // If resources remain, the journal stays, because cleanup needs it.
        if self.there == 0 {
            let _ = self.directory.held().remove_file(&self.name);
        }
    }
}

/// A living process that has set something up.
#[derive(Clone, Debug)]
pub struct Living {
    /// Process number.
    pub process: u32,
    /// The target on which the process works.
    pub subject: PathBuf,
    /// The process's existing resources, the latest first.
    pub resources: Vec<AnyResource>,
    state: PathBuf,
    journal: OsString,
}

impl Living {
    /// Whether the process has exited since it was listed: its journal is then gone or no longer locked.
    pub fn has_ended(&self) -> bool {
        let found = Journals::open(&self.state).and_then(|journals| journals.look(&self.journal));
        !matches!(found, Some(Found::Living { .. }))
    }
}

/// This user's running processes that recorded a subject.
pub fn living() -> Vec<Living> {
    state_directories().iter().flat_map(|state| living_in(state)).collect()
}

pub(super) fn living_in(state: &Path) -> Vec<Living> {
    let Some(journals) = Journals::open(state) else { return Vec::new() };
    let mut found = Vec::new();
    for journal in journals.names() {
        let Some(Found::Living { text, .. }) = journals.look(&journal) else { continue };
        if let Some((process, subject)) = owner(&text) {
            let resources = left_over(&text).into_iter().map(|(what, _)| what).collect();
            found.push(Living { process, subject, resources, state: state.to_owned(), journal });
        }
    }
    found
}

/// PID and subject of the process that wrote a journal.
pub(super) fn owner(text: &str) -> Option<(u32, PathBuf)> {
    text.lines().filter_map(Line::read).find_map(|line| match line {
        Line::Owner { process, subject } => Some((process, subject)),
        _ => None,
    })
}

/// The resources that were not removed, highest number first.
pub(super) fn left_over(text: &str) -> Vec<(AnyResource, Option<Identity>)> {
    let mut left: Vec<(u32, AnyResource, Option<Identity>)> = Vec::new();
    // A kill may have truncated the last line. A line that cannot be parsed was not acted on.
    for line in text.lines().filter_map(Line::read) {
        match line {
            Line::Intent { id, what } => left.push((id, what, None)),
            Line::Made { id, identity } => {
                left.iter_mut().filter(|l| l.0 == id).for_each(|l| l.2 = Some(identity));
            }
            Line::Undone { id } => left.retain(|l| l.0 != id),
            Line::Owner { .. } => {}
        }
    }
    left.sort_by_key(|l| std::cmp::Reverse(l.0));
    left.into_iter().map(|(_, what, identity)| (what, identity)).collect()
}

#[cfg(test)]
impl Journal {
    /// Releases the lock without cleaning up, as if the process had been killed. Returns the file, which can
    /// then be locked.
    pub(super) fn killed(self) -> File {
        use std::os::fd::AsRawFd as _;
        let mut open = self.held();
        open.there = u32::MAX;
        let again = File::open(format!("/proc/self/fd/{}", open.file.as_raw_fd())).unwrap();
        drop(open);
        again
    }
}
