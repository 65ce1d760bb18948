//! Reconstructs a run's record from its events.

use crate::{Event, Record, Sink, StopReason, Trial, Workload, WorkloadStop, complete_blocks};

/// The note in the record of a killed run.
const KILLED: &str =
    "The run was killed before it could write its record: these are the results in its log.";

/// Reconstructs a run's record event by event.
#[derive(Clone, Debug)]
pub struct Fold {
    record: Record,
    /// Number of complete blocks of each workload.
    pairs: Vec<u32>,
    ended: bool,
}

impl Fold {
    /// Starts with the record as known before the measurement, or with the record of a run that is resumed.
    pub fn begin(record: Record) -> Self {
        let pairs_of = |w: &Workload| complete_blocks(&record.trials, &w.id);
        let pairs = record.plan.workloads.iter().map(pairs_of).collect();
        Self { pairs, ended: false, record }
    }

    /// Drops the data recorded at the end of the run, the trials of incomplete blocks, and the notes, which are
    /// added again. A resumed run repeats these blocks, and no pair spans two parts of a run.
    fn resume(&mut self) {
        let Self { record, pairs, ended } = self;
        let plan = &record.plan;
        record.trials.retain(|trial| {
            let at = plan.workloads.iter().position(|w| w.id == trial.workload);
            trial.block.is_none_or(|block| at.is_some_and(|at| block < pairs[at]))
        });
        record.notes.clear();
        record.evidence.clear();
        record.stops.clear();
        *ended = false;
    }

    /// The record so far.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The final record. If the run did not reach its end, the record is partial, with every
    /// completed trial.
    pub fn finish(self) -> Record {
        let Self { mut record, pairs, ended, .. } = self;
        let interrupted = |(w, pairs): (&Workload, &u32)| WorkloadStop {
            workload: w.id.clone(),
            reason: StopReason::Interrupted,
            pairs: *pairs,
            needs_s: None,
        };
        if record.stops.is_empty() || !ended {
            record.stops = record.plan.workloads.iter().zip(&pairs).map(interrupted).collect();
        }
        if !ended {
            record.partial = true;
            record.elapsed_s = until(&record.trials);
            record.notes.push(KILLED.to_owned());
        }
        record
    }
}

impl Sink for Fold {
    fn take(&mut self, event: &Event) {
        let record = &mut self.record;
        match event {
            Event::Prepared { plan, target, notes } => {
                record.plan = (**plan).clone();
                record.target = (**target).clone();
                if !notes.is_empty() {
                    record.notes.clone_from(notes);
                }
            }
            Event::Why(why) => record.why = Some((**why).clone()),
            Event::Measured(trial) => record.trials.push((**trial).clone()),
            Event::BlockEnd { workload, block: Some(block) } => {
                let at = record.plan.workloads.iter().position(|w| *workload == *w.id);
                if let Some(pairs) = at.and_then(|at| self.pairs.get_mut(at)) {
                    *pairs = (*pairs).max(block + 1);
                }
            }
            Event::Stops { stops } => record.stops.clone_from(stops),
            Event::Evidence { evidence } => record.evidence.clone_from(evidence),
            Event::Note { text, .. } => record.notes.push(text.clone()),
            Event::End { elapsed_s, partial, emulated, throttled_s } => {
                if let Some(more) = throttled_s {
                    *record.machine.limits.throttled_s.get_or_insert(0.0) += more;
                }
                (record.elapsed_s, record.partial) = (*elapsed_s, *partial);
                if emulated.is_some() {
                    record.target.emulated.clone_from(emulated);
                }
                self.ended = true;
            }
            Event::Resumed { .. } => self.resume(),
            Event::BlockEnd { block: None, .. }
            | Event::Start(_)
            | Event::Command { .. }
            | Event::Planned { .. }
            | Event::Filling { .. }
            | Event::Preparing { .. }
            | Event::Checking { .. }
            | Event::Begun { .. }
            | Event::Estimate { .. }
            | Event::Table { .. }
            | Event::Saved { .. }
            | Event::Study { .. } => {}
        }
    }
}

/// Seconds from the start of a run to the end of its last trial.
fn until(trials: &[Trial]) -> f64 {
    trials.last().map_or(0.0, |t| t.at_s + t.measured.elapsed_s)
}

fn fold_events(events: &[Event]) -> Option<Fold> {
    let (Event::Start(start), events) = events.split_first()? else { return None };
    let mut fold = Fold::begin((**start).clone());
    events.iter().for_each(|event| fold.take(event));
    Some(fold)
}

/// Reconstructs the record from the events of a log. The record of a killed run is partial, with
/// every completed trial.
///
/// `None` unless the events begin with the start of a run.
pub fn fold(events: &[Event]) -> Option<Record> {
    fold_events(events).map(Fold::finish)
}

/// The record of a run that is resumed: the trials of complete blocks, without anything recorded at
/// its end and without notes.
pub fn fold_to_resume(events: &[Event]) -> Option<Record> {
    let mut fold = fold_events(events)?;
    fold.take(&Event::Resumed { at_s: 0.0 });
    let mut record = fold.finish();
    record.notes.pop();
    Some(record)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Observation, Plan, Target};

    fn start() -> Event {
        let workload = |id: &str| Workload { id: id.to_owned(), ..Workload::default() };
        let plan = Plan { workloads: vec![workload("a"), workload("b")], ..Plan::default() };
        let document = serde_json::json!({
            "schema": crate::SCHEMA, "program_version": "0", "run_id": "r", "started": "", "elapsed_s": 0.0,
            "partial": false, "plan": plan, "machine": crate::Machine::default(),
            "target": Target::default(), "trials": [], "stops": [], "notes": ["at the start"],
        });
        Event::Start(Box::new(serde_json::from_value(document).unwrap()))
    }

    pub(crate) fn trial(workload: &str, block: Option<u32>, at_s: f64) -> Event {
        let workload = workload.to_owned();
        let measured = Observation { elapsed_s: 0.5, ..Observation::default() };
        Event::Measured(Box::new(Trial { workload, block, at_s, measured, ..Trial::default() }))
    }

    fn note(text: &str) -> Event {
        Event::Note { text: text.to_owned(), aside: false }
    }

    pub(crate) fn end(workload: &str, block: u32) -> Event {
        Event::BlockEnd { workload: workload.into(), block: Some(block) }
    }

    pub(crate) fn lines() -> Vec<Event> {
        vec![
            start(),
            trial("a", None, 0.0),
            trial("a", Some(0), 1.0),
            trial("a", Some(0), 2.0),
            end("a", 0),
            trial("b", Some(0), 3.0),
        ]
    }

    #[test]
    fn a_log_adds_up_to_a_partial_record_with_every_trial() {
        let record = fold(&lines()).unwrap();
        assert!(record.partial);
        assert_eq!((record.trials.len(), record.elapsed_s), (4, 3.5));
        assert_eq!([record.stops[0].pairs, record.stops[1].pairs], [1, 0]);
        assert_eq!(record.notes, ["at the start", KILLED]);
        assert!(fold(&lines()[1..]).is_none());
    }

    #[test]
    fn what_goes_on_begins_incomplete_blocks_anew() {
        let record = fold_to_resume(&lines()).unwrap();
        assert_eq!(record.trials.len(), 3, "the discarded trial and block 0 of a");
        assert!(record.notes.is_empty(), "they come again");
        let mut more = lines();
        more.push(Event::Resumed { at_s: 4.0 });
        more.extend([trial("b", Some(0), 4.0), trial("b", Some(0), 5.0), end("b", 0)]);
        let record = fold(&more).unwrap();
        assert_eq!((record.trials.len(), record.stops[1].pairs), (5, 1));
    }

    #[test]
    fn a_run_that_ended_is_what_it_said_at_its_end_until_it_goes_on() {
        let mut lines = lines();
        lines.push(note("at the end"));
        lines.push(Event::End { elapsed_s: 9.0, partial: true, emulated: None, throttled_s: None });
        let record = fold(&lines).unwrap();
        assert_eq!(record.elapsed_s, 9.0);
        assert_eq!(record.notes, ["at the start", "at the end"]);
        let record = fold_to_resume(&lines).unwrap();
        assert_eq!((record.trials.len(), record.elapsed_s), (3, 2.5));
        lines.extend([Event::Resumed { at_s: 9.0 }, note("at the start"), note("resumed")]);
        assert_eq!(fold(&lines).unwrap().notes, ["at the start", "resumed", KILLED]);
    }
}
