//! The unlock time and its parts, in sentences.

use cryptbench_estimate::arms::plain_arm;
use cryptbench_estimate::lookup::Lookup;
use cryptbench_estimate::opening::{Opening, opening};
use cryptbench_record::{Arm, ArmRole, Workload};

use super::View;
use super::trust::ended_early;
use crate::quantity::{count, fraction, seconds};

/// Up to this many arms are described individually.
const MOST_ARMS: usize = 3;

/// One way of opening on one arm, in the order of the arms.
type Times<'a> = Vec<(&'a Arm, Opening)>;

/// The sentences of a run that opens volumes.
pub(super) fn openings(view: &View<'_>) -> Vec<String> {
    let mut ways: Vec<(&Workload, Times<'_>)> =
        view.workloads().iter().map(|w| (w, times(view.lookup, w))).collect();
    ways.retain(|(_, times)| !times.is_empty());
    let mut found = Vec::new();
    if let Some((workload, times)) = ways.first() {
        found.extend(first_way(workload, times));
        for (other, more) in &ways[1..] {
            found.extend(other_way(workload, times, other, more));
        }
    }
    found.extend(basis(view, &ways));
    found
}

/// The number of trials behind the medians.
fn basis(view: &View<'_>, ways: &[(&Workload, Times<'_>)]) -> Option<String> {
    let trials = || ways.iter().flat_map(|(_, times)| times.iter().map(|(_, o)| o.trials));
    let range = match (trials().min()?, trials().max()?) {
        (least, most) if least == most => count(most, "opening", "openings"),
        (least, most) => format!("{least} to {most} openings"),
    };
    let lead = match view.record.partial {
        true => format!("{}: each", ended_early(view.record)),
        false => "Each".to_owned(),
    };
    Some(format!("{lead} time is the median of {range}, interleaved, with its interval."))
}

fn times<'a>(lookup: &Lookup<'a>, workload: &Workload) -> Times<'a> {
    let plain = plain_arm(lookup.record).map(|p| p.id.as_str());
    let derivation = ["derivation".to_owned()];
    lookup
        .arms()
        .iter()
        .filter(|a| Some(a.id.as_str()) != plain && a.role == ArmRole::Encrypted)
        .filter_map(|arm| Some((arm, opening(lookup, workload, arm, &derivation)?)))
        .collect()
}

/// The profile's first way of opening: its duration, and whether key derivation takes most of this time.
fn first_way(workload: &Workload, times: &Times<'_>) -> Vec<String> {
    let time = |o: &Opening| {
        let [median, low, high] = [o.median, o.low, o.high].map(seconds);
        let keys = o.parts.first().copied().flatten().map(|s| s / o.median);
        let part = keys.filter(|share| share.is_finite()).map_or_else(String::new, |share| {
            format!(", {} of it for key derivation", fraction(share))
        });
        format!("{median} ({low} to {high}){part}")
    };
    if times.len() <= MOST_ARMS {
        let one = |(arm, o): &(&Arm, Opening)| {
            format!("To open {} takes {} ({}).", arm.label, time(o), workload.label)
        };
        return times.iter().map(one).collect();
    }
    let ranked =
        |(_, a): &&(&Arm, Opening), (_, b): &&(&Arm, Opening)| a.median.total_cmp(&b.median);
    let (Some(fast), Some(slow)) = (times.iter().min_by(ranked), times.iter().max_by(ranked))
    else {
        return Vec::new();
    };
    vec![format!(
        "Of {} volumes, {} is the fastest to open: it takes {}; {} is the slowest ({}).",
        times.len(),
        fast.0.label,
        time(&fast.1),
        slow.0.label,
        seconds(slow.1.median),
    )]
}

/// Another way of opening, as a multiple of the first way's time: the largest and the smallest difference.
fn other_way(
    workload: &Workload,
    times: &Times<'_>,
    other: &Workload,
    more: &Times<'_>,
) -> Option<String> {
    let mut ratios: Vec<(&Arm, f64)> = more
        .iter()
        .filter_map(|(arm, o)| {
            let (_, first) = times.iter().find(|(a, _)| a.id == arm.id)?;
            Some((*arm, o.median / first.median)).filter(|(_, r)| r.is_finite())
        })
        .collect();
    ratios.sort_by(|a, b| a.1.total_cmp(&b.1));
    let ((least_arm, least), (most_arm, most)) = (*ratios.first()?, *ratios.last()?);
    let start = format!("Compared with “{}”, “{}” takes", workload.label, other.label);
    Some(match ratios.len() {
        1 => format!("{start} {most:.2} times as long."),
        _ if most / least < 1.1 => format!("{start} {least:.2} to {most:.2} times as long."),
        _ => format!(
            "{start} {least:.2} times as long with {} and {most:.2} times with {}.",
            least_arm.label, most_arm.label
        ),
    })
}
