//! The record of a run as it grows. Every line goes to the log that the observer keeps and is added
//! up here, so the final record equals the log.

use cryptbench_record::{self as record, Fold, Line, Record};

use crate::decide::Plan;
use crate::finish::Finished;
use crate::prepare::Claimed;
use crate::{Event, Halt, Observer, RunError, resumed};

/// Adds up the lines of a run, and passes them on.
pub(crate) struct Recorder<'a> {
    observer: &'a mut dyn Observer,
    fold: Fold,
    /// Notes from before the first trial, in sentences, until they are written to the log.
    notes: Option<Vec<String>>,
    /// Number of trials measured by an earlier part of the run.
    before: usize,
}

impl<'a> Recorder<'a> {
    /// Reports the plan and the target. From here on everything is logged.
    ///
    /// # Errors
    /// [`RunError::Usage`] if the run continues one with another plan or target.
    pub(crate) fn begin(
        plan: &Plan,
        claimed: &Claimed<'_>,
        program_version: &str,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, RunError> {
        let target = claimed.describe(&plan.recorded);
        observer.event(Event::Planned { plan: &plan.recorded, target: &target });
        let mut notes = claimed.notes.clone();
        for note in &notes {
            observer.event(Event::Note(note));
        }
        if let Some(earlier) = plan.earlier.as_deref() {
            resumed::check(earlier, &plan.recorded, &target, program_version)?;
            notes.push(format!(
                "The run was interrupted after {:.0} s and {} trials, and resumed later.",
                earlier.elapsed_s,
                earlier.trials.len()
            ));
            observer.log(&Line::Resumed { at_s: earlier.elapsed_s });
            let fold = Fold::begin(Record { stops: Vec::new(), ..earlier.clone() });
            return Ok(Self { observer, fold, notes: Some(notes), before: earlier.trials.len() });
        }
        let record = Record {
            schema: record::SCHEMA.to_owned(),
            program_version: program_version.to_owned(),
            run_id: plan.run_id.clone(),
            started: plan.started.clone(),
            elapsed_s: 0.0,
            partial: true,
            plan: plan.recorded.clone(),
            machine: claimed.machine.clone(),
            target,
            trials: Vec::new(),
            stops: Vec::new(),
            notes: notes.clone(),
            evidence: Vec::new(),
            in_ram: None,
            node: None,
            results: None,
            title: None,
        };
        observer.log(&Line::Start(Box::new(record.clone())));
        Ok(Self { observer, fold: Fold::begin(record), notes: Some(notes), before: 0 })
    }

    /// Adds a note for readers and reports it at once.
    pub(crate) fn tell(&mut self, note: String) {
        self.observer.event(Event::Note(&note));
        self.note(note);
    }

    /// Adds a note for readers of the record.
    pub(crate) fn note(&mut self, note: String) {
        match &mut self.notes {
            Some(notes) => notes.push(note),
            None => self.log(&Line::Note(note)),
        }
    }

    /// Reports that set-up is complete, with `plan` and `target` including everything found out
    /// meanwhile.
    pub(crate) fn prepared(&mut self, plan: &record::Plan, target: record::Target) {
        let notes = self.notes.take().unwrap_or_default();
        let plan = Box::new(plan.clone());
        self.log(&Line::Prepared { plan, target: Box::new(target), notes });
    }

    /// The record so far.
    pub(crate) fn so_far(&self) -> &Record {
        self.fold.record()
    }

    /// Completes the record. Also returns the error that halted the run, otherwise the one found
    /// in the arms' data, otherwise one for anything left over.
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

impl Observer for Recorder<'_> {
    fn event(&mut self, event: Event<'_>) {
        self.observer.event(event);
    }

    fn log(&mut self, line: &Line) {
        self.fold.add(line);
        self.observer.log(line);
    }
}
