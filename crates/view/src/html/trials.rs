//! The raw trials as data for a table that the page's script creates, and the record itself for download.

use std::collections::HashMap;

use cryptbench_answer::quantity::thousands;
use cryptbench_record::{Cell, Trial};
use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use super::{Section, View};

/// How much of the record is contained in the page.
struct Carried {
    json: String,
    whole: bool,
}

/// The section, with as much of the record as fits into `room` bytes.
pub(super) fn section(view: &View<'_>, room: usize) -> Section {
    let trials = &view.record.trials;
    let carried = carried(view, room);
    let content = html! {
            @if trials.is_empty() { p.none { "No trial was measured." } }
            @match &carried {
                Some(carried) => {
                    p {
                        "This page contains "
                        @if carried.whole { "the record: the plan, every trial and these results." }
                        @else {
                            "every trial, numbers to six digits. The record is too large for it; it is stored next to it as "
                            code { "record.json" } "."
                        }
                    }
                    noscript {
                        p {
                            "They are shown by JavaScript, which is disabled here. "
                            code { "cryptbench report RECORD --format csv" }
                            " writes the trials as a table."
                        }
                    }
                    // Filled and shown by the script.
                    div #raw hidden data-run=[carried.whole.then_some(&view.record.run_id)] {}
                    (data_block(&carried.json))
                }
                None => p {
                    (thousands(trials.len() as f64)) " trials: too many for a page. The record is stored next to it as "
                    code { "record.json" } "; " code { "cryptbench report RECORD --format csv" }
                    " writes them as a table."
                }
            }
    };
    let finding = format!("{} trials, in the order of execution", thousands(trials.len() as f64));
    Section::text("trials", "Raw trials", finding, content)
}

/// The record as a data element, which no browser executes or displays. No text in it can end the element.
fn data_block(json: &str) -> Markup {
    // These characters occur only within JSON strings, where the escapes have the same meaning.
    let safe = json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    html! { script type="application/json" id="record" { (PreEscaped(safe)) } }
}

/// The whole record if it fits; otherwise the table of its trials if that fits; otherwise `None`.
fn carried(view: &View<'_>, room: usize) -> Option<Carried> {
    let record = view.report.document();
    let json = serde_json::to_string(&record).ok()?;
    if json.len() <= room {
        return Some(Carried { json, whole: true });
    }
    let json = rows(view).to_string();
    (json.len() <= room).then_some(Carried { json, whole: false })
}

/// The trials as rows of numbers, in the order in which the page's script expects them. Workloads and arms are
/// given as indices into the plan.
fn rows(view: &View<'_>) -> Value {
    let places = |ids: Vec<&'_ str>| -> HashMap<String, usize> {
        ids.into_iter().enumerate().map(|(i, id)| (id.to_owned(), i)).collect()
    };
    let workloads = places(view.workloads().iter().map(|w| w.id.as_str()).collect());
    let arms = places(view.arms().iter().map(|a| a.id.as_str()).collect());
    let row = |t: &Trial| {
        json!([
            t.sequence,
            t.block,
            workloads.get(&t.workload),
            arms.get(&t.arm),
            six_digits(t.at_s),
            six_digits(t.measured.elapsed_s),
            t.measured.ios,
            t.measured.bytes,
            six_digits(t.measured.latency.p50_us),
            t.measured.latency.p99_us.map(six_digits),
            t.measured.latency.p999_us.map(six_digits),
            six_digits(t.measured.cpu_process_s),
            six_digits(t.measured.cpu_machine_s),
            t.measured.device.map(|d| d.read_bytes),
            t.measured.device.map(|d| d.written_bytes),
        ])
    };
    let named = |id: &str, label: &str| json!({"id": id, "label": label});
    let plan_workloads: Vec<Value> =
        view.workloads().iter().map(|w| named(&w.id, &w.label)).collect();
    let plan_arms: Vec<Value> = view.arms().iter().map(|a| named(&a.id, &a.label)).collect();
    let trials: Vec<Value> = view.record.trials.iter().map(row).collect();
    json!({"plan": {"workloads": plan_workloads, "arms": plan_arms}, "rows": trials})
}

fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// A link from a cell's figure to its trials. Without the script, it leads to the section.
pub(super) fn to_trials(view: &View<'_>, cell: &Cell, words: &str) -> Markup {
    let workload = view.workloads().iter().position(|w| w.id == cell.workload);
    let arm = view.arms().iter().position(|a| a.id == cell.arm);
    match workload.zip(arm).filter(|_| cell.trials > 0) {
        Some((w, a)) => html! { a.raw href="#trials" data-cell={ (w) "-" (a) } { (words) } },
        None => html! { (words) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_kept() {
        assert_eq!(six_digits(0.123_456_789), 0.123_457);
        assert_eq!(six_digits(1_234_567.8), 1_234_570.0);
        assert_eq!(six_digits(0.0), 0.0);
    }

    #[test]
    fn text_cannot_end_the_block() {
        let out = data_block(r#"{"name":"</script><b>&"}"#).into_string();
        assert_eq!(out.matches('<').count(), 2, "{out}");
        assert!(out.contains(r"\u003c/script\u003e"), "{out}");
    }
}
