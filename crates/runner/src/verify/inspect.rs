//! Inspects one arm: writes to it, closes it, searches its stored data, reopens it, and reads back.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_blockdev::IoTarget;
use cryptbench_os::files;
use cryptbench_record::{Evidence, Names, Rest, Reveals};
use cryptbench_system::{self as system, Backing, Content, PreparedArm, SystemError};
use cryptbench_text::chain;

use super::Effort;
use super::known_plaintext::{self, Known};
use super::pattern::Pattern;
use super::scan::{self, Found};
use super::tree::Tree;
use super::{leaks, read_back, signature, write};
use crate::measure::lower_cache::{forget, write_back};

/// The arms to inspect.
pub(crate) trait Subject {
    /// The target of requests; unusable while the subject is closed.
    fn io_target(&self) -> &IoTarget;
    /// The directory of its files, if it has any.
    fn files(&self) -> Option<&Path>;
    /// The stored data, if the location is known.
    fn backing(&self) -> Option<&Backing>;
    /// Closes it, so that only its stored data is left.
    fn close(&mut self) -> Result<system::Closed, SystemError>;
    /// Reopens it.
    fn reopen(&mut self) -> Result<(), SystemError>;
}

impl Subject for &mut PreparedArm {
    fn io_target(&self) -> &IoTarget {
        &self.io_target
    }

    fn files(&self) -> Option<&Path> {
        self.covers_files.then_some(&*self.directory)
    }

    fn backing(&self) -> Option<&Backing> {
        PreparedArm::backing(self)
    }

    fn close(&mut self) -> Result<system::Closed, SystemError> {
        PreparedArm::close(self)
    }

    fn reopen(&mut self) -> Result<(), SystemError> {
        PreparedArm::reopen(self)
    }
}

/// Why an arm could not be inspected completely.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The storage failed while the pattern was written or stored data was read.
    Storage(&'static str, io::Error),
    /// The system could not be closed or reopened, or it exited while its data was read.
    System(SystemError),
    /// The run should end.
    Stopped,
}

impl Failure {
    fn storage(act: &'static str) -> impl Fn(io::Error) -> Self {
        move |e| match e.kind() {
            // Signals do not interrupt calls here: a search that was stopped returns this error.
            io::ErrorKind::Interrupted => Self::Stopped,
            _ => Self::Storage(act, e),
        }
    }

    /// The reason in words for the record; `None` if the inspection was stopped.
    fn in_words(&self) -> Option<String> {
        match self {
            Self::Storage(act, e) => Some(format!("cannot {act}: {e}")),
            Self::System(e) => Some(chain(e)),
            Self::Stopped => None,
        }
    }
}

/// The error by which a long operation reports that `stop` was set.
pub(super) fn go_on(stop: &AtomicBool) -> io::Result<()> {
    match stop.load(Ordering::Relaxed) {
        true => Err(io::ErrorKind::Interrupted.into()),
        false => Ok(()),
    }
}

/// Inspects an arm and records the findings, including failures.
pub(super) fn inspect(
    subject: &mut impl Subject,
    evidence: &mut Evidence,
    effort: Effort,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let result = all_of(subject, evidence, effort, stop);
    if let Err(failure) = &result {
        evidence.failure = failure.in_words();
    }
    result
}

fn all_of(
    subject: &mut impl Subject,
    evidence: &mut Evidence,
    effort: Effort,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let pattern = Pattern::new();
    let known = subject.files().is_some().then(|| Known::new(&pattern));
    let backing = subject.backing().cloned();
    let before = backing.as_ref().map(trees).unwrap_or_default();
    let writing = Failure::storage("write the test pattern");
    let region =
        write::io_target(subject.io_target(), &pattern, effort.region, stop).map_err(&writing)?;
    if let (Some(known), Some(root)) = (&known, subject.files()) {
        write::files(root, known, &pattern, stop).map_err(&writing)?;
    }
    evidence.written_bytes = region + known.as_ref().map_or(0, |_| known_plaintext::BYTES);
    evidence.rest = in_record(subject.close().map_err(Failure::System)?);
    let least = effort.search;
    let what = Written { before: &before, pattern: &pattern, region, known: known.as_ref(), least };
    let searched = match &backing {
        Some(backing) => {
            search(backing, &what, evidence, stop).map_err(Failure::storage("read the stored data"))
        }
        None => {
            evidence.not_scanned = Some("the location of its stored data is unknown".to_owned());
            Ok(())
        }
    };
    // After a stop, an arm is not reopened only to be removed.
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Stopped);
    }
    match subject.reopen() {
        Ok(()) => {}
        Err(e @ SystemError::Lost { .. }) => {
            evidence.lost = Some(chain(&e));
            return searched;
        }
        Err(e) => return Err(Failure::System(e)),
    }
    read_back(subject, &what, evidence, stop)?;
    searched
}

/// The written data.
struct Written<'a> {
    before: &'a [Tree],
    pattern: &'a Pattern,
    region: u64,
    known: Option<&'a Known>,
    /// Minimum number of bytes to search, however long that takes.
    least: u64,
}

/// Verifies the written data, and removes the files.
fn read_back(
    subject: &impl Subject,
    what: &Written<'_>,
    evidence: &mut Evidence,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let read = read_back::io_target(subject.io_target(), what.pattern, what.region, stop).and_then(
        |bytes| match (what.known, subject.files()) {
            (Some(known), Some(root)) => {
                Ok(bytes + read_back::files(root, known, what.pattern, stop)?)
            }
            _ => Ok(bytes),
        },
    );
    match read {
        Ok(bytes) => evidence.verified_bytes = bytes,
        Err(e) if e.kind() == io::ErrorKind::Interrupted => return Err(Failure::Stopped),
        Err(e) if files::server_is_gone(&e) => {
            return Err(Failure::Storage(
                "read the written data, because its server process has exited",
                e,
            ));
        }
        Err(e) => evidence.lost = Some(format!("the written data cannot be read: {e}")),
    }
    if let (Some(known), Some(root)) = (what.known, subject.files()) {
        write::remove(root, known);
    }
    Ok(())
}

/// Searches the stored data and records the result. Drops it from the page cache before and after, so that both
/// the search and the reopened arm read from the storage.
fn search(
    backing: &Backing,
    what: &Written<'_>,
    evidence: &mut Evidence,
    stop: &AtomicBool,
) -> io::Result<()> {
    drop_from_cache(backing)?;
    let found = search_dropped(backing, what, evidence, stop);
    drop_from_cache(backing)?;
    found
}

fn search_dropped(
    backing: &Backing,
    what: &Written<'_>,
    evidence: &mut Evidence,
    stop: &AtomicBool,
) -> io::Result<()> {
    if backing.content.is_empty() {
        evidence.not_scanned = Some(
            "its data is stored within the target's file system, whose device was not read"
                .to_owned(),
        );
    } else {
        let Written { before, pattern, region, known, least } = *what;
        let Found { mut scan, names, weak } =
            scan::search(backing, before, pattern, (region, least), known, stop)?;
        // In storage shared with other arms, only the region is searched, and all of it exists.
        let alone = backing.content.iter().all(|c| matches!(c, Content::Path(_)));
        if alone && !scan::is_telling(&scan, evidence.written_bytes, least) {
            let problem = format!(
                "only {} bytes are stored and {} of them could be read, although {} were written",
                scan.stored_bytes, scan.scanned_bytes, evidence.written_bytes
            );
            return Err(io::Error::other(problem));
        }
        scan.randomness = scan::randomness(backing.random, &scan, weak, evidence.written_bytes);
        evidence.scan = Some(scan);
        evidence.reveals = reveals(backing, known, names);
    }
    if let (Some(tree), Some(known)) = (&backing.tree, what.known) {
        let old = what.before.iter().find(|t| t.root == *tree).cloned();
        let found = Tree::of(tree);
        let fresh = found.since(old.as_ref());
        evidence.reveals = Some(leaks::reveals(known, &fresh));
    }
    if let Some(reveals) = &mut evidence.reveals {
        reveals.signatures = signature::of(backing);
    }
    Ok(())
}

/// Writes the stored data to the device and drops it from the page cache.
fn drop_from_cache(backing: &Backing) -> io::Result<()> {
    for content in &backing.content {
        match content {
            Content::Path(path) => {
                write_back(path)?;
                forget(path);
            }
            Content::IoTarget(io_target) => {
                io_target.file.sync_data()?;
                // Advice only: if the kernel ignores it, the device's counters show it.
                files::forget(&io_target.file);
            }
        }
    }
    Ok(())
}

/// What is revealed about files if stored files do not correspond to the user's files, because everything is in a
/// container or there are no files.
fn reveals(backing: &Backing, known: Option<&Known>, names: u64) -> Option<Reveals> {
    let container =
        backing.tree.is_none() && backing.content.iter().all(|c| matches!(c, Content::Path(_)));
    match known {
        Some(_) if container && names > 0 => {
            // Anyone who can read the names can also read the rest of the file system.
            Some(Reveals { names: Some(Names::Plain), ..Reveals::default() })
        }
        Some(_) if container => Some(leaks::nothing()),
        _ => None,
    }
}

/// The stored files of each location before the pattern is written.
fn trees(backing: &Backing) -> Vec<Tree> {
    let content = backing.content.iter().filter_map(|content| match content {
        Content::Path(path) => Some(path),
        Content::IoTarget(_) => None,
    });
    let mut roots: Vec<_> = content.chain(&backing.tree).collect();
    roots.dedup();
    roots.into_iter().map(|path| Tree::of(path)).collect()
}

fn in_record(closed: system::Closed) -> Rest {
    match closed {
        system::Closed::CacheDropped => Rest::CacheDropped,
        system::Closed::Unmounted => Rest::Unmounted,
        system::Closed::KeyRemoved => Rest::KeyRemoved,
    }
}
