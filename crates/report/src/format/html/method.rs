//! How it was measured, so that a reader can judge and repeat it.

use cryptbench_record::{Arm, ArmRole};
use maud::{Markup, html};

use super::{View, scrolling};
use crate::quantity::{binary_bytes, duration, fraction};
use crate::wording::{role_words, stop_words};

pub(super) fn section(view: &View<'_>) -> Markup {
    let plan = &view.record.plan;
    let confidence = fraction(plan.confidence);
    html! {
        section.method aria-labelledby="method" {
            h2 #method { "How it was measured" }
            h3 { "Arms" }
            (scrolling("Arms", &arms(view)))
            h3 { "Order and length" }
            p {
                "All arms ran once per block, in an order drawn anew for each block from seed "
                code { (plan.seed) } "; the same seed repeats the schedule. A trial measured for "
                (duration(plan.trial_s)) "; " (discarded(view)) " The time budget was "
                (duration(plan.budget_s)) ", the run took " (duration(view.record.elapsed_s)) "."
            }
            h3 { "Estimate and interval" }
            p {
                "One trial is one observation; single requests are never treated as independent. Per block, \
                 d = ln(E/P) compares an arm with plain. The share kept is exp(mean d) with Student's t \
                 interval at " (confidence) " confidence. Hodges–Lehmann with the signed-rank interval stands \
                 beside it."
            }
            h3 { "Noise and verdicts" }
            p {
                (noise_floor(view)) " An arm "
                em { "costs" } " or " em { "gains" } " speed when the difference is significant at 1 % after Holm's \
                 correction over the workloads and larger than the noise; it is "
                em { "equivalent" } " when two one-sided tests place it within "
                (fraction(plan.target_half_width)) "; "
                em { "within the noise" } " when chance over as many pairs would explain it (what is \
                 given there is the smallest difference that would have been found); otherwise it is "
                em { "inconclusive" } ". A large p-value is never read as “no cost”. Where less than half of the bytes asked for reached the device, a cache answered, and \
                 there is no verdict."
            }
            h3 { "Stopping" }
            p {
                "A workload ended when every interval was at most "
                (fraction(plan.target_half_width)) " wide to each side, after at least "
                (plan.min_pairs) " and at most " (plan.max_pairs) " pairs, or when the time was up; never \
                 because of a p-value."
            }
            @if !view.record.stops.is_empty() { (scrolling("Why each workload ended", &stops(view))) }
            h3 { "What carried the requests" }
            p { (engine(view)) }
        }
    }
}

fn discarded(view: &View<'_>) -> String {
    match view.record.trials.iter().filter(|t| t.block.is_none()).count() {
        0 => "no trial was discarded.".to_owned(),
        1 => "1 trial ran first and was discarded.".to_owned(),
        n => format!("{n} trials ran first and were discarded."),
    }
}

fn noise_floor(view: &View<'_>) -> &'static str {
    match view.arms().iter().any(|a| a.role == ArmRole::PlainAgain) {
        true => {
            "Plain storage runs twice in each block. The noise of a trial is the 95th percentile of the \
             difference between the two; over n pairs it averages down by the root of n, and that is \
             the noise that tables and charts show."
        }
        false => "Plain storage ran once per block, so the noise is not known and counts as none.",
    }
}

fn arms(view: &View<'_>) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th scope="col" { "Arm" }
                    th scope="col" { "Compared as" }
                    th scope="col" { "System" }
                    th scope="col" { "Cipher" }
                    th.number scope="col" { "Data unit" }
                    th scope="col" { "Kernel that ran" }
                }
            }
            tbody { @for arm in view.arms() { (arm_row(arm)) } }
        }
    }
}

fn arm_row(arm: &Arm) -> Markup {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".to_owned());
    let system = match &arm.layout {
        Some(layout) => format!("{}, {layout} layout", arm.system),
        None => arm.system.clone(),
    };
    html! {
        tr {
            th scope="row" { (arm.label) }
            td { (role_words(arm.role)) }
            td { (system) }
            td { (or_none(&arm.cipher)) }
            td.number { (arm.data_unit.map_or_else(|| "–".to_owned(), |b| format!("{b} B"))) }
            td { (or_none(&arm.kernel_tier)) }
        }
    }
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
                    th.number scope="col" { "Pairs" }
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

fn engine(view: &View<'_>) -> String {
    let target = &view.record.target;
    let cache = match target.engine.direct {
        true => "past the page cache (direct I/O)",
        false => "through the page cache (buffered I/O)",
    };
    let counters = match &target.device {
        Some(d) => format!(
            "The counters of {} ({} B logical, {} B physical blocks) show what really reached the device.",
            d.name, d.logical_block_size, d.physical_block_size
        ),
        None => "No device counters could be read, so caches below the file system would not be \
                 noticed."
            .to_owned(),
    };
    format!(
        "{} carried the requests {cache}, over a scratch file of {} that all arms share. {counters} \
         Before the run {} of the machine was busy, and its load average was {:.2}.",
        target.engine.name,
        binary_bytes(target.scratch.size_bytes),
        fraction(view.record.machine.idle_baseline),
        view.record.machine.load_average,
    )
}
