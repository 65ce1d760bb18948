//! A target that is claimed for a run: where requests go, where new files go, and what is kept below it.

use std::path::PathBuf;
use std::time::SystemTime;

use cryptbench_blockdev::IoTarget;
use cryptbench_system::PreparedArm;
use cryptbench_system::provision::runtime_directory;
use cryptbench_system::resource::{Journal, PrivateDirectory, WorkDirectory};
use cryptbench_text::chain;

use super::active_range::ActiveRange;
use super::lower_cache::{Below, caches_below, look_below, serving};
use super::seclusion::seclude;
use crate::RunError;
use crate::plan::Plan;
use crate::plan::arms::{Arms, makes_a_disk};
use crate::plan::sizes::makes_files;
use crate::plan::storage::{Buffered, Range, Target};

/// A target in use. Fields are taken down from the first to the last.
pub(crate) struct PreparedTarget {
    /// Where systems keep what they make.
    pub(crate) inside: PathBuf,
    /// Where new files go. In a directory elsewhere, which stays empty, if the target is none.
    pub(crate) work: WorkDirectory,
    /// Where requests go; `None` where volumes are opened.
    pub(crate) range: Option<ActiveRange>,
    /// Why the range is of its size, in words.
    pub(crate) size_reason: String,
    /// What keeps `inside` from others.
    pub(crate) private: Option<PrivateDirectory>,
    /// The counters' number of its device.
    pub(crate) counted_by: usize,
    /// Where what lies on it is kept in the page cache a second time, if it is.
    stored: Option<PathBuf>,
    /// Whether direct writes end in that cache.
    is_cached_below: bool,
    /// Processes that serve it, as far as the kernel tells.
    daemons: Vec<u32>,
    pub(crate) target: Target,
}

impl PreparedTarget {
    /// Claims the `range` of `target`, and makes the directories of the run there.
    ///
    /// # Errors
    /// [`RunError::Target`] if it may not be used any more, or others could exchange what the run makes.
    pub(super) fn claim(
        target: Target,
        range: Option<Range>,
        plan: &Plan,
        name: &str,
        counted_by: usize,
        journal: &Journal,
    ) -> Result<Self, RunError> {
        let is_paired = counted_by > 0;
        let private = match is_paired {
            true => "private-paired",
            false => "private",
        };
        let private = seclude(&target, makes_names(plan), &plan.run_id, private, journal)?;
        let inside = match &private {
            Some(private) => private.path().to_owned(),
            None => target.path.clone(),
        };
        let size_reason = range.as_ref().map(|range| range.reason.clone());
        let buffered = plan.buffered != Buffered::No;
        let range = match range {
            Some(range) => {
                Some(ActiveRange::claim(&target, &inside, range.size, buffered, journal)?)
            }
            None => None,
        };
        let work = work_directory(&target, &inside, &plan.run_id, name, journal)?;
        let is_cached_below = caches_below(&target);
        let (stored, daemons) = match is_paired {
            // Found once something was written.
            true => (None, serving(&target)),
            false => (target.kept_in().filter(|_| is_cached_below), Vec::new()),
        };
        let size_reason = size_reason.unwrap_or_else(|| "none: volumes are opened".to_owned());
        Ok(Self {
            inside,
            work,
            range,
            size_reason,
            private,
            counted_by,
            is_cached_below: is_cached_below && (is_paired || stored.is_some()),
            stored,
            daemons,
            target,
        })
    }

    /// # Errors
    /// [`RunError::Usage`] if requests pass the page cache here and not on `plain`.
    pub(super) fn check_mode(&self, plain: &Self) -> Result<(), RunError> {
        let mode = |target: &Self| target.range.as_ref().map(ActiveRange::mode);
        match mode(self) == mode(plain) {
            true => Ok(()),
            false => Err(no_direct_io(&self.target.path.display().to_string())),
        }
    }

    /// Where requests go.
    ///
    /// # Panics
    /// Where volumes are opened, which no request is sent to.
    pub(crate) fn io_target(&self) -> IoTarget {
        self.range.as_ref().expect("systems are under a load").io_target()
    }

    /// Finds out where the `len` bytes lie that were written since `began`, so that what a cache below keeps of them can be
    /// dropped; says so where it cannot.
    pub(super) fn find_stored(&mut self, began: SystemTime, len: u64) -> Option<String> {
        match look_below(&self.target, began, len) {
            Below::Stored(path) => {
                self.stored = Some(path);
                None
            }
            Below::Nothing => None,
            Below::Hidden(why) => Some(format!(
                "What {} keeps in memory below its mount cannot be dropped ({why}): what is read there may not come \
                 from a disk, and the table says so where the device's counters show it.",
                self.target.path.display()
            )),
        }
    }

    /// What lies on this target is kept in the page cache below it too, whoever put it there.
    pub(super) fn share(&self, arm: &mut PreparedArm) {
        arm.cached_below |= self.is_cached_below;
        if let Some(stored) = &self.stored {
            arm.stored.get_or_insert_with(|| stored.clone());
        }
        arm.daemons.extend(&self.daemons);
    }

    /// What a reader must know where the device has no counters.
    pub(super) fn uncounted(&self) -> String {
        format!(
            "The device under {} has no counters ({}): a number from a cache cannot be told here.",
            self.target.path.display(),
            self.target.in_words()
        )
    }

    /// Removes what was made, and says what could not be, in sentences.
    pub(crate) fn take_down(self) -> Vec<String> {
        let Self { work, range, private, counted_by, target, .. } = self;
        let place = match counted_by {
            0 => String::new(),
            _ => format!(" in {}", target.path.display()),
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
                Some(_) => format!(
                    "What was written last{place} may not be on the device: {}.",
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

/// Whether the run makes anything that is opened by its path again.
fn makes_names(plan: &Plan) -> bool {
    match &plan.arms {
        Arms::Systems(arms) => {
            arms.iter().any(makes_a_disk) || plan.workloads.iter().any(|w| makes_files(&w.work))
        }
        Arms::Volumes(_) => true,
    }
}

/// A directory for new files on `target`; where that has none, elsewhere, and it stays empty.
fn work_directory(
    target: &Target,
    inside: &std::path::Path,
    run_id: &str,
    unique: &str,
    journal: &Journal,
) -> Result<WorkDirectory, RunError> {
    // In a mount of our own it goes with that, and cleanup is not to wait for it to come back.
    let name = match target.is_our_own() {
        true => "work".to_owned(),
        false => format!("cryptbench-{run_id}.work"),
    };
    let path = match &target.existing {
        None => inside.join(name),
        // Both targets of a pair may have none.
        Some(_) => {
            let parent = runtime_directory().unwrap_or_else(std::env::temp_dir);
            parent.join(format!("{name}.{unique}"))
        }
    };
    Ok(WorkDirectory::create(&path, journal)?)
}

pub(super) fn no_direct_io(what: &str) -> RunError {
    RunError::Usage(format!(
        "{what} has no direct I/O, and plain storage here has: its page cache would be measured beside a disk; give \
         --buffered, which takes the page cache for all"
    ))
}
