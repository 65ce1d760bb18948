//! Paired comparison of any two arms over the workloads, by the same rules as the verdicts.

use cryptbench_record::{Estimate, Verdict};
use cryptbench_stats::{PairedEstimate, estimate, holm};

use crate::cells::cell;
use crate::doubt::Compared;
use crate::lookup::Lookup;
use crate::verdict::{Evidence, judge, log_of_loss};

/// One workload in a comparison of `arm` with `baseline`.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Workload identifier.
    pub workload: String,
    /// Speed of `arm` divided by the speed of `baseline`, with its interval.
    pub estimate: Estimate,
    /// The verdict; `Costs` means that `arm` is slower.
    pub verdict: Verdict,
}

/// Compares two arms block by block, in every workload in which both arms have enough pairs and neither was served from
/// a cache, with Holm's correction over these workloads.
pub fn compare(lookup: &Lookup<'_>, arm: &str, baseline: &str) -> Vec<Comparison> {
    let Lookup { record, cells, trials, .. } = lookup;
    let cached = |workload: &str, arm: &str| cell(cells, workload, arm).is_some_and(|c| c.cached);
    let found: Vec<_> = record
        .plan
        .workloads
        .iter()
        .filter(|w| !cached(&w.id, arm) && !cached(&w.id, baseline))
        .filter_map(|w| {
            let d = trials.log_ratios(&w.id, arm, &[baseline]);
            sound_estimate(&d, record.plan.confidence).map(|e| (w, d, e))
        })
        .collect();
    let tests = found.len();
    let adjusted = holm(&found.iter().map(|(_, _, e)| e.p_value).collect::<Vec<_>>());
    found
        .into_iter()
        .zip(adjusted)
        .map(|((w, d, e), p_holm)| {
            let noise = cell(cells, &w.id, arm).and_then(|c| c.noise_of_mean).unwrap_or(0.0);
            let noise = log_of_loss(noise);
            let compared = Compared { record, trials, workload: &w.id, arm, baseline: &[baseline] };
            let claimable = compared.may_be_claimed(e.mean);
            let evidence = Evidence { d: &d, estimate: &e, p_holm, tests, noise, claimable };
            Comparison {
                workload: w.id.clone(),
                estimate: as_ratio(&e, p_holm),
                verdict: judge(&evidence, &record.plan),
            }
        })
        .collect()
}

/// The estimate of log ratios; `None` if any part of it is not finite.
pub fn sound_estimate(d: &[f64], confidence: f64) -> Option<PairedEstimate> {
    let mut e = estimate(d, confidence)?;
    if !e.p_value.is_finite() {
        // All differences are equal, so their spread is unknown and nothing is significant.
        e.p_value = 1.0;
    }
    [e.mean, e.low, e.high, e.half_width, e.hodges_lehmann]
        .iter()
        .all(|v| v.is_finite())
        .then_some(e)
}

/// The estimate as a ratio of speeds.
pub fn as_ratio(e: &PairedEstimate, p_holm: f64) -> Estimate {
    Estimate {
        ratio: e.mean.exp(),
        low: e.low.exp(),
        high: e.high.exp(),
        hodges_lehmann: e.hodges_lehmann.exp(),
        signed_rank_low: e.signed_rank.map(|(low, _)| low.exp()),
        signed_rank_high: e.signed_rank.map(|(_, high)| high.exp()),
        p_value: e.p_value,
        p_holm,
        pairs: u32::try_from(e.pairs).unwrap_or(u32::MAX),
    }
}
