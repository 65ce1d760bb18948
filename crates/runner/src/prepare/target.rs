//! A target claimed for a run: the location of requests and new files, and the cache below it.

use std::path::PathBuf;
use std::time::SystemTime;

use cryptbench_blockdev::IoTarget;
use cryptbench_record::{DiskCounts, Uncounted};
use cryptbench_system::provision::runtime_directory;
use cryptbench_system::resource::{Journal, PrivateDirectory, WorkDirectory};
use cryptbench_system::{PreparedArm, SystemError};
use cryptbench_text::{chain, shown};

use super::active_range::ActiveRange;
use super::lower_cache::{Below, caches_below, look_below, serving};
use super::places;
use super::seclusion::seclude;
use crate::RunError;
use crate::decide::storage::{Buffered, Range, Target};
use crate::decide::{Plan, makes_names};

/// A claimed target. It is removed in the order of its fields.
pub(crate) struct PreparedTarget {
    /// The directory for the data of systems.
    pub(crate) inside: PathBuf,
    /// The directory for new files. If the target is not a directory, the directory for new files is elsewhere and
    /// stays empty.
    pub(crate) work: WorkDirectory,
    /// The range for requests; `None` if the work is opening volumes.
    pub(crate) range: Option<ActiveRange>,
    /// The reason for the size of the range, in words.
    pub(crate) size_reason: String,
    /// Protects `inside` from other users.
    pub(crate) private: Option<PrivateDirectory>,
    /// Number of its device in the counters.
    pub(crate) counted_by: usize,
    /// The activity of its disk before the run.
    pub(super) idle_disk: Option<DiskCounts>,
    /// Why the requests that reach its disk are unknown, if they are.
    pub(super) uncounted: Option<Uncounted>,
    /// The file or directory whose cached pages are a second copy of the target's data, if there is one.
    stored: Option<PathBuf>,
    /// Whether direct writes end up in that cache.
    is_cached_below: bool,
    /// Processes that serve it, as far as the kernel reports them.
    daemons: Vec<u32>,
    pub(crate) target: Target,
}

impl PreparedTarget {
    /// Claims the `range` of `target`, with `partitions` of these lengths, and creates the directories of the run
    /// there. `before` are the targets claimed so far: plain storage, then encrypted ones.
    ///
    /// # Errors
    /// [`RunError::Target`] if it may no longer be used, or if others could replace the files of
    /// the run.
    pub(super) fn claim(
        target: Target,
        (range, partitions): (Option<Range>, &[u64]),
        plan: &Plan,
        counted_by: usize,
        before: &[&Self],
        journal: &Journal,
    ) -> Result<Self, RunError> {
        let is_paired = !before.is_empty();
        let (private, name) = match before.len() {
            0 => ("private".to_owned(), "work".to_owned()),
            1 => ("private-paired".to_owned(), "paired-work".to_owned()),
            more => (format!("private-paired-{more}"), format!("paired-work-{more}")),
        };
        let private = seclude(
            &target,
            makes_names(&plan.arms, &plan.workloads),
            &plan.run_id,
            &private,
            journal,
        )?;
        let inside = match &private {
            Some(private) => private.path().to_owned(),
            None => target.path.clone(),
        };
        let size_reason = range.as_ref().map(|range| range.reason.clone());
        let buffered = plan.buffered != Buffered::No;
        let range = match range {
            Some(range) => {
                let beside =
                    before.iter().find(|other| other.target.ground.number == target.ground.number);
                let beside = beside.and_then(|other| places::made(other));
                let claimed = ActiveRange::claim(
                    &target, &inside, range.size, buffered, beside, partitions, journal,
                );
                Some(claimed?)
            }
            None => None,
        };
        let work = work_directory(&target, &inside, &plan.run_id, &name, journal)?;
        let is_cached_below = caches_below(&target);
        let (stored, daemons) = match is_paired {
            // The cache can be found only after something has been written.
            true if target.only_read.is_none() => (None, serving(&target)),
            _ => (target.kept_in().filter(|_| is_cached_below), Vec::new()),
        };
        let size_reason = size_reason.unwrap_or_else(|| "none: volumes are opened".to_owned());
        Ok(Self {
            inside,
            work,
            range,
            size_reason,
            private,
            counted_by,
            idle_disk: None,
            uncounted: None,
            is_cached_below: is_cached_below && (is_paired || stored.is_some()),
            stored,
            daemons,
            target,
        })
    }

    /// # Errors
    /// [`RunError::Usage`] if requests go through the page cache here but not on `plain`.
    pub(super) fn check_mode(&self, plain: &Self) -> Result<(), RunError> {
        let mode = |target: &Self| target.range.as_ref().map(ActiveRange::mode);
        match mode(self) == mode(plain) {
            true => Ok(()),
            false => Err(no_direct_io(&shown(&self.target.path))),
        }
    }

    /// The I/O target for requests.
    ///
    /// # Panics
    /// If the work is unlocking volumes, because that has no requests.
    pub(crate) fn io_target(&self) -> IoTarget {
        self.range.as_ref().expect("systems are under a load").io_target()
    }

    /// Finds the location of the `len` bytes written since `began`, so that they can be dropped from the cache
    /// below. Returns a note if it cannot be found.
    pub(super) fn find_stored(&mut self, began: SystemTime, len: u64) -> Option<String> {
        match look_below(&self.target, began, len) {
            Below::Stored(path) => {
                self.stored = Some(path);
                None
            }
            Below::Nothing => None,
            Below::Hidden(why) => Some(format!(
                "The cache of the storage that backs {} cannot be dropped ({why}): reads may be served from memory. \
                 The table marks the affected figures if the device's counters reveal this.",
                shown(&self.target.path)
            )),
        }
    }

    /// Marks an arm on this target: its data is also in the page cache below, no matter which system stored it.
    pub(super) fn share(&self, arm: &mut PreparedArm) {
        arm.cached_below |= self.is_cached_below;
        if let Some(stored) = &self.stored {
            arm.stored.get_or_insert_with(|| stored.clone());
        }
        arm.daemons.extend(&self.daemons);
    }

    /// A note for readers if the device has no counters.
    pub(super) fn uncounted(&self) -> String {
        format!(
            "The device that holds {} has no counters ({}), so reads served from a cache cannot be detected.",
            shown(&self.target.path),
            self.target.in_words()
        )
    }

    /// Removes everything that was created; returns a sentence for each failure.
    pub(crate) fn take_down(self) -> Vec<String> {
        let Self { work, range, private, counted_by, target, .. } = self;
        let place = match counted_by {
            0 => String::new(),
            _ => format!(" in {}", shown(&target.path)),
        };
        let remains = |what: &str, error: &dyn std::error::Error| {
            format!(
                "{what}{place} could not be removed ({}); cryptbench cleanup will try again.",
                chain(error)
            )
        };
        let mut notes = Vec::new();
        notes.extend(work.remove().err().map(|e| remains("The directory for new files", &e)));
        if let Some(Err(error)) = range.map(ActiveRange::end) {
            notes.push(match &target.existing {
                Some(_) if matches!(error, SystemError::Busy { .. }) => {
                    remains("The partition table", &error)
                }
                Some(_) => format!(
                    "The last writes{place} may not have reached the device: {}.",
                    chain(&error)
                ),
                None => remains("The scratch file", &error),
            });
        }
        if let Some(Err(error)) = private.map(|mut private| private.destroy()) {
            notes.push(remains("The private directory", &error));
        }
        notes
    }
}

/// Creates a directory for new files on `target`; if the target is not a directory, elsewhere, where it stays
/// empty.
fn work_directory(
    target: &Target,
    inside: &std::path::Path,
    run_id: &str,
    unique: &str,
    journal: &Journal,
) -> Result<WorkDirectory, RunError> {
    // In a mount of this program, the directory disappears with the mount. The directory gets another name there, so
    // that cleanup does not wait for the directory to reappear.
    let name = match target.ground.is_our_own {
        true => "work".to_owned(),
        false => format!("cryptbench-{run_id}.work"),
    };
    let path = match target.is_directory() {
        true => inside.join(name),
        // Several targets may need such a directory, so each name is unique.
        false => {
            let parent = runtime_directory().unwrap_or_else(std::env::temp_dir);
            parent.join(format!("{name}.{unique}"))
        }
    };
    Ok(WorkDirectory::create(&path, journal)?)
}

pub(super) fn no_direct_io(what: &str) -> RunError {
    RunError::Usage(format!(
        "{what} does not support direct I/O, but plain storage does, so a page cache would be compared with a disk; to \
         use the page cache for both, add --buffered"
    ))
}
