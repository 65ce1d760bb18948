//! The events of a run as lines of JSON on standard error, for front ends (docs/serve.md lists them).

use std::path::Path;
use std::time::{Duration, Instant};

use cryptbench_os::terminal::silence_errors;
use cryptbench_record::{Arm, Plan, Target, Workload};
use cryptbench_report::Names;
use cryptbench_runner::Event;
use cryptbench_studies::{Letter, Table};
use serde_json::{Value, json};

use super::board::Board;
use crate::say;

/// Shortest time between two tables.
const EVERY: Duration = Duration::from_millis(500);

/// Writes one line for each event, and from time to time the table of estimates. The run goes on if the reader ends.
#[derive(Default)]
pub struct Lines {
    unread: bool,
    board: Board,
    /// Whether the table has changed since it was written last.
    changed: bool,
    written: Option<Instant>,
}

impl Lines {
    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Planned { plan, .. } => {
                self.board = Board::of(plan);
                self.write(&object(event, &self.board));
                self.table();
                return;
            }
            Event::Estimate { workload, arm, kept, low, high } => {
                self.board.add(workload, arm, (*kept, *low, *high));
                self.changed = true;
            }
            // Between trials, so that it does not disturb the measurement.
            Event::Trial { .. }
                if self.changed && self.written.is_none_or(|at| at.elapsed() >= EVERY) =>
            {
                self.table();
            }
            _ => {}
        }
        self.write(&object(event, &self.board));
    }

    fn table(&mut self) {
        self.write(&json!({ "event": "table", "table": self.board.json() }));
        (self.changed, self.written) = (false, Some(Instant::now()));
    }

    /// The tables of a published study, repeated here.
    pub fn study(&mut self, study: Letter, tables: &[Table]) {
        self.write(&json!({ "event": "study", "study": study, "tables": tables }));
    }

    /// A remark that is not an event of the run itself.
    pub fn note(&mut self, text: &str) {
        self.write(&json!({ "event": "note", "text": text }));
    }

    /// The record is saved there.
    pub fn saved(&mut self, directory: &Path) {
        self.write(&json!({ "event": "saved", "directory": directory }));
    }

    fn write(&mut self, object: &Value) {
        if self.unread {
            return;
        }
        if say::json_line(object).is_err() {
            self.unread = true;
            // Other messages must not fail there either: the record comes first.
            let _ = silence_errors();
        }
    }
}

fn object(event: &Event<'_>, board: &Board) -> Value {
    match event {
        Event::Planned { plan, target } => planned(plan, target),
        Event::Filling { done, total } => {
            json!({ "event": "filling", "done": done, "total": total })
        }
        Event::Preparing { what, place: (number, of) } => {
            let name = board.name(what);
            json!({ "event": "preparing", "what": what, "name": name, "number": number, "of": of })
        }
        Event::Checking { what } => {
            json!({ "event": "checking", "what": what, "name": board.name(what) })
        }
        Event::Trial { workload, arm, block, elapsed, budget, trials: (done, all) } => json!({
            "event": "trial",
            "workload": workload,
            "arm": arm,
            "names": [board.name(workload), board.name(arm)],
            "pair": block.map(|b| b + 1),
            "elapsed_s": elapsed.as_secs_f64(),
            "budget_s": budget.as_secs_f64(),
            "trials_done": done,
            "trials": all,
        }),
        Event::Estimate { workload, arm, kept, low, high } => json!({
            "event": "estimate",
            "workload": workload,
            "arm": arm,
            "kept": kept,
            "low": low,
            "high": high,
        }),
        Event::Note(text) => json!({ "event": "note", "text": text }),
    }
}

fn planned(plan: &Plan, target: &Target) -> Value {
    let names = Names::of(plan);
    let workload = |w: &Workload| {
        let name = names.workload(w);
        json!({ "id": w.id, "label": w.label, "name": name, "headline": w.headline })
    };
    let arm =
        |a: &Arm| json!({ "id": a.id, "label": a.label, "name": names.arm(a), "role": a.role });
    json!({
        "event": "planned",
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
        let event = Event::Trial {
            workload: "random reads",
            arm: "plain",
            block: Some(0),
            elapsed: Duration::from_millis(1500),
            budget: Duration::from_secs(60),
            trials: (3, None),
        };
        let object = object(&event, &Board::default());
        assert_eq!((&object["pair"], &object["elapsed_s"]), (&json!(1), &json!(1.5)));
        assert!(object["trials"].is_null());
    }
}
