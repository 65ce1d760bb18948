//! Everything about one cell: its trials, its estimate, the reason for the verdict, and what would settle an open
//! verdict.

mod query;
mod reason;
mod trials;

use cryptbench_answer::Report;
use cryptbench_answer::quantity::{NONE, cpu, digits, fraction, headline, latency, percent, rate};
use cryptbench_answer::why::chain;
use cryptbench_answer::wording::{
    role_words, stop_words, verdict_mark, verdict_words, workload_words,
};
use cryptbench_estimate::arms::compared;
use cryptbench_estimate::binding::Binding;
use cryptbench_estimate::device::moves_bytes;
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, ArmRole, Cell, StopReason, Workload};

use super::layout::{add, clean, empty, fitted};
use super::{Style, paint, wrap};
pub use query::NoSuchCell;

/// Everything about one cell as text with a newline at the end. `cell` is `WORKLOAD` or `WORKLOAD/ARM`, each given as
/// an identifier, a label or a part of either. Without an arm, describes all arms of the workload.
///
/// # Errors
/// [`NoSuchCell`], with the choices, if no workload or arm has this name, or several do.
pub fn explain(report: &Report<'_>, cell: &str, style: Style) -> Result<String, NoSuchCell> {
    let Report { record, lookup, names, .. } = report;
    let (workload, arm) = query::find(record, names, cell)?;
    let arms = match arm {
        Some(arm) => vec![arm],
        None => compared(lookup.arms()),
    };
    let width = style.columns();
    let shown = shown(lookup, &arms);
    let mut parts =
        vec![title(lookup, workload, width), trials::sparks(lookup, workload, &shown, width)];
    for arm in &arms {
        if let Some(cell) = lookup.cell(workload, arm) {
            parts.push(judgement(lookup, workload, arm, cell, width));
        }
        let own = |(w, a, _): &&(&Workload, &Arm, _)| w.id == workload.id && a.id == arm.id;
        if let Some((_, _, binding)) = report.bindings.iter().find(own) {
            parts.push(held_back(arm, binding, width));
        }
    }
    // An interrupted run did not reach some workloads, whose tables would consist only of headings.
    if shown.iter().any(|arm| !lookup.trials.of_cell(&workload.id, &arm.id).is_empty()) {
        parts.push(latencies(lookup, workload, &shown, width));
        parts.push(costs(lookup, workload, &shown, width));
        parts.push(trials::list(lookup, workload, &shown, width));
    }
    Ok(paint::paint(&parts.join("\n\n"), style.colour) + "\n")
}

/// Plain storage, its repetition, and the arms to describe.
fn shown<'a>(lookup: &Lookup<'a>, arms: &[&'a Arm]) -> Vec<&'a Arm> {
    let baseline = |arm: &&Arm| matches!(arm.role, ArmRole::Plain | ArmRole::PlainAgain);
    let plain = lookup.arms().iter().filter(baseline);
    let mut all: Vec<&Arm> = plain.collect();
    all.extend(arms.iter().copied().filter(|arm| !baseline(arm)));
    all
}

fn title(lookup: &Lookup<'_>, workload: &Workload, width: usize) -> String {
    let record = lookup.record;
    let stop = record.stops.iter().find(|s| s.workload == workload.id);
    let ended = stop.map_or_else(String::new, |s| {
        let pairs =
            if s.pairs == 1 { "1 repeat".to_owned() } else { format!("{} repeats", s.pairs) };
        let cut = if s.reason == StopReason::Interrupted { ", which ended it early" } else { "" };
        format!("; ended {}{cut} ({pairs})", stop_words(s.reason))
    });
    let first = format!("{} ({})", clean(&workload.label), clean(&workload.id));
    let second = format!(
        "{}; {} profile of {}, run {}{ended}.",
        workload_words(workload),
        record.plan.profile,
        record.started,
        record.run_id
    );
    format!("{}\n{}", wrap(&first, "", "  ", width), wrap(&second, "", "  ", width))
}

/// The verdict for one arm, and every number on which it is based.
fn judgement(
    lookup: &Lookup<'_>,
    workload: &Workload,
    arm: &Arm,
    cell: &Cell,
    width: usize,
) -> String {
    let mark = cell
        .verdict
        .as_ref()
        .map_or_else(String::new, |v| format!(": {} {}", verdict_mark(v), verdict_words(v)));
    let speed = match cell.trials {
        0 => "not measured".to_owned(),
        n => format!("{}, median of {n} trials", headline(workload, cell)),
    };
    let head = format!("{} ({}){mark}", clean(&arm.label), clean(&arm.id));
    let mut lines = vec![
        wrap(&head, "", "  ", width),
        wrap(&format!("{}; {speed}", role_words(arm.role)), "  ", "    ", width),
    ];
    let evidence = reason::evidence(lookup, workload, arm, cell);
    let why = reason::why(lookup, cell, evidence.as_ref());
    let settle = reason::settle(lookup, workload, cell, evidence.as_ref());
    let slices = evidence.as_ref().and_then(|_| reason::middle_of_slices(lookup, workload, arm));
    let mut numbers = reason::numbers(lookup, cell, evidence.as_ref());
    if let Some(words) = slices {
        numbers.insert(1, ("slices", words));
    }
    let facts: Vec<(&str, String)> = numbers
        .into_iter()
        .chain(why.map(|words| ("why", words)))
        .chain(settle.map(|words| ("to settle", words)))
        .collect();
    let column = 2 + facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
    lines.extend(facts.iter().map(|(name, words)| {
        wrap(words, &format!("{:column$}", format!("  {name}")), &" ".repeat(column), width)
    }));
    lines.join("\n")
}

/// What limits the speed of one arm.
fn held_back(arm: &Arm, binding: &Binding, width: usize) -> String {
    let title = format!("What limits {}:", clean(&arm.label));
    let lines = chain(binding).into_iter().map(|line| wrap(&line, "  ", "    ", width));
    std::iter::once(wrap(&title, "", "  ", width)).chain(lines).collect::<Vec<_>>().join("\n")
}

/// Latency percentiles of each arm: medians over its trials, and the maximum over all requests.
fn latencies(lookup: &Lookup<'_>, workload: &Workload, arms: &[&Arm], width: usize) -> String {
    let mut table = empty(["", "mean", "p50", "p99", "p99.9", "largest"].map(str::to_owned).into());
    for arm in arms {
        let Some(cell) = lookup.cell(workload, arm).filter(|c| c.trials > 0) else { continue };
        let trials = lookup.trials.of_cell(&workload.id, &arm.id);
        let means: Vec<f64> = trials.iter().map(|t| t.measured.latency.mean_us).collect();
        let mean = cryptbench_stats::median(&means);
        let most = trials.iter().map(|t| t.measured.latency.max_us).fold(f64::NAN, f64::max);
        let optional = |us: Option<f64>| us.map_or_else(|| NONE.to_owned(), latency);
        add(
            &mut table,
            vec![
                clean(&arm.label),
                optional(mean),
                latency(cell.latency.p50_us),
                optional(cell.latency.p99_us),
                optional(cell.latency.p999_us),
                latency(most),
            ],
        );
    }
    let title = "Latency, medians over the trials:";
    format!("{}\n{}", wrap(title, "", "  ", width), fitted(table, width))
}

/// Rates, CPU time, and the bytes that the device transferred.
fn costs(lookup: &Lookup<'_>, workload: &Workload, arms: &[&Arm], width: usize) -> String {
    let headings = [
        "",
        "MB/s",
        "IOPS",
        "process\ns/GiB",
        "machine\ns/GiB",
        "machine\nbusy",
        "device\nbytes",
        "device\nIOs",
    ];
    let mut table = empty(headings.map(str::to_owned).into());
    for arm in arms {
        let Some(cell) = lookup.cell(workload, arm).filter(|c| c.trials > 0) else { continue };
        let per_gib = |seconds: f64| match moves_bytes(workload) {
            true => cpu(seconds),
            false => NONE.to_owned(),
        };
        let times = |ratio: Option<f64>| {
            ratio.map_or_else(|| NONE.to_owned(), |r| format!("{}x", digits(r)))
        };
        let row = vec![
            clean(&arm.label),
            digits(cell.bandwidth / 1e6),
            rate(cell.iops),
            per_gib(cell.cpu.process_s_per_gib),
            per_gib(cell.cpu.machine_s_per_gib),
            percent(cell.cpu.machine_percent),
            times(cell.device_ratio),
            times(device_requests(lookup, workload, arm)),
        ];
        add(&mut table, row);
    }
    let title = "Rates, CPU time, and device traffic per requested byte and request:";
    format!("{}\n{}", wrap(title, "", "  ", width), fitted(table, width))
}

/// Number of requests that the device counted for each issued request, over all trials.
fn device_requests(lookup: &Lookup<'_>, workload: &Workload, arm: &Arm) -> Option<f64> {
    let trials = lookup.trials.of_cell(&workload.id, &arm.id);
    let moved: Option<u64> =
        trials.iter().map(|t| t.measured.device.map(|d| d.reads + d.writes)).sum();
    let issued: u64 = trials.iter().map(|t| t.measured.ios).sum();
    (issued > 0).then_some(moved? as f64 / issued as f64)
}

/// The confidence level for the headings of intervals.
fn confidence(lookup: &Lookup<'_>) -> String {
    fraction(lookup.record.plan.confidence)
}
