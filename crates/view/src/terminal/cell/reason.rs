//! The numbers behind a verdict, the rule that led to it, and what would settle an open verdict.

use cryptbench_answer::quantity::{duration, fraction, kept_percent, percent, thousands};
use cryptbench_estimate::comparison::{as_ratio, sound_estimate};
use cryptbench_estimate::lookup::{Lookup, geometric_mean};
use cryptbench_estimate::verdict::{ABOUT_THE_SAME, loss};
use cryptbench_record::{Arm, Cell, Estimate, Slices, Trial, Verdict, Workload};
use cryptbench_stats::paired::FEWEST_PAIRS;
use cryptbench_stats::{FAMILY_LEVEL, PairedEstimate, pairs_needed, trimmed_mean};

use super::confidence;

/// The pairs of a cell on the log scale.
pub(super) struct Evidence {
    estimate: PairedEstimate,
    /// Number of this arm's cells for which Holm's method corrects.
    tests: usize,
}

/// The basis of a cell's estimate; `None` for plain storage itself, or if there are too few pairs.
pub(super) fn evidence(
    lookup: &Lookup<'_>,
    workload: &Workload,
    arm: &Arm,
    cell: &Cell,
) -> Option<Evidence> {
    cell.kept?;
    let d = lookup.against_plain(workload, arm);
    let estimate = sound_estimate(&d, lookup.record.plan.confidence)?;
    let of_arm = |c: &&Cell| c.arm == arm.id && c.kept.is_some();
    Some(Evidence { estimate, tests: lookup.cells.iter().filter(of_arm).count() })
}

/// Name and text of each number.
pub(super) fn numbers(
    lookup: &Lookup<'_>,
    cell: &Cell,
    evidence: Option<&Evidence>,
) -> Vec<(&'static str, String)> {
    let mut numbers = Vec::new();
    if let (Some(kept), Some(evidence)) = (&cell.kept, evidence) {
        numbers.push(("speed", estimate(lookup, kept, evidence)));
        numbers.push(("chance", chance(kept, evidence)));
    }
    if let (Some(trial), Some(mean)) = (cell.noise_floor, cell.noise_of_mean) {
        numbers.push((
            "noise",
            format!(
                "two plain trials differ by up to {} (95th percentile), the means of two series of them by up to {}",
                fraction(trial),
                fraction(mean)
            ),
        ));
    }
    numbers.push(("to find", format!("a loss of {}", fraction(lookup.record.plan.margin()))));
    numbers
}

/// The estimate from the slices of each trial without the extremes. It does not affect verdicts, but shows
/// whether a few stalls cause the difference.
pub(super) fn middle_of_slices(
    lookup: &Lookup<'_>,
    workload: &Workload,
    arm: &Arm,
) -> Option<String> {
    let baseline = lookup.record.plan.baseline(arm);
    let arms: [&[&str]; 2] = [&baseline, &[&arm.id]];
    let rates = lookup.trials.matched(&workload.id, &arms, middle_rate, geometric_mean);
    let [plain, of] = &rates[..] else { return None };
    let d: Vec<f64> = of.iter().zip(plain).map(|(of, plain)| (of / plain).ln()).collect();
    let found = sound_estimate(&d, lookup.record.plan.confidence)?;
    Some(format!(
        "{} of plain speed without the slowest and the fastest tenth of each trial's slices",
        kept_percent(&as_ratio(&found, found.p_value))
    ))
}

/// Requests per second over the slices of a trial without the slowest and the fastest tenth; NaN if there are
/// fewer than ten slices.
fn middle_rate(trial: &Trial) -> f64 {
    const LEAST: usize = 10;
    let rates: Vec<f64> =
        trial.measured.slices.iter().flat_map(Slices::course).map(|(_, rate)| rate).collect();
    let trimmed = trimmed_mean(&rates, rates.len() / LEAST);
    trimmed.filter(|_| rates.len() >= LEAST).unwrap_or(f64::NAN)
}

fn estimate(lookup: &Lookup<'_>, kept: &Estimate, evidence: &Evidence) -> String {
    let half = evidence.estimate.half_width.exp_m1();
    let robust = match (kept.signed_rank_low, kept.signed_rank_high) {
        (Some(low), Some(high)) => {
            let as_kept = Estimate { ratio: kept.hodges_lehmann, low, high, ..*kept };
            format!("; by ranks (robust to outliers) {}", kept_percent(&as_kept))
        }
        _ => String::new(),
    };
    format!(
        "{} of plain speed, {} interval ±{} over {} repeats{robust}",
        kept_percent(kept),
        confidence(lookup),
        fraction(half),
        kept.pairs
    )
}

fn chance(kept: &Estimate, evidence: &Evidence) -> String {
    let corrected = match evidence.tests {
        1 => String::new(),
        n => format!(", {} after Holm's correction for {n} workloads", p_words(kept.p_holm)),
    };
    format!("p {}{corrected}; a claim needs less than {FAMILY_LEVEL}", p_words(kept.p_value))
}

fn p_words(p: f64) -> String {
    match p {
        p if p < 0.0001 => "<0.0001".to_owned(),
        p if p < 0.01 => format!("{p:.4}"),
        p => format!("{p:.2}"),
    }
}

/// Whether the file system compressed the data written in a cell.
fn is_compressed(lookup: &Lookup<'_>, cell: &Cell) -> bool {
    let record = lookup.record;
    let workload = record.plan.workloads.iter().find(|w| w.id == cell.workload);
    workload.is_some_and(|w| record.target.compresses(w))
}

/// The rule that led to the verdict, with the numbers of this cell.
pub(super) fn why(lookup: &Lookup<'_>, cell: &Cell, evidence: Option<&Evidence>) -> Option<String> {
    let noise = fraction(cell.noise_of_mean.unwrap_or(0.0));
    let margin = fraction(lookup.record.plan.margin());
    Some(match (cell.verdict.as_ref()?, evidence) {
        (Verdict::Cached, _) if is_compressed(lookup, cell) => {
            "the file system compressed the data, so the disk received less data than was written"
                .to_owned()
        }
        (Verdict::Cached, _) => {
            let moved = cell.device_ratio.map_or_else(
                || "plain storage was served from a cache".to_owned(),
                |r| format!("the device transferred {} of the requested bytes", fraction(r)),
            );
            format!("{moved}: the result comes from a cache and says nothing about the disk")
        }
        (Verdict::TooFewPairs, _) => {
            format!(
                "{} trials make fewer than {FEWEST_PAIRS} repeats with plain, or all differ from plain by the same",
                cell.trials
            )
        }
        (Verdict::Costs { percent: p }, _) => format!(
            "chance is ruled out after correction, and the loss of {} is above the noise of {noise}",
            percent(*p)
        ),
        (Verdict::Gains { percent: p }, _) => format!(
            "chance is ruled out after correction, and the gain of {} is above the noise of {noise}; encryption \
             saves no work, so a cache or the disk made the difference",
            percent(*p)
        ),
        (Verdict::LikelyCosts { .. } | Verdict::LikelyGains { .. }, Some(e)) => {
            format!("its own interval excludes equality, but {}", unclaimed(cell, e))
        }
        (Verdict::Equivalent { within_percent }, _) => format!(
            "two one-sided tests show that it is within {} of plain",
            percent(*within_percent)
        ),
        (Verdict::WithinNoise { noise_percent }, Some(e)) => format!(
            "{}, and the noise alone makes the interval as wide as its ±{}; a difference above {} would have been found",
            unclaimed(cell, e),
            fraction(e.estimate.half_width.exp_m1()),
            percent(*noise_percent)
        ),
        (Verdict::Inconclusive { .. }, Some(e)) => format!(
            "{}, and the interval of ±{} is too wide: more than the {margin} to detect, and more than \
             {ABOUT_THE_SAME:.0} times the noise of {noise}",
            unclaimed(cell, e),
            fraction(e.estimate.half_width.exp_m1()),
        ),
        (
            Verdict::LikelyCosts { .. }
            | Verdict::LikelyGains { .. }
            | Verdict::WithinNoise { .. }
            | Verdict::Inconclusive { .. },
            None,
        ) => return None,
    })
}

/// Why no claim is made.
fn unclaimed(cell: &Cell, evidence: &Evidence) -> String {
    let p_holm = cell.kept.map_or(1.0, |k| k.p_holm);
    if p_holm >= FAMILY_LEVEL {
        return "the difference may be chance".to_owned();
    }
    let noise = cell.noise_of_mean.unwrap_or(0.0);
    format!(
        "the difference of {} is below the noise of {}",
        fraction(loss(evidence.estimate.mean.abs())),
        fraction(noise)
    )
}

/// What to do to settle an open verdict; `None` if it is settled.
pub(super) fn settle(
    lookup: &Lookup<'_>,
    workload: &Workload,
    cell: &Cell,
    evidence: Option<&Evidence>,
) -> Option<String> {
    let plan = &lookup.record.plan;
    Some(match cell.verdict.as_ref()? {
        Verdict::Inconclusive { more_pairs: u32::MAX } => {
            "no number of repeats would: these trials differ too much".to_owned()
        }
        Verdict::Inconclusive { more_pairs } => {
            let now = cell.kept.map_or(0, |k| k.pairs);
            format!(
                "about {} repeats, {} more{}, or a quieter machine",
                thousands(f64::from(*more_pairs)),
                thousands(f64::from(more_pairs.saturating_sub(now))),
                time_of(lookup, workload, more_pairs.saturating_sub(now))
            )
        }
        Verdict::WithinNoise { .. } | Verdict::LikelyCosts { .. } | Verdict::LikelyGains { .. } => {
            let e = &evidence?.estimate;
            let needed = pairs_needed(e.sd, plan.margin().ln_1p(), plan.confidence);
            if needed == u32::MAX || needed as usize <= e.pairs {
                return None;
            }
            format!(
                "detecting a loss of {} here requires about {} repeats{}",
                fraction(plan.margin()),
                thousands(f64::from(needed)),
                time_of(lookup, workload, needed - e.pairs as u32)
            )
        }
        Verdict::TooFewPairs => {
            format!("a longer run: --budget, or --trials {}", FEWEST_PAIRS.max(6))
        }
        Verdict::Cached if lookup.record.target.compresses(workload) => {
            "workloads of random data, or a directory that is not compressed".to_owned()
        }
        Verdict::Cached => {
            "direct I/O if the file system supports it, or a file much larger than the cache: --size"
                .to_owned()
        }
        Verdict::Costs { .. } | Verdict::Gains { .. } | Verdict::Equivalent { .. } => return None,
    })
}

/// The time that this number of pairs takes at the current speed; empty if that is unknown.
fn time_of(lookup: &Lookup<'_>, workload: &Workload, pairs: u32) -> String {
    let record = lookup.record;
    // The time between the starts of two trials, including preparations and pauses.
    let mut began: Vec<f64> = record.trials.iter().map(|t| t.at_s).collect();
    began.sort_by(f64::total_cmp);
    let between: Vec<f64> = began.windows(2).map(|w| w[1] - w[0]).collect();
    let Some(each) = cryptbench_stats::median(&between).filter(|s| *s > 0.0) else {
        return String::new();
    };
    let arms = record.plan.arms.iter().filter(|arm| record.plan.includes(workload, arm)).count();
    format!(" (about {} for this workload only)", duration(f64::from(pairs) * arms as f64 * each))
}

#[cfg(test)]
mod tests {
    use cryptbench_record::Observation;

    use super::*;

    #[test]
    fn a_stalled_slice_does_not_move_the_middle_of_a_trial() {
        let trial = |elapsed_us: Vec<u64>| {
            let slices = Some(Slices {
                at_us: (0..elapsed_us.len() as u64).map(|i| i * 10_000).collect(),
                ios: vec![100; elapsed_us.len()],
                elapsed_us,
            });
            Trial { measured: Observation { slices, ..Observation::default() }, ..Trial::default() }
        };
        let mut elapsed = vec![5_000; 20];
        elapsed[7] = 500_000;
        assert!((middle_rate(&trial(elapsed)) - 20_000.0).abs() < 1e-9);
        assert!(middle_rate(&trial(vec![5_000; 9])).is_nan());
        assert!(middle_rate(&Trial::default()).is_nan());
    }
}
