//! After the trials: what was written through each arm comes back after it lay at rest, and what lies there meanwhile
//! shows no plaintext.
//!
//! A marked pattern is written into the I/O target of the arm, and into files of known names, sizes and times where it
//! has files. The arm is taken down to its data at rest, what lies on the storage is searched, the arm is brought up
//! again, and the pattern is read back. Arms that encrypt nothing prove that the search finds what is there.

mod findings;
mod inspect;
mod known_plaintext;
mod leaks;
mod pattern;
mod pieces;
mod read_back;
mod scan;
mod signature;
mod tree;
mod write;

use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_record::{Arm, ArmRole, Evidence, Line, Randomness};

use self::findings::{Finding, doubts, findings};
use self::inspect::{Failure, Subject, inspect};
use crate::prepare::Session;
use crate::recorder::Recorder;
use crate::{Event, Observer, RunError};

impl Session<'_> {
    /// Looks at what every arm stores, and notes what is found. The gravest of what is not as it must be comes back.
    pub(crate) fn verify(&mut self, recorder: &mut Recorder<'_>) -> Option<RunError> {
        let plan = &self.recorded;
        let proof = gather(&mut self.arms, &plan.arms, self.stop, recorder);
        proof.notes.into_iter().for_each(|note| recorder.note(note));
        doubts(&plan.arms, &proof.evidence).into_iter().for_each(|note| recorder.note(note));
        recorder.log(&Line::Evidence(proof.evidence));
        proof.error
    }
}

/// Bytes that looking at arms writes and reads at most: at `arms` of them, `own` of which keep what they store, of
/// about `each` bytes, in a place of their own.
pub(crate) fn traffic(arms: u64, own: u64, each: u64) -> (u64, u64) {
    let written = arms * (write::REGION + known_plaintext::BYTES);
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
    let (mut proof, mut found) = (Proof::default(), Vec::new());
    for (subject, arm) in subjects.iter_mut().zip(arms) {
        if arm.role == ArmRole::Plain {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        observer.event(Event::Checking { what: &arm.label });
        let mut evidence = Evidence { arm: arm.id.clone(), ..Evidence::default() };
        let failed = inspect(subject, &mut evidence, stop).err();
        if let Some(scan) = evidence.scan.as_mut().filter(|_| arm.role != ArmRole::Encrypted) {
            scan.randomness = Randomness::Untold;
        }
        if let Some(Failure::Stopped) = failed {
            evidence.failure = Some("the run was interrupted".to_owned());
            // What the search found counts, whatever is missing after it.
            let more = findings(arm, &evidence, None);
            if !more.is_empty() {
                found.extend(more);
                proof.evidence.push(evidence);
            }
            break;
        }
        found.extend(findings(arm, &evidence, failed));
        proof.evidence.push(evidence);
    }
    proof.notes = found.iter().map(|f| f.note.clone()).collect();
    // The first of the gravest: a stable sort.
    found.sort_by_key(|f| f.gravity);
    proof.error = found.into_iter().next().map(|Finding { error, .. }| error);
    proof
}

#[cfg(test)]
mod tests;
