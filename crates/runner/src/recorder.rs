//! The growing record of a run. Every event is sent to the caller's sink and accumulated here, so the final record
//! equals the log.

use cryptbench_record::{self as record, Event, Fold, Record, Sink};
use tracing::{debug, info};

use crate::decide::Plan;
use crate::finish::Finished;
use crate::prepare::Claimed;
use crate::{Halt, RunError, resumed};

/// Accumulates the events of a run, and passes them on.
pub(crate) struct Recorder<'a> {
    sink: &'a mut dyn Sink,
    fold: Fold,
    /// Number of trials measured by an earlier part of the run.
    before: usize,
}

impl<'a> Recorder<'a> {
    /// Reports the plan and the target, and the remarks on them.
    ///
    /// # Errors
    /// [`RunError::Usage`] if the run resumes one that has another plan or target.
    pub(crate) fn begin(
        plan: &Plan,
        claimed: &Claimed<'_>,
        program_version: &str,
        sink: &'a mut dyn Sink,
    ) -> Result<Self, RunError> {
        let (recorded, target) = (plan.recorded.clone(), claimed.describe(&plan.recorded));
        sink.take(&Event::Planned {
            plan: Box::new(recorded.clone()),
            target: Box::new(target.clone()),
        });
        let earlier = plan.earlier.as_deref();
        // Checked before anything is written to the log of the earlier run, because writing to that log would make the
        // earlier run a resumed run.
        if let Some(earlier) = earlier {
            resumed::check(earlier, &recorded, &target, program_version)?;
        }
        let record = earlier.cloned().unwrap_or_else(|| Record {
            schema: record::SCHEMA.to_owned(),
            program_version: program_version.to_owned(),
            run_id: plan.run_id.clone(),
            started: plan.started.clone(),
            elapsed_s: 0.0,
            partial: true,
            plan: recorded,
            machine: claimed.machine.clone(),
            target,
            trials: Vec::new(),
            stops: Vec::new(),
            notes: Vec::new(),
            evidence: Vec::new(),
            in_ram: None,
            why: None,
            node: None,
            results: None,
            title: None,
        });
        let event = match earlier {
            Some(earlier) => Event::Resumed { at_s: earlier.elapsed_s },
            None => Event::Start(Box::new(record.clone())),
        };
        let before = record.trials.len();
        let mut recorder = Self { sink, fold: Fold::begin(record), before };
        recorder.take(&event);
        claimed.notes.iter().for_each(|note| recorder.tell(note.clone()));
        if let Some(earlier) = earlier {
            recorder.note(format!(
                "The run was interrupted after {:.0} s and {before} trials, and resumed later.",
                earlier.elapsed_s,
            ));
        }
        Ok(recorder)
    }

    /// Adds a note for readers and reports it immediately.
    pub(crate) fn tell(&mut self, text: String) {
        self.take(&Event::Note { text, aside: false });
    }

    /// Adds a note for readers of the record.
    pub(crate) fn note(&mut self, text: String) {
        self.take(&Event::Note { text, aside: true });
    }

    /// The record so far.
    pub(crate) fn so_far(&self) -> &Record {
        self.fold.record()
    }

    /// Completes the record. Also returns the error that halted the run; otherwise the fault found in the arms'
    /// data; otherwise an error if resources could not be removed.
    ///
    /// # Errors
    /// The error that halted the run, if nothing was measured.
    pub(crate) fn end(self, finished: Finished) -> Result<(Record, Option<RunError>), RunError> {
        let Finished { halt, found, left_over } = finished;
        let error = match halt {
            Some(Halt::Failed(error)) if self.so_far().trials.len() == self.before => {
                return Err(error);
            }
            Some(Halt::Failed(error)) => Some(error),
            Some(Halt::Interrupted) | None => found,
        };
        let error = error.or(left_over.then_some(RunError::LeftOver));
        Ok((self.fold.finish(), error))
    }
}

impl Sink for Recorder<'_> {
    fn take(&mut self, event: &Event) {
        tell(event);
        self.fold.take(event);
        self.sink.take(event);
    }
}

/// Logs an event for users who follow the program step by step (`--verbose`).
fn tell(event: &Event) {
    match event {
        Event::Preparing { what, number, of, .. } => info!("arm {number} of {of}: {what}"),
        Event::Checking { arm } => info!("checks the data stored by {arm:?}"),
        Event::Note { text, .. } => info!("{text}"),
        Event::Begun { workload, arms, block, .. } => {
            debug!("measures {workload:?} on {arms:?}, block {block:?}");
        }
        Event::End { elapsed_s, .. } => info!("the run ends after {elapsed_s:.1} s"),
        _ => {}
    }
}
