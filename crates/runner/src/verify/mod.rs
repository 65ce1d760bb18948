//! After the trials, checks that data written through each arm can be read back intact after the arm was closed and
//! reopened, and that its stored data contains no plaintext.
//!
//! Writes a marked pattern to the arm's I/O target and, if the arm has files, to files with known names, sizes
//! and times. Closes the arm, searches its stored data, reopens it, and reads the pattern back. Arms that do
//! not encrypt prove that the search works.

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

use cryptbench_record::{Arm, ArmRole, Event, Evidence, Randomness, Sink, Trial};

use self::findings::{Finding, doubts, findings};
use self::inspect::{Failure, Subject, inspect};
use crate::RunError;
use crate::decide::arms::makes_a_disk;
use crate::decide::fit::Pace;
use crate::decide::limits::{INSPECTED, INSPECTED_WITHIN};
use crate::measure::Measured;
use crate::prepare::Prepared;
use crate::recorder::Recorder;

/// The measurements, with the results of the inspection.
pub(crate) struct Verified<'a> {
    /// The gravest violation.
    pub(crate) found: Option<RunError>,
    pub(crate) measured: Measured<'a>,
}

impl<'a> Measured<'a> {
    /// Inspects the stored data of every arm and records the findings. Skips storage that is only read, because
    /// the proof requires writing. Skips everything after a halt, because storage that failed under load may
    /// hang when it is closed, so it is only removed. Skips runs without measurements.
    pub(crate) fn verify(mut self, recorder: &mut Recorder<'_>) -> Verified<'a> {
        let Prepared { up, recorded, halt, claimed } = &mut self.prepared;
        let counts = |trial: &Trial| trial.block.is_some();
        let is_empty = !recorder.so_far().trials.iter().any(counts);
        let found = match halt.is_some() || claimed.plan.storage.is_only_read() || is_empty {
            true => None,
            false => {
                let mut arms: Vec<_> = up.arms.iter_mut().map(|arm| &mut arm.prepared).collect();
                let time_s = recorded.budget_s * INSPECTED - claimed.clock.elapsed().as_secs_f64();
                let effort = match claimed.plan.earlier {
                    Some(_) => Effort::FULL,
                    None => Effort::within(time_s / arms.len().max(1) as f64, &claimed.pace),
                };
                claimed.end_within(INSPECTED_WITHIN);
                let proof = gather(&mut arms, &recorded.arms, effort, claimed.stop, recorder);
                if proof.was_cut && claimed.time.is_over() {
                    recorder.note(NOT_ALL.to_owned());
                }
                proof.notes.into_iter().for_each(|note| recorder.note(note));
                let doubts = doubts(&recorded.arms, &proof.evidence);
                doubts.into_iter().for_each(|note| recorder.note(note));
                recorder.take(&Event::Evidence { evidence: proof.evidence });
                claimed.time.end_after(None);
                proof.error
            }
        };
        Verified { found, measured: self }
    }
}

/// The note of a run whose time was up before everything was inspected.
const NOT_ALL: &str =
    "There was no time to inspect the stored data of all choices; use a larger --budget.";

/// Seconds to close and reopen a choice on an idle machine, and the number of requests that wait for the disk.
const REOPEN_S: f64 = 0.5;
const REQUESTS: f64 = 40.0;

/// How much of a choice's storage is inspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effort {
    /// Bytes that are written to the I/O target and read back, if it is that large.
    region: u64,
    /// Minimum number of bytes to search, however long that takes.
    search: u64,
}

impl Effort {
    pub(crate) const FULL: Self = Self { region: write::REGION, search: scan::LEAST };

    /// Bytes that can be processed in this many seconds per choice.
    fn within(seconds: f64, pace: &Pace) -> Self {
        let left = (seconds - REOPEN_S - REQUESTS * pace.request_s).max(0.0);
        let region = left / 2.0 / (1.0 / pace.write + 2.0 / pace.read);
        let search = left / 3.0 * pace.read;
        Self {
            region: (region as u64).clamp(write::LEAST_REGION, write::REGION),
            search: (search as u64).clamp(2 * write::LEAST_REGION, scan::LEAST),
        }
    }

    /// Seconds for a choice.
    fn seconds(self, is_own: bool, pace: &Pace) -> f64 {
        let (region, search) = (self.region as f64, if is_own { self.search as f64 } else { 0.0 });
        let reopen_s = if is_own { REOPEN_S + REQUESTS * pace.request_s } else { 0.0 };
        region / pace.write + (2.0 * region + search) / pace.read + reopen_s
    }
}

/// Seconds to inspect all choices without time pressure.
pub(crate) fn usual_s(prepared: &Prepared<'_>) -> f64 {
    if prepared.claimed.plan.storage.is_only_read() {
        return 0.0;
    }
    let pace = &prepared.claimed.pace;
    let arms = prepared.up.arms.iter();
    arms.map(|arm| Effort::FULL.seconds(makes_a_disk(&arm.spec), pace)).sum()
}

/// Maximum number of bytes that the inspection writes and reads, for `arms` arms, of which `own` have separate
/// storage of about `each` bytes.
pub(crate) fn traffic(arms: u64, own: u64, each: u64) -> (u64, u64) {
    let written = arms * (write::REGION + known_plaintext::BYTES);
    // The written data is read back. For arms with separate storage, all of that storage is then searched; for the
    // other arms, only the written data.
    (written, 2 * written + own * each.min(scan::MOST))
}

/// The result of inspecting all arms.
#[derive(Default)]
pub(crate) struct Proof {
    /// The evidence of each arm, in the order of the arms.
    pub(crate) evidence: Vec<Evidence>,
    /// All violations, one sentence each.
    pub(crate) notes: Vec<String>,
    /// The worst violation: a system that should encrypt and does not, otherwise a system that lost data, otherwise the
    /// first system that could not be inspected.
    pub(crate) error: Option<RunError>,
    /// Whether the inspection was stopped before everything was inspected.
    pub(crate) was_cut: bool,
}

/// Inspects every arm, one after the other, until `stop` is set. Leaves out plain storage, because the repeated
/// plain arm covers it.
pub(crate) fn gather<S: Subject>(
    subjects: &mut [S],
    arms: &[Arm],
    effort: Effort,
    stop: &AtomicBool,
    sink: &mut dyn Sink,
) -> Proof {
    let (mut proof, mut found) = (Proof::default(), Vec::new());
    for (subject, arm) in subjects.iter_mut().zip(arms) {
        if arm.role == ArmRole::Plain {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            proof.was_cut = true;
            break;
        }
        sink.take(&Event::Checking { arm: arm.id.clone().into() });
        let mut evidence = Evidence { arm: arm.id.clone(), ..Evidence::default() };
        let failed = inspect(subject, &mut evidence, effort, stop).err();
        if let Some(scan) = evidence.scan.as_mut().filter(|_| arm.role != ArmRole::Encrypted) {
            scan.randomness = Randomness::Untold;
        }
        if let Some(Failure::Stopped) = failed {
            evidence.failure = Some("the run was interrupted".to_owned());
            // The results of the search count even if later steps are missing.
            let more = findings(arm, &evidence, None);
            if !more.is_empty() {
                found.extend(more);
                proof.evidence.push(evidence);
            }
            proof.was_cut = true;
            break;
        }
        found.extend(findings(arm, &evidence, failed));
        proof.evidence.push(evidence);
    }
    proof.notes = found.iter().map(|f| f.note.clone()).collect();
    // The sort is stable, so this is the first of the most serious findings.
    found.sort_by_key(|f| f.gravity);
    proof.error = found.into_iter().next().map(|Finding { error, .. }| error);
    proof
}

#[cfg(test)]
mod tests;
