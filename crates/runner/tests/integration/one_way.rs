//! The announced plan is the real one, and the record equals the log.

use std::sync::atomic::AtomicBool;

use cryptbench_record::{Event, Record, fold};
use cryptbench_runner::{Request, dry_run, run};

use crate::request::request;

fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

fn measured(request: &Request, stop: &AtomicBool) -> (Record, Vec<Event>) {
    let mut kept = Vec::new();
    let mut keep = |event: &Event| kept.extend(event.is_kept().then(|| event.clone()));
    let (record, error) = run(request, "0.0.0", stop, &mut keep).unwrap();
    assert!(error.is_none(), "{error:?}");
    (record, kept)
}

#[test]
fn a_dry_run_plans_what_a_run_announces_and_the_record_is_what_was_written_down() {
    let directory = tempfile::tempdir().unwrap();
    let request = request(directory.path());
    let dry = dry_run(&request, None).unwrap();
    let (record, lines) = measured(&request, &AtomicBool::new(false));
    let Some(Event::Start(start)) = lines.first() else { panic!("{lines:?}") };
    assert_eq!(text(&dry.plan), text(&start.plan));
    assert_eq!(dry.scratch.0, start.target.scratch.size_bytes);
    assert!(matches!(lines.last(), Some(Event::End { partial: false, .. })));
    assert_eq!(text(&fold(&lines).unwrap()), text(&record));
    assert!(record.trials.len() >= 2 * record.plan.arms.len() && !record.evidence.is_empty());
    // The run leaves nothing behind.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_run_that_is_stopped_at_once_has_a_record_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (record, lines) = measured(&request(directory.path()), &AtomicBool::new(true));
    assert!(record.partial && record.trials.is_empty());
    assert!(record.stops.iter().all(|stop| stop.pairs == 0) && record.stops.len() == 1);
    assert_eq!(text(&fold(&lines).unwrap()), text(&record));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
