//! The uses for which each arm is suited, according to the arm's losses.

use cryptbench_estimate::class::{LARGE, SMALL};
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, Estimate, Operation, Pattern, Workload};

use crate::quantity::percent_digits;
use crate::wording::list;

/// Suited: in every workload of the use, the upper end of the loss's interval is at most this share of plain speed.
const SUITED: f64 = 0.10;

/// Not suited: in some workload of the use, the lower end of the loss's interval is at least this share of plain
/// speed.
const UNSUITED: f64 = 0.25;

/// Maximum number of arms listed per sentence.
const MOST_NAMED: usize = 4;

/// A use: its name, the workloads that represent it, and the text about arms that are not suited.
type Use = (&'static str, fn(&Workload) -> bool, &'static str);

const USES: [Use; 4] = [
    (
        "Frequent small writes",
        |w| {
            w.operation == Operation::Write && w.block_size <= SMALL && w.pattern == Pattern::Random
        },
        "think twice",
    ),
    (
        "Archive and backup (large sequential reads and writes)",
        |w| w.block_size >= LARGE && w.pattern == Pattern::Sequential,
        "expect longer backups",
    ),
    (
        "Removable media as fast as this disk (large requests, one at a time, as in copies)",
        |w| w.block_size >= LARGE && w.in_flight() == 1,
        "expect slower copies",
    ),
    ("A whole disk (all measured workloads)", |_| true, "expect to notice it"),
];

/// One sentence for each use with known results.
pub(super) fn uses(lookup: &Lookup<'_>, arms: &[&Arm]) -> Vec<String> {
    USES.iter().filter_map(|of| words(lookup, arms, of)).collect()
}

fn words(lookup: &Lookup<'_>, arms: &[&Arm], (name, belongs, otherwise): &Use) -> Option<String> {
    let workloads: Vec<&Workload> =
        lookup.workloads().iter().filter(|w| w.is_of_requests() && belongs(w)).collect();
    if workloads.is_empty() {
        return None;
    }
    let (mut suited, mut unsuited) = (Vec::new(), Vec::new());
    for arm in arms {
        let kept: Option<Vec<(Estimate, &Workload)>> = workloads
            .iter()
            .map(|w| Some((lookup.cell(w, arm).filter(|c| !c.cached)?.kept?, *w)))
            .collect();
        // An arm that was not measured in all workloads of a use gets no statement about that use.
        let Some(kept) = kept else { continue };
        let Some(worst) = kept.iter().min_by(|a, b| a.0.low.total_cmp(&b.0.low)) else { continue };
        let slowest = kept.iter().min_by(|a, b| a.0.high.total_cmp(&b.0.high)).unwrap_or(worst);
        if 1.0 - worst.0.low <= SUITED {
            suited.push(format!("{} ({})", arm.label, loss(worst)));
        } else if 1.0 - slowest.0.high >= UNSUITED {
            unsuited.push(format!("{} ({})", arm.label, loss(slowest)));
        }
    }
    let said = |arms: &[String], what: &str| {
        let names: Vec<&str> = arms.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| format!("{what} {}", list(&names, MOST_NAMED)))
    };
    let parts: Vec<String> =
        [said(&suited, "suitable:"), said(&unsuited, &format!("{otherwise} with"))]
            .into_iter()
            .flatten()
            .collect();
    (!parts.is_empty()).then(|| format!("{name}: {}.", parts.join("; ")))
}

/// `loses 4 % [1, 7] at worst, in seq. read 1 MiB QD1`.
fn loss((kept, workload): &(Estimate, &Workload)) -> String {
    let lost = |ratio: f64| percent_digits(100.0 * (1.0 - ratio));
    format!(
        "loses {} % [{}, {}] at worst, in {}",
        lost(kept.ratio),
        lost(kept.high),
        lost(kept.low),
        workload.label
    )
}
