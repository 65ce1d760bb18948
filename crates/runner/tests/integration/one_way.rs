//! What is planned is what is announced, and what is written down is what the record says.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cryptbench_load::Profile;
use cryptbench_record::{Line, Record, fold};
use cryptbench_runner::{
    Consent, EngineChoice, Event, Observer, Request, TargetRequest, UnlockSelection, dry_run, run,
};
use cryptbench_system::Selection;

const PROFILE: &str = r#"
name = "reads"
description = "Reads."

[[workload]]
id = "read"
label = "read"
operation = "read"
pattern = "random"
block_size = "64KiB"
queue_depth = 1
headline = "iops"
"#;

fn request(path: &Path) -> Request {
    Request {
        target: TargetRequest {
            path: path.to_owned(),
            consent: Consent::default(),
            pair: None,
            emulate: None,
            size: Some(8 << 20),
            buffered: None,
        },
        profile: Profile::from_toml(PROFILE, "reads").unwrap(),
        selection: Selection::default(),
        unlock: UnlockSelection::default(),
        budget: Some(Duration::from_secs(60)),
        trials: Some(2),
        trial: Some(Duration::from_millis(20)),
        seed: Some(1),
        precision: 0.03,
        max_pairs: 2,
        engine: EngineChoice::Auto,
        verify: false,
        precondition: 0,
        resume: None,
    }
}

/// The lines of a run.
#[derive(Default)]
struct Lines(Vec<Line>);

impl Observer for Lines {
    fn event(&mut self, _: Event<'_>) {}

    fn log(&mut self, line: &Line) {
        self.0.push(line.clone());
    }
}

fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

fn measured(request: &Request, stop: &AtomicBool) -> (Record, Vec<Line>) {
    let mut lines = Lines::default();
    let (record, error) = run(request, "0.0.0", stop, &mut lines).unwrap();
    assert!(error.is_none(), "{error:?}");
    (record, lines.0)
}

#[test]
fn a_dry_run_plans_what_a_run_announces_and_the_record_is_what_was_written_down() {
    let directory = tempfile::tempdir().unwrap();
    let request = request(directory.path());
    let dry = dry_run(&request, None).unwrap();
    let (record, lines) = measured(&request, &AtomicBool::new(false));
    let Some(Line::Start(start)) = lines.first() else { panic!("{lines:?}") };
    assert_eq!(text(&dry.plan), text(&start.plan));
    assert_eq!(dry.scratch.0, start.target.scratch.size_bytes);
    assert!(matches!(lines.last(), Some(Line::End { partial: false, .. })));
    assert_eq!(text(&fold(&lines).unwrap()), text(&record));
    assert!(record.trials.len() >= 2 * record.plan.arms.len() && !record.evidence.is_empty());
    // Not a trace of it is left.
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
