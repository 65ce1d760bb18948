//! Many small files: create, stat, read, rename and delete, one file after another.
//!
//! A set of files is stored in its own folder below the measured directory, with a hundred files per subfolder. It is
//! kept between trials. [`FileSet::prepare`] sets up the state that an action requires before the clock starts:
//!
//! | action | before | measured | order |
//! |---|---|---|---|
//! | create | delete old files, make subfolders | open, write, close; one flush at the end | by folder |
//! | stat | create missing files, drop caches | stat(2) | random (seed) |
//! | read | as for stat | open, read to the end, close; verified while the clock is stopped | random (seed) |
//! | rename | as for stat | renameat2(2) within the folder, back and forth | random (seed) |
//! | delete | as for stat | unlink(2) | by folder |
//!
//! The delete action leaves no files; the preparation of the next action creates them again.

mod actions;
mod cold;
mod content;
mod left_behind;
mod sizes;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::profile::{FileAction, FileSizes, FileWork};
use crate::{LoadError, clock};
use actions::Tally;
use content::Contents;
pub use left_behind::remove_left_behind;
use tree::Tree;

/// The result of measuring one action on a set of files.
#[derive(Clone, Debug)]
pub struct FilesMeasurement {
    /// Sum of the times of all individual actions and, for create, of the flush at the end. Preparation and
    /// verification are not included.
    pub elapsed: Duration,
    /// Number of files.
    pub files: u64,
    /// Number of bytes written by the create action or read by the read action; 0 for the other actions.
    pub bytes: u64,
    /// Time of the action on each file in nanoseconds, with three significant digits.
    pub latency: Histogram<u64>,
    /// CPU time of this process during the measured actions, user and system.
    pub cpu: Duration,
    /// Whether the kernel's directory and inode caches were dropped before the action, which requires root. Always
    /// false for create.
    pub metadata_cold: bool,
    /// Whether the stop flag ended the action early.
    pub interrupted: bool,
}

/// Sets of small files: one for each combination of directory, number of files and sizes.
///
/// Dropping this value removes the sets like [`remove`](Self::remove), but ignores errors.
pub struct FileSet {
    seed: u64,
    sets: Vec<Set>,
}

/// The files for one combination of directory, number of files and distribution of sizes.
struct Set {
    directory: PathBuf,
    count: u32,
    sizes: FileSizes,
    tree: Tree,
    contents: Contents,
    /// The action that has been prepared.
    ready: Option<(FileAction, bool)>,
}

impl FileSet {
    /// A collection without files. Sizes and contents are derived from `seed`, so sets with the same seed contain the
    /// same files. Use the same seed for all arms that are compared with each other.
    pub fn new(seed: u64) -> Self {
        Self { seed, sets: Vec::new() }
    }

    /// Prepares `work` in `directory`, outside the measured time, as in the module's table. If this function was not
    /// called, [`run`](Self::run) calls it, but then the caller's accounting includes the preparation.
    ///
    /// # Errors
    /// Any file system error, with the path; [`LoadError::Interrupted`] if `stop` is set.
    pub fn prepare(
        &mut self,
        directory: &Path,
        work: &FileWork,
        stop: &AtomicBool,
    ) -> Result<(), LoadError> {
        let i = self.find(directory, work)?;
        let set = &mut self.sets[i];
        if set.ready.is_some_and(|(action, _)| action == work.action) {
            return Ok(());
        }
        set.ready = None;
        let open = set.tree.open()?;
        if work.action == FileAction::Create {
            actions::delete_all(&mut set.tree, &open)?;
            set.contents.renew();
            cold::flush(&open)?;
            set.ready = Some((work.action, false));
            return Ok(());
        }
        if set.tree.existing() == 0 {
            set.contents.renew();
        }
        actions::create_missing(&mut set.tree, &open, &mut set.contents, stop)?;
        if work.action == FileAction::Rename {
            actions::check_free(&set.tree, &open)?;
        }
        cold::flush(&open)?;
        let metadata_cold = cold::drop_caches(&set.tree, &open, work.action == FileAction::Read)?;
        set.ready = Some((work.action, metadata_cold));
        Ok(())
    }

    /// Performs `work` on the files below `directory`. `seed` determines the order of the files in actions with a
    /// random order. If `stop` is set, the action ends between two files.
    ///
    /// # Errors
    /// The errors of [`prepare`](Self::prepare); [`LoadError::FileContent`] if a file does not contain the data that
    /// was written to it.
    pub fn run(
        &mut self,
        directory: &Path,
        work: &FileWork,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<FilesMeasurement, LoadError> {
        self.prepare(directory, work, stop)?;
        let i = self.find(directory, work)?;
        let set = &mut self.sets[i];
        let metadata_cold = set.ready.take().is_some_and(|(_, cold)| cold);
        let open = set.tree.open()?;
        let mut tally = Tally::new();
        let tree = &mut set.tree;
        let interrupted = match work.action {
            FileAction::Create => {
                actions::create(tree, &open, &mut set.contents, &mut tally, stop)?
            }
            FileAction::Stat => actions::stat(tree, &open, &mut tally, seed, stop)?,
            FileAction::Read => {
                actions::read(tree, &open, &mut set.contents, &mut tally, seed, stop)?
            }
            FileAction::Rename => actions::rename(tree, &open, &mut tally, seed, stop)?,
            FileAction::Delete => actions::delete(tree, &open, &mut tally, stop)?,
        };
        if matches!(work.action, FileAction::Rename | FileAction::Delete) {
            // The pending writes of these actions must not be attributed to the next arm.
            cold::flush(&open)?;
        }
        Ok(tally.measured(metadata_cold, interrupted))
    }

    /// Removes every file and folder that this value created, and nothing else: a folder with other contents is kept.
    ///
    /// # Errors
    /// The first failure; the remaining removals are still attempted.
    pub fn remove(&mut self) -> Result<(), LoadError> {
        let mut first = Ok(());
        // A set that was not removed completely is kept in the list, so that removal can be repeated.
        self.sets.retain_mut(|set| {
            set.ready = None;
            let removed = set.tree.remove();
            let left = removed.is_err();
            first = std::mem::replace(&mut first, Ok(())).and(removed);
            left
        });
        first
    }

    fn find(&mut self, directory: &Path, work: &FileWork) -> Result<usize, LoadError> {
        let is =
            |s: &Set| s.directory == directory && s.count == work.count && s.sizes == work.sizes;
        if let Some(i) = self.sets.iter().position(is) {
            return Ok(i);
        }
        let sizes = sizes::draw(work, self.seed);
        let largest = sizes.iter().copied().max().unwrap_or(0);
        self.sets.push(Set {
            directory: directory.to_owned(),
            count: work.count,
            sizes: work.sizes,
            tree: Tree::make(directory, sizes)?,
            contents: Contents::new(self.seed, largest),
            ready: None,
        });
        Ok(self.sets.len() - 1)
    }
}

impl Drop for FileSet {
    fn drop(&mut self) {
        // Errors cannot be returned here; call `remove` to get the errors.
        let _ = self.remove();
    }
}

fn cpu_ns() -> u64 {
    clock::process_cpu_ns()
}
