//! Removes the resources of a run and completes its record.

pub(crate) mod notes;

use cryptbench_record::{Event, Sink as _};
use cryptbench_text::chain;

use self::notes::{cut_short, few_requests, steady_note};
use crate::measure::Measured;
use crate::prepare::{Arm, Claimed, Prepared, PreparedTarget, Up};
use crate::recorder::Recorder;
use crate::verify::Verified;
use crate::{Halt, RunError};

/// How a run ended.
pub(crate) struct Finished {
    pub(crate) halt: Option<Halt>,
    /// The most serious fault in the arms' data.
    pub(crate) found: Option<RunError>,
    /// Whether something that was set up still exists.
    pub(crate) left_over: bool,
}

impl Verified<'_> {
    /// Removes everything in reverse order of set-up and completes the record.
    pub(crate) fn finish(self, recorder: &mut Recorder<'_>) -> Finished {
        let Self { found, measured: Measured { files, prepared, .. } } = self;
        let Prepared { up, halt, claimed, .. } = prepared;
        if let Some(Halt::Failed(error)) = &halt {
            recorder.note(format!("The run ended early: {}.", chain(error)));
        }
        let Up { volumes, arms, left_over: mut left } = up;
        let Claimed { plan, time, clock, reserve, encrypted, plain, emulation, throttled, .. } =
            claimed;
        // The files are in file systems that are removed with the arms, and unused containers are in
        // directories that are removed with the targets.
        drop((files, volumes, reserve));
        left.extend(take_down(arms));
        left.extend(encrypted.into_iter().rev().flat_map(PreparedTarget::take_down));
        left.extend(plain.take_down());
        let emulated = emulation.map(|mut emulation| {
            let described = emulation.describe();
            left.extend(emulation.take_down().err().map(|error| {
                format!("The emulated device could not be removed: {}.", chain(&error))
            }));
            described
        });
        let left_over = !left.is_empty();
        left.into_iter().for_each(|note| recorder.tell(note));
        let so_far = recorder.so_far();
        let mut notes = Vec::new();
        if plan.precondition > 0 {
            notes.extend(steady_note(&so_far.plan, &so_far.trials));
        }
        notes.extend(few_requests(&so_far.plan, &so_far.trials));
        let partial = halt.is_some() || time.is_stopped() || cut_short(&so_far.plan, &so_far.stops);
        notes.into_iter().for_each(|note| recorder.note(note));
        let now = cryptbench_os::machine::throttled();
        let since = now.zip(throttled).map(|(now, before)| now.saturating_sub(before));
        recorder.take(&Event::End {
            elapsed_s: clock.elapsed().as_secs_f64(),
            partial,
            emulated,
            throttled_s: since.map(|since| since.as_secs_f64()),
        });
        Finished { halt, found, left_over }
    }
}

/// Removes the arms in reverse order; returns a sentence for each failure.
pub(crate) fn take_down(arms: Vec<Arm>) -> Vec<String> {
    let down = |arm: Arm| arm.prepared.destroy().err();
    let remains = |error| {
        let error = chain(&error);
        format!("A system could not be removed ({error}); cryptbench cleanup will try again.")
    };
    arms.into_iter().rev().filter_map(down).map(remains).collect()
}
