//! Many small files: created, examined, read, renamed and deleted, one after the other.
//!
//! A set of files lies in a folder of its own below the directory that is measured, a hundred files to
//! a subfolder. It stays from trial to trial. What an action needs is made ready before the clock
//! starts ([`FileSet::prepare`]):
//!
//! | action | before | measured | order |
//! |---|---|---|---|
//! | create | the old files are deleted, the subfolders made | open, write, close; one flush of all at the end | by folder |
//! | stat | missing files are made, caches dropped | stat(2) | drawn from the seed |
//! | read | as stat | open, read to the end, close; verified while the clock stands | drawn from the seed |
//! | rename | as stat | renameat2(2) within the folder, to and fro | drawn from the seed |
//! | delete | as stat | unlink(2) | by folder |
//!
//! Deleting leaves no files; the next action's preparation makes them anew.

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

/// What one action on a set of files took.
#[derive(Clone, Debug)]
pub struct FilesMeasurement {
    /// Sum of the times of all single actions and, for creating, of the flush at the end. Preparing
    /// and verifying data lie between them and are not counted.
    pub elapsed: Duration,
    /// Files that were acted on.
    pub files: u64,
    /// Bytes written by creating or read by reading; 0 for the other actions.
    pub bytes: u64,
    /// Time of each single action in nanoseconds, three significant digits.
    pub latency: Histogram<u64>,
    /// CPU time of this process during the measured actions, user and system.
    pub cpu: Duration,
    /// Whether the kernel's directory and inode caches were emptied before; it takes root. Always
    /// false for creating.
    pub metadata_cold: bool,
    /// True when the stop flag ended the action early.
    pub interrupted: bool,
}

/// Sets of small files, one for each directory, count and sizes that it was asked to act on.
///
/// Dropping it removes them, as [`remove`](Self::remove) does with errors told.
pub struct FileSet {
    seed: u64,
    sets: Vec<Set>,
}

/// The files of one directory, count and kind of sizes.
struct Set {
    directory: PathBuf,
    count: u32,
    sizes: FileSizes,
    tree: Tree,
    contents: Contents,
    /// The action that everything is ready for.
    ready: Option<(FileAction, bool)>,
}

impl FileSet {
    /// No files yet. Sizes and contents follow from `seed`: sets of the same seed hold the same files,
    /// so give all arms that are compared the same one.
    pub fn new(seed: u64) -> Self {
        Self { seed, sets: Vec::new() }
    }

    /// Makes `work` in `directory` ready, unmeasured: see the table above. [`run`](Self::run) does this
    /// itself where it was not called, but then within the time that its caller accounts for.
    ///
    /// # Errors
    /// Whatever the file system refuses, with the path; [`LoadError::Interrupted`] when `stop` is set.
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

    /// Performs `work` on the files below `directory`, in an order that `seed` determines where the
    /// table above says so. When `stop` is set it ends between two files.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare); [`LoadError::FileContent`] when a file does not hold what was
    /// written.
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
            // What these leave to be written must not be paid for by the next arm.
            cold::flush(&open)?;
        }
        Ok(tally.measured(metadata_cold, interrupted))
    }

    /// Removes every file and folder that this made, and nothing else: a folder in which something
    /// else lies stays.
    ///
    /// # Errors
    /// The first thing that could not be removed; the others are tried all the same.
    pub fn remove(&mut self) -> Result<(), LoadError> {
        let mut first = Ok(());
        // A set of which something is left stays known: what is in its way may go.
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
        // Nobody is left to be told; `remove` is there for those who want to know.
        let _ = self.remove();
    }
}

fn cpu_ns() -> u64 {
    clock::process_cpu_ns()
}
