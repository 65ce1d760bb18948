//! The events of a run as lines of JSON on standard error, for front ends (docs/serve.md lists them).

use std::path::Path;

use cryptbench_os::terminal::silence_errors;
use cryptbench_record::{Arm, Plan, Target, Workload};
use cryptbench_runner::Event;
use serde_json::{Value, json};

use crate::say;

/// Writes one line for each event. A reader that has gone does not end the run.
#[derive(Default)]
pub struct Lines {
    unread: bool,
}

impl Lines {
    pub fn show(&mut self, event: &Event<'_>) {
        self.write(&object(event));
    }

    /// Where the record is.
    pub fn saved(&mut self, directory: &Path) {
        self.write(&json!({ "event": "saved", "directory": directory }));
    }

    fn write(&mut self, object: &Value) {
        if self.unread {
            return;
        }
        if say::json_line(object).is_err() {
            self.unread = true;
            // What else is told there must not fail either: the record comes first.
            let _ = silence_errors();
        }
    }
}

fn object(event: &Event<'_>) -> Value {
    match event {
        Event::Planned { plan, target } => planned(plan, target),
        Event::Filling { done, total } => {
            json!({ "event": "filling", "done": done, "total": total })
        }
        Event::Preparing { what } => json!({ "event": "preparing", "what": what }),
        Event::Checking { what } => json!({ "event": "checking", "what": what }),
        Event::Trial { workload, arm, block, elapsed, budget, trials: (done, all) } => json!({
            "event": "trial",
            "workload": workload,
            "arm": arm,
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
    let workload = |w: &Workload| json!({ "id": w.id, "label": w.label, "headline": w.headline });
    let arm = |a: &Arm| json!({ "id": a.id, "label": a.label, "role": a.role });
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
    use std::time::Duration;

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
        let object = object(&event);
        assert_eq!((&object["pair"], &object["elapsed_s"]), (&json!(1), &json!(1.5)));
        assert!(object["trials"].is_null());
    }
}
