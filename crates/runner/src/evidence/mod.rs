//! After the trials: what was written through each arm comes back after it lay at rest, and what lies there meanwhile
//! shows no plaintext.
//!
//! A marked pattern is written into the surface of the arm, and into files of known names, sizes and times where it
//! has files. The arm is taken down to its data at rest, what lies on the storage is searched, the arm is brought up
//! again, and the pattern is read back. Arms that encrypt nothing prove that the search finds what is there.

mod known;
mod leaks;
mod pattern;
mod pieces;
mod scan;
mod signature;
mod tree;
mod verify;
mod write;

use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_record::{Arm, ArmRole, Evidence, Names, Rest, Reveals};
use cryptbench_system::{self as system, Backing, Contender, Content};

use self::known::Known;
use self::pattern::Pattern;
use self::scan::Found;
use self::tree::Tree;
use crate::{Event, Observer, RunError};

/// Bytes that looking at arms writes and reads at most: at `arms` of them, `own` of which keep what they store, of
/// about `each` bytes, in a place of their own.
pub(crate) fn traffic(arms: u64, own: u64, each: u64) -> (u64, u64) {
    let written = arms * (write::REGION + known::BYTES);
    // Read back, and searched: all of a place of its own, or what was written.
    (written, 2 * written + own * each.min(scan::MOST))
}

/// Looks at every arm but plain storage itself, which is looked at as it is set up again, one after the other.
///
/// The error is the first system that should encrypt and wrote plaintext, or that did not give back what was written;
/// what was found is there all the same.
pub(crate) fn gather(
    contenders: &mut [Contender],
    arms: &[Arm],
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> (Vec<Evidence>, Option<RunError>) {
    let (mut all, mut first) = (Vec::new(), None);
    for (contender, arm) in contenders.iter_mut().zip(arms) {
        if arm.role == ArmRole::Plain {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        observer.event(Event::Checking { what: &arm.label });
        let mut evidence = Evidence { arm: arm.id.clone(), ..Evidence::default() };
        let failed = look(contender, &mut evidence)
            .map_err(|e| e.of(&arm.label))
            .inspect_err(|e| evidence.failure = Some(e.to_string()))
            .err();
        let judged = plaintext(arm, &evidence).or(failed).or_else(|| lost(arm, &evidence));
        all.push(evidence);
        first = first.or(judged);
    }
    (all, first)
}

/// Why an arm could not be looked at.
enum Failure {
    /// The storage failed while the pattern was written, or what lies there was read.
    Storage(&'static str, std::io::Error),
    /// It could not be taken down to its data at rest.
    Rest(system::SystemError),
    /// It did not come up again, or what was written could not be read.
    Gone(String),
}

impl Failure {
    fn of(self, arm: &str) -> RunError {
        match self {
            Self::Storage(act, source) => RunError::Storage { act, source },
            Self::Rest(e) => RunError::System(e),
            Self::Gone(problem) => RunError::NotKept { arm: arm.to_owned(), problem },
        }
    }
}

fn look(contender: &mut Contender, evidence: &mut Evidence) -> Result<(), Failure> {
    let storage = |act| move |e| Failure::Storage(act, e);
    let pattern = Pattern::new();
    let known = contender.covers_files.then(|| Known::new(&pattern));
    let backing = contender.backing().cloned();
    let before = backing.as_ref().map(trees).unwrap_or_default();
    let writing = storage("write what is to be found again");
    let region = write::surface(&contender.surface, &pattern).map_err(writing)?;
    if let Some(known) = &known {
        write::files(&contender.directory, known, &pattern).map_err(writing)?;
    }
    evidence.written_bytes = region + known.as_ref().map_or(0, |_| known::BYTES);
    evidence.rest = in_record(contender.rest().map_err(Failure::Rest)?);
    let searched = match &backing {
        Some(backing) => search(backing, &before, &pattern, region, known.as_ref(), evidence)
            .map_err(storage("read what lies on the storage")),
        None => {
            evidence.not_scanned = Some("nobody knows where it keeps its data".to_owned());
            Ok(())
        }
    };
    contender.wake().map_err(|e| Failure::Gone(e.to_string()))?;
    searched?;
    evidence.verified_bytes = verify::surface(&contender.surface, &pattern, region)
        .and_then(|bytes| match &known {
            Some(known) => Ok(bytes + verify::files(&contender.directory, known, &pattern)?),
            None => Ok(bytes),
        })
        .map_err(|e| Failure::Gone(e.to_string()))?;
    if let Some(known) = &known {
        write::remove(&contender.directory, known);
    }
    Ok(())
}

/// Searches what lies at rest and says what shows.
fn search(
    backing: &Backing,
    before: &[Tree],
    pattern: &Pattern,
    region: u64,
    known: Option<&Known>,
    evidence: &mut Evidence,
) -> std::io::Result<()> {
    if backing.content.is_empty() {
        evidence.not_scanned = Some(
            "its content lies among that of the target's file system, whose device was not read"
                .to_owned(),
        );
    } else {
        let Found { scan, names } = scan::search(backing, before, pattern, region, known)?;
        // Of what others use too only the region is searched, all of which is there.
        let alone = backing.content.iter().all(|c| matches!(c, Content::Path(_)));
        if alone && !scan::is_telling(&scan, evidence.written_bytes) {
            let problem = format!(
                "{} lie there and {} of them could be read, where {} were written",
                scan.stored_bytes, scan.scanned_bytes, evidence.written_bytes
            );
            return Err(std::io::Error::other(problem));
        }
        evidence.scan = Some(scan);
        evidence.reveals = reveals(backing, known, names);
    }
    if let (Some(tree), Some(known)) = (&backing.tree, known) {
        let old = before.iter().find(|t| t.root == *tree).cloned();
        let found = Tree::of(tree);
        let fresh = found.since(old.as_ref());
        evidence.reveals = Some(leaks::reveals(known, &fresh));
    }
    if let Some(reveals) = &mut evidence.reveals {
        reveals.signatures = signature::of(backing);
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
        Content::Surface(_) => None,
    });
    let mut roots: Vec<_> = content.chain(&backing.tree).collect();
    roots.dedup();
    roots.into_iter().map(|path| Tree::of(path)).collect()
}

fn in_record(rest: system::Rest) -> Rest {
    match rest {
        system::Rest::CacheDropped => Rest::CacheDropped,
        system::Rest::Unmounted => Rest::Unmounted,
        system::Rest::KeyRemoved => Rest::KeyRemoved,
    }
}

fn plaintext(arm: &Arm, evidence: &Evidence) -> Option<RunError> {
    let scan = evidence.scan.as_ref()?;
    if arm.role != ArmRole::Encrypted || scan.markers == 0 {
        return None;
    }
    let (file, offset) = scan.first_marker.clone().unwrap_or_default();
    Some(RunError::Plaintext { arm: arm.label.clone(), places: scan.markers, file, offset })
}

fn lost(arm: &Arm, evidence: &Evidence) -> Option<RunError> {
    (!evidence.is_verified()).then(|| RunError::NotKept {
        arm: arm.label.clone(),
        problem: format!(
            "of {} bytes that were written, {} came back as they were",
            evidence.written_bytes, evidence.verified_bytes
        ),
    })
}

/// What the record's notes say where an arm that encrypts nothing does not show what was written: then the search of
/// the others proves nothing either.
pub(crate) fn doubts(arms: &[Arm], evidence: &[Evidence]) -> Vec<String> {
    let unseen = |e: &&Evidence| e.shows_plaintext() == Some(false);
    evidence
        .iter()
        .filter(unseen)
        .filter_map(|e| arms.iter().find(|a| a.id == e.arm))
        .filter(|arm| arm.role != ArmRole::Encrypted)
        .map(|arm| {
            format!(
                "What was written through {}, which encrypts nothing, was not found on the storage: that it was \
                 not found below other systems proves nothing here.",
                arm.label
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use cryptbench_record::Scan;

    use super::*;

    fn arm(role: ArmRole) -> Arm {
        Arm { id: "a".to_owned(), label: "A".to_owned(), role, ..Arm::default() }
    }

    fn evidence(markers: u64, verified: u64) -> Evidence {
        let first_marker = (markers > 0).then(|| ("stored".to_owned(), 7));
        let scan = Scan { markers, first_marker, ..Scan::default() };
        Evidence {
            arm: "a".to_owned(),
            written_bytes: 9,
            verified_bytes: verified,
            scan: Some(scan),
            ..Evidence::default()
        }
    }

    #[test]
    fn plaintext_fails_only_who_should_encrypt() {
        let error = plaintext(&arm(ArmRole::Encrypted), &evidence(3, 9)).unwrap().to_string();
        assert!(error.contains("stored") && error.contains("not encrypt"), "{error}");
        assert!(plaintext(&arm(ArmRole::Encrypted), &evidence(0, 9)).is_none());
        assert!(plaintext(&arm(ArmRole::NullLayer), &evidence(3, 9)).is_none());
    }

    #[test]
    fn what_does_not_come_back_fails_whoever_it_is() {
        for role in [ArmRole::Encrypted, ArmRole::NullLayer, ArmRole::PlainAgain] {
            assert!(lost(&arm(role), &evidence(0, 8)).is_some());
            assert!(lost(&arm(role), &evidence(0, 9)).is_none());
        }
    }

    #[test]
    fn a_search_that_finds_nothing_where_there_is_something_is_doubted() {
        let (null, encrypted) = (arm(ArmRole::NullLayer), arm(ArmRole::Encrypted));
        assert_eq!(doubts(std::slice::from_ref(&null), &[evidence(0, 9)]).len(), 1);
        assert!(doubts(&[null], &[evidence(1, 9)]).is_empty());
        assert!(doubts(&[encrypted], &[evidence(0, 9)]).is_empty());
    }
}
