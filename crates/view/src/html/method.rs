//! The method of the measurement, so that readers can judge and repeat it.

use std::collections::BTreeMap;

use cryptbench_answer::picture::MOST_LISTED;
use cryptbench_answer::picture::condensed::condensed;
use cryptbench_answer::quantity::{binary_bytes, duration, fraction, thousands};
use cryptbench_answer::wording::{role_words, stop_words, workload_words};
use cryptbench_estimate::carry_over::carry_overs;
use cryptbench_record::{Arm, ArmRole, Operation, Plan, Record, Workload};
use maud::{Markup, html};

use super::{Section, View, machine, scrolling};

pub(super) fn section(view: &View<'_>) -> Section {
    let plan = &view.record.plan;
    let confidence = fraction(plan.confidence);
    let content = html! {
        div.method {
            h3 { "Choices" }
            (scrolling("Choices", &arms(view)))
            @if !view.workloads().is_empty() {
                h3 { "Workloads" }
                details {
                    summary { "Description of each workload" }
                    (scrolling("Workloads", &workloads(view)))
                }
            }
            h3 { "Order and duration" }
            p {
                "Everything ran once per repeat, in a new random order for each repeat, from seed "
                code { (plan.seed) } "; the same seed reproduces the schedule. A trial "
                (length(view)) "; " (discarded(view)) " " (slices(view)) "The time budget was "
                (duration(plan.budget_s)) ", the run took " (duration(view.record.elapsed_s)) "."
            }
            h3 { "Estimate and interval" }
            p {
                "One trial is one observation; individual requests are never treated as independent. Per repeat, \
                 d = ln(E/P) compares a choice with plain. The % of plain is exp(mean d) with Student's t \
                 interval at " (confidence) " confidence. The Hodges–Lehmann estimate with its signed-rank interval \
                 is given as well."
            }
            h3 { "Noise and verdicts" }
            p {
                (noise_floor(view)) " A choice is "
                em { "slower" } " or " em { "faster" } " when the difference is significant at 1 % after Holm's \
                 correction over the workloads of a choice that have an interval, and larger than the noise; it is "
                em { "same" } " when two one-sided tests place it within "
                (fraction(plan.margin())) "; "
                em { "no loss found" } " when chance over as many repeats would explain it (the figure given is the \
                smallest difference that would have been found); otherwise it is "
                em { "undecided" } ". A large p-value is never read as “no cost”. If less than half of the requested \
                bytes reached the device, they came from a cache, and there is no verdict."
            }
            h3 { "Stopping" }
            p {
                "A workload stopped when the half-width of every interval was at most "
                (fraction(plan.target_half_width)) (found(plan)) ", after at least "
                (plan.min_pairs) " and at most " (plan.max_pairs) " repeats, or when the time was up; never \
                 because of a p-value."
            }
            @if view.record.stops.len() > MOST_LISTED {
                p { (stop_counts(view)) }
            } @else if !view.record.stops.is_empty() {
                (scrolling("Why each workload stopped", &stops(view)))
            }
            h3 { "I/O engine" }
            p { (engine(view)) }
            (machine::accounting(view.record))
        }
    };
    let finding = "Plain and encrypted are interleaved; a loss counts only beyond noise and chance";
    Section::text("method", "Method", finding, content)
}

/// How long or how much a trial measures, and the pauses between trials.
fn length(view: &View<'_>) -> String {
    let plan = &view.record.plan;
    let ends = |w: &Workload| {
        w.trial_bytes.is_some() || w.files.is_some() || w.operation == Operation::Unlock
    };
    let work = view.workloads().iter().filter(|w| ends(w)).count();
    let time = duration(plan.trial_s);
    let length = match (work, view.workloads().len()) {
        (0, _) => format!("measured for {time}"),
        (n, all) if n == all => "measured until its work was done".to_owned(),
        _ => format!("measured for {time}, or until its work was done if it is finite"),
    };
    let rests = [
        (plan.ramp_s, "after an unmeasured ramp of"),
        (plan.pause_s, "after a pause of"),
        (plan.round_pause_s, "with a pause between repeats of"),
    ];
    let rests = rests.into_iter().filter(|(s, _)| *s > 0.0);
    rests.fold(length, |words, (s, what)| format!("{words}, {what} {}", duration(s)))
}

/// How trials are split into slices, and how a slice affects the next slice.
fn slices(view: &View<'_>) -> String {
    let plan = &view.record.plan;
    let Some(slice) = plan.slice_s else { return String::new() };
    let cut = view
        .record
        .trials
        .iter()
        .filter(|t| t.block.is_some() && t.measured.slices.is_some())
        .count();
    let all = view.record.trials.iter().filter(|t| t.block.is_some()).count();
    if cut == 0 {
        return "No trial could be split into slices. ".to_owned();
    }
    let which =
        if cut == all { "Trials were".to_owned() } else { format!("{cut} of {all} trials were") };
    let mut words = format!(
        "{which} split into slices of {} or more, interleaved in random order; a slice counts no requests before its \
         queue was full or after its end. ",
        duration(slice)
    );
    if let Some(left) = carry_over(view.record) {
        words.push_str(&left);
    }
    words
}

/// The largest effect of the preceding arm on a slice, as a sentence.
fn carry_over(record: &Record) -> Option<String> {
    let all = carry_overs(&record.plan, &record.trials);
    let largest = all.iter().max_by(|a, b| a.effect.abs().total_cmp(&b.effect.abs()))?;
    let proven = all.iter().filter(|c| c.is_proven(all.len())).count();
    let arm = record.plan.arms.iter().find(|a| a.id == largest.behind).map(|a| &a.label)?;
    let workload =
        record.plan.workloads.iter().find(|w| w.id == largest.workload).map(|w| &w.label)?;
    let percent = |log: f64| format!("{:+.1}", 100.0 * log.exp_m1());
    Some(format!(
        "Effect of a slice on the next one: {proven} of {} effects differ from zero beyond chance; the largest, on \
         slices after {arm} in {workload}, is {} % [{}, {}]. ",
        all.len(),
        percent(largest.effect),
        percent(largest.low),
        percent(largest.high),
    ))
}

fn discarded(view: &View<'_>) -> String {
    match view.record.trials.iter().filter(|t| t.block.is_none()).count() {
        0 => "no trial was discarded.".to_owned(),
        1 => "1 trial ran first and was discarded.".to_owned(),
        n => format!("{} trials ran first and were discarded.", thousands(n as f64)),
    }
}

fn noise_floor(view: &View<'_>) -> &'static str {
    match view.arms().iter().any(|a| a.role == ArmRole::PlainAgain) {
        true => {
            "Plain storage runs twice in each repeat. The noise of a trial is the 95th percentile of the \
             difference between the two; over n repeats it decreases with √n, and that is the noise shown in tables \
             and charts."
        }
        false => "Plain storage ran once per repeat, so the noise is unknown and taken as zero.",
    }
}

fn arms(view: &View<'_>) -> Markup {
    let attached = view.arms().iter().any(|a| a.attachment.is_some());
    let set = view.arms().iter().any(|a| !a.settings.is_empty());
    html! {
        table {
            thead {
                tr {
                    th scope="col" { "Choice" }
                    th scope="col" { "Compared as" }
                    th scope="col" { "System" }
                    th scope="col" { "Cipher" }
                    th.number scope="col" { "Data unit" }
                    th scope="col" { "Kernel used" }
                    @if attached { th scope="col" { "Attached" } }
                    @if set { th scope="col" { "Settings" } }
                }
            }
            tbody { @for arm in view.arms() { (arm_row(arm, attached, set)) } }
        }
    }
}

fn arm_row(arm: &Arm, attached: bool, set: bool) -> Markup {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".to_owned());
    let system = match &arm.layout {
        Some(layout) => format!("{}, {layout} layout", arm.system),
        None => arm.system.clone(),
    };
    html! {
        tr {
            th scope="row" { (arm.label) " " (identifier(&arm.id)) }
            td { (role_words(arm.role)) }
            td { (system) }
            td { (or_none(&arm.cipher)) }
            td.number { (arm.data_unit.map_or_else(|| "–".to_owned(), |b| format!("{b} B"))) }
            td { (or_none(&arm.kernel_tier)) }
            @if attached { td { (or_none(&arm.attachment)) } }
            @if set { td { (settings(arm)) } }
        }
    }
}

/// `pim default, prf sha-512`.
fn settings(arm: &Arm) -> String {
    let all: Vec<String> = arm.settings.iter().map(|(name, v)| format!("{name} {v}")).collect();
    if all.is_empty() { "–".to_owned() } else { all.join(", ") }
}

/// What each workload does; if there are very many workloads, only the first of each series.
fn workloads(view: &View<'_>) -> Markup {
    let rows: Vec<(Markup, String)> = match view.workloads().len() > MOST_LISTED {
        false => view
            .workloads()
            .iter()
            .map(|w| (html! { (w.label) " " (identifier(&w.id)) }, workload_words(w)))
            .collect(),
        true => condensed(view.lookup)
            .iter()
            .filter_map(|series| {
                let n = thousands(series.workloads.len() as f64);
                let first = workload_words(series.workloads.first()?);
                let name = format!("{} ({n})", series.name);
                Some((html! { (name) }, format!("the first: {first}")))
            })
            .collect(),
    };
    html! {
        table {
            thead { tr { th scope="col" { "Workload" } th scope="col" { "What it does" } } }
            tbody { @for (name, words) in &rows { tr { th scope="row" { (name) } td { (words) } } } }
        }
    }
}

/// The identifier used in options, CSV and JSON.
fn identifier(id: &str) -> Markup {
    html! { small { code { (id) } } }
}

fn stops(view: &View<'_>) -> Markup {
    let label = |id: &str| {
        let found = view.workloads().iter().find(|w| w.id == id);
        found.map_or_else(|| id.to_owned(), |w| w.label.clone())
    };
    html! {
        table {
            thead {
                tr {
                    th scope="col" { "Workload" }
                    th.number scope="col" { "Repeats" }
                    th scope="col" { "Ended" }
                }
            }
            tbody {
                @for stop in &view.record.stops {
                    tr {
                        th scope="row" { (label(&stop.workload)) }
                        td.number { (stop.pairs) }
                        td { (stop_words(stop.reason)) }
                    }
                }
            }
        }
    }
}

/// The smallest loss that the requested width of intervals can detect.
fn found(plan: &Plan) -> String {
    match plan.to_find {
        Some(difference) => {
            format!(", which finds a loss of {} in 9 of 10 runs", fraction(difference))
        }
        None => String::new(),
    }
}

/// The reasons why workloads ended, with the number of workloads for each; used if there are many.
fn stop_counts(view: &View<'_>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for stop in &view.record.stops {
        *counts.entry(stop_words(stop.reason)).or_default() += 1;
    }
    let words: Vec<String> =
        counts.into_iter().map(|(why, n)| format!("{} {why}", thousands(n as f64))).collect();
    format!("Workloads that stopped: {}.", words.join(", "))
}

fn engine(view: &View<'_>) -> String {
    let target = &view.record.target;
    let cache = match target.engine.direct {
        true => "bypassing the page cache (direct I/O)",
        false => "through the page cache (buffered I/O)",
    };
    let counters = match &target.device {
        Some(d) => format!(
            "The counters of {} ({} B logical, {} B physical blocks) show how much really reached the device.",
            d.name, d.logical_block_size, d.physical_block_size
        ),
        None => "No device counters could be read, so caches below the file system would not be \
                 noticed."
            .to_owned(),
    };
    let details = target.engine.details.as_ref().map_or_else(String::new, |d| format!(" ({d})"));
    let size = binary_bytes(target.scratch.size_bytes);
    let overwritten = target.kind.as_deref().filter(|_| !target.is_directory());
    let stretch = match (overwritten, 1 + target.places().count()) {
        (None, 1) => format!("a scratch file of {size} shared by all"),
        (None, n) => {
            format!("a scratch file of {size} in each of the {n} locations")
        }
        (Some(kind), 1) if target.only_read => {
            format!("{size} of the {kind}, which was only read")
        }
        (Some(kind), 1) => format!("the first {size} of the {kind}, shared by all"),
        _ if target.places().any(|place| place.in_use.is_some()) => {
            format!("a region of {size} for each choice, at a different offset in each repeat")
        }
        (Some(_), n) => format!("the first {size} of each of the {n} locations"),
    };
    format!(
        "{}{details} issued the requests {cache}, to {stretch}. {counters} \
         Before the run {} of the machine was busy, and its load average was {:.2}.",
        target.engine.name,
        fraction(view.record.machine.idle_baseline),
        view.record.machine.load_average,
    )
}
