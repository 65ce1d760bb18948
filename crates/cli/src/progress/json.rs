//! The events of a run as lines of JSON on standard error, for front ends (docs/serve.md lists them).

use std::time::{Duration, Instant};

use cryptbench_answer::names::Names;
use cryptbench_os::terminal::silence_errors;
use cryptbench_record::{Arm, Event, Plan, Sink, Target, Workload};
use serde_json::{Value, json};

use super::board::Board;
use crate::say;

/// Minimum time between two tables.
const EVERY: Duration = Duration::from_millis(500);

/// Writes one line per event for front ends and, at intervals, the table of estimates. The run continues if the
/// reader exits.
#[derive(Default)]
pub struct Lines {
    unread: bool,
    board: Board,
    /// Whether the table has changed since it was written last.
    changed: bool,
    written: Option<Instant>,
}

impl Sink for Lines {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Planned { plan, .. } => {
                self.board = Board::of(plan);
                self.write(event);
                self.table();
                return;
            }
            Event::Prepared { plan, .. } => self.board = Board::of(plan),
            Event::Estimate { workload, arm, kept, low, high } => {
                self.board.add(workload, arm, (*kept, *low, *high));
                self.changed = true;
            }
            // The table is written between trials, so that it does not disturb the measurement.
            Event::Begun { .. }
                if self.changed && self.written.is_none_or(|at| at.elapsed() >= EVERY) =>
            {
                self.table();
            }
            _ => {}
        }
        if !event.is_kept() || matches!(event, Event::Note { aside: false, .. }) {
            self.write(event);
        }
    }
}

impl Lines {
    fn table(&mut self) {
        self.write(&Event::Table { table: self.board.json() });
        (self.changed, self.written) = (false, Some(Instant::now()));
    }

    fn write(&mut self, event: &Event) {
        if self.unread {
            return;
        }
        if say::json_line(&object(event, &self.board)).is_err() {
            self.unread = true;
            // If this stream fails, later messages to it must not fail the run, because the record must still be saved.
            let _ = silence_errors();
        }
    }
}

/// The event with the names of its workload and arms for users.
fn object(event: &Event, board: &Board) -> Value {
    let text = serde_json::to_string(event).expect("an event is plain data");
    let mut object = serde_json::from_str(&text).expect("JSON");
    let more = match event {
        Event::Planned { plan, target } => summary(plan, target),
        Event::Preparing { arm, what, .. } => json!({ "name": board.name_of(arm, what) }),
        Event::Checking { arm } => {
            let arm = board.arm(arm);
            json!({ "what": arm.label, "name": arm.name })
        }
        Event::Begun { workload, arms, block, .. } => {
            let (workload, arm) = (board.workload(workload), board.arms(arms));
            json!({
                "workload": workload.label,
                "arm": arm.label,
                "names": [workload.name, arm.name],
                "pair": block.map(|b| b + 1),
            })
        }
        Event::Estimate { workload, arm, .. } => {
            json!({ "workload": board.workload(workload).label, "arm": board.arm(arm).label })
        }
        _ => json!({}),
    };
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// The plan, in brief.
fn summary(plan: &Plan, target: &Target) -> Value {
    let names = Names::of(plan);
    let workload = |w: &Workload| {
        let name = names.workload(w);
        json!({ "id": w.id, "label": w.label, "name": name, "headline": w.headline })
    };
    let arm =
        |a: &Arm| json!({ "id": a.id, "label": a.label, "name": names.arm(a), "role": a.role });
    json!({
        "schema": "cryptbench.progress/1",
        "profile": plan.profile,
        "workloads": plan.workloads.iter().map(workload).collect::<Vec<_>>(),
        "arms": plan.arms.iter().map(arm).collect::<Vec<_>>(),
        "budget_s": plan.budget_s,
        "trials": plan.fixed_trials(),
        "half_width": plan.target_half_width,
        "directory": target.directory,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_units() {
        let event = Event::Begun {
            workload: "rand-read".into(),
            arms: vec!["plain".into(), "builtin".into()],
            block: Some(0),
            elapsed_s: 1.5,
            budget_s: 60.0,
            trials_done: 3,
            trials: None,
        };
        let object = object(&event, &Board::default());
        assert_eq!((&object["pair"], &object["elapsed_s"]), (&json!(1), &json!(1.5)));
        assert_eq!((&object["event"], &object["workload"]), (&json!("trial"), &json!("rand-read")));
        assert_eq!(object["arm"], "2 arms by turns");
        assert!(object["trials"].is_null());
    }
}
