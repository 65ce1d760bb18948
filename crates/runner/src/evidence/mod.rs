//! After the trials: what was written through each arm comes back after it lay at rest, and what lies there meanwhile
//! shows no plaintext.
//!
//! A marked pattern is written into the surface of the arm, and into files of known names, sizes and times where it
//! has files. The arm is taken down to its data at rest, what lies on the storage is searched, the arm is brought up
//! again, and the pattern is read back. Arms that encrypt nothing prove that the search finds what is there.

mod judge;
mod known;
mod leaks;
mod look;
mod pattern;
mod pieces;
mod scan;
mod signature;
mod tree;
mod verify;
mod write;

use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_record::{Arm, ArmRole, Evidence, Randomness};

pub(crate) use self::judge::doubts;
use self::judge::{Judgement, judge};
use self::look::{Failure, Subject, look};
use crate::{Event, Observer, RunError};

/// Bytes that looking at arms writes and reads at most: at `arms` of them, `own` of which keep what they store, of
/// about `each` bytes, in a place of their own.
pub(crate) fn traffic(arms: u64, own: u64, each: u64) -> (u64, u64) {
    let written = arms * (write::REGION + known::BYTES);
    // Read back, and searched: all of a place of its own, or what was written.
    (written, 2 * written + own * each.min(scan::MOST))
}

/// What looking at all arms brought.
#[derive(Default)]
pub(crate) struct Proof {
    /// What was found of each arm, in the order of the arms.
    pub(crate) evidence: Vec<Evidence>,
    /// All that is not as it must be, a sentence each.
    pub(crate) notes: Vec<String>,
    /// The worst of it: a system that should encrypt and does not, else one that lost what it was given, else the
    /// first that could not be looked at.
    pub(crate) error: Option<RunError>,
}

/// Looks at every arm but plain storage itself, which is looked at as it is set up again, one after the other, until
/// `stop` is set.
pub(crate) fn gather<S: Subject>(
    subjects: &mut [S],
    arms: &[Arm],
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Proof {
    let (mut proof, mut judged) = (Proof::default(), Vec::new());
    for (subject, arm) in subjects.iter_mut().zip(arms) {
        if arm.role == ArmRole::Plain {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        observer.event(Event::Checking { what: &arm.label });
        let mut evidence = Evidence { arm: arm.id.clone(), ..Evidence::default() };
        let failed = look(subject, &mut evidence, stop).err();
        if let Some(scan) = evidence.scan.as_mut().filter(|_| arm.role != ArmRole::Encrypted) {
            scan.randomness = Randomness::Untold;
        }
        if let Some(Failure::Stopped) = failed {
            evidence.failure = Some("the run was interrupted".to_owned());
            // What the search found counts, whatever is missing after it.
            let found = judge(arm, &evidence, None);
            if !found.is_empty() {
                judged.extend(found);
                proof.evidence.push(evidence);
            }
            break;
        }
        judged.extend(judge(arm, &evidence, failed));
        proof.evidence.push(evidence);
    }
    proof.notes = judged.iter().map(|j| j.note.clone()).collect();
    // The first of the gravest: a stable sort.
    judged.sort_by_key(|j| j.gravity);
    proof.error = judged.into_iter().next().map(|Judgement { error, .. }| error);
    proof
}

#[cfg(test)]
mod tests;
