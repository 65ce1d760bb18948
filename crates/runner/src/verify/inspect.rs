//! Looking at one arm: written to, taken down to its data at rest, searched, brought up again, read back.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_blockdev::IoTarget;
use cryptbench_os::files;
use cryptbench_record::{Evidence, Names, Rest, Reveals};
use cryptbench_system::{self as system, Backing, Content, PreparedArm, SystemError};
use cryptbench_text::chain;

use super::known_plaintext::{self, Known};
use super::pattern::Pattern;
use super::scan::{self, Found};
use super::tree::Tree;
use super::{leaks, read_back, signature, write};
use crate::measure::lower_cache::{forget, write_back};

/// What is looked at.
pub(crate) trait Subject {
    /// Where requests go; while it rests, nowhere.
    fn io_target(&self) -> &IoTarget;
    /// Where its files are, if it has files.
    fn files(&self) -> Option<&Path>;
    /// What lies on the storage, if that is known.
    fn backing(&self) -> Option<&Backing>;
    /// Closes it: only its data at rest are left.
    fn close(&mut self) -> Result<system::Closed, SystemError>;
    /// Opens it again over the same data.
    fn reopen(&mut self) -> Result<(), SystemError>;
}

impl Subject for PreparedArm {
    fn io_target(&self) -> &IoTarget {
        &self.io_target
    }

    fn files(&self) -> Option<&Path> {
        self.covers_files.then_some(&*self.directory)
    }

    fn backing(&self) -> Option<&Backing> {
        self.backing()
    }

    fn close(&mut self) -> Result<system::Closed, SystemError> {
        self.close()
    }

    fn reopen(&mut self) -> Result<(), SystemError> {
        self.reopen()
    }
}

/// Why an arm could not be looked at, or not to the end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The storage failed while the pattern was written, or what lies there was read.
    Storage(&'static str, io::Error),
    /// It could not be taken down to its data at rest, or did not come up again, or ended while it was read.
    System(SystemError),
    /// The run is to end.
    Stopped,
}

impl Failure {
    fn storage(act: &'static str) -> impl Fn(io::Error) -> Self {
        move |e| match e.kind() {
            // Of a signal nobody hears here: this is how a search says that it was stopped.
            io::ErrorKind::Interrupted => Self::Stopped,
            _ => Self::Storage(act, e),
        }
    }

    /// As the record has it.
    fn in_words(&self) -> Option<String> {
        match self {
            Self::Storage(act, e) => Some(format!("cannot {act}: {e}")),
            Self::System(e) => Some(chain(e)),
            Self::Stopped => None,
        }
    }
}

/// The error by which something long says that `stop` was set.
pub(super) fn go_on(stop: &AtomicBool) -> io::Result<()> {
    match stop.load(Ordering::Relaxed) {
        true => Err(io::ErrorKind::Interrupted.into()),
        false => Ok(()),
    }
}

/// Looks at an arm and notes what is found; what has failed is noted too.
pub(super) fn inspect(
    subject: &mut impl Subject,
    evidence: &mut Evidence,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let result = all_of(subject, evidence, stop);
    if let Err(failure) = &result {
        evidence.failure = failure.in_words();
    }
    result
}

fn all_of(
    subject: &mut impl Subject,
    evidence: &mut Evidence,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let pattern = Pattern::new();
    let known = subject.files().is_some().then(|| Known::new(&pattern));
    let backing = subject.backing().cloned();
    let before = backing.as_ref().map(trees).unwrap_or_default();
    let writing = Failure::storage("write what is to be found again");
    let region = write::io_target(subject.io_target(), &pattern, stop).map_err(&writing)?;
    if let (Some(known), Some(root)) = (&known, subject.files()) {
        write::files(root, known, &pattern, stop).map_err(&writing)?;
    }
    evidence.written_bytes = region + known.as_ref().map_or(0, |_| known_plaintext::BYTES);
    evidence.rest = in_record(subject.close().map_err(Failure::System)?);
    let what = Written { before: &before, pattern: &pattern, region, known: known.as_ref() };
    let searched = match &backing {
        Some(backing) => search(backing, &what, evidence, stop)
            .map_err(Failure::storage("read what lies on the storage")),
        None => {
            evidence.not_scanned = Some("nobody knows where it keeps its data".to_owned());
            Ok(())
        }
    };
    // What was stopped is not brought up only to be taken down.
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

/// What was written.
struct Written<'a> {
    before: &'a [Tree],
    pattern: &'a Pattern,
    region: u64,
    known: Option<&'a Known>,
}

/// Reads what was written, and removes the files.
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
            return Err(Failure::Storage("read what was written, for who serves it has ended", e));
        }
        Err(e) => evidence.lost = Some(format!("what was written cannot be read: {e}")),
    }
    if let (Some(known), Some(root)) = (what.known, subject.files()) {
        write::remove(root, known);
    }
    Ok(())
}

/// Searches what lies at rest and says what shows. Before and after, nothing of it is in the page cache: what is
/// searched, and what is read when it is brought up again, comes from the storage.
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
            "its content lies among that of the target's file system, whose device was not read"
                .to_owned(),
        );
    } else {
        let Written { before, pattern, region, known } = *what;
        let Found { mut scan, names, weak } =
            scan::search(backing, before, pattern, region, known, stop)?;
        // Of what others use too only the region is searched, all of which is there.
        let alone = backing.content.iter().all(|c| matches!(c, Content::Path(_)));
        if alone && !scan::is_telling(&scan, evidence.written_bytes) {
            let problem = format!(
                "{} lie there and {} of them could be read, where {} were written",
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

/// Writes what lies at rest back to the device and drops it from the page cache.
fn drop_from_cache(backing: &Backing) -> io::Result<()> {
    for content in &backing.content {
        match content {
            Content::Path(path) => {
                write_back(path)?;
                forget(path);
            }
            Content::IoTarget(io_target) => {
                io_target.file.sync_data()?;
                // Advice: where it is not followed, the device's counters show it.
                files::forget(&io_target.file);
            }
        }
    }
    Ok(())
}

/// What shows of files where none of those on the storage stands for one of the user's: all is in a container, or
/// there are none.
fn reveals(backing: &Backing, known: Option<&Known>, names: u64) -> Option<Reveals> {
    let container =
        backing.tree.is_none() && backing.content.iter().all(|c| matches!(c, Content::Path(_)));
    match known {
        Some(_) if container && names > 0 => {
            // Whoever reads the names reads the rest of the file system too.
            Some(Reveals { names: Some(Names::Plain), ..Reveals::default() })
        }
        Some(_) if container => Some(leaks::nothing()),
        _ => None,
    }
}

/// What lies at each place before the pattern is written.
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
