//! Notes for readers of a record, in sentences.

use cryptbench_record as record;
use cryptbench_stats::steady_state;

/// How many workloads ended in a steady state as defined by the SNIA performance test
/// specification: over the last five rounds, the excursion of plain storage is at most 20 % of its
/// mean, and its trend at most 10 %.
pub(super) fn steady_note(plan: &record::Plan, trials: &[record::Trial]) -> Option<String> {
    let plain = plan.arms.first()?;
    let steady = |w: &&record::Workload| {
        let rates: Vec<f64> = record::trials_of(trials, &w.id, &plain.id)
            .iter()
            .map(|(_, trial)| trial.iops())
            .collect();
        steady_state(&rates).is_some()
    };
    let reached = plan.workloads.iter().filter(steady).count();
    Some(format!(
        "{reached} of {} workloads reached a steady state on plain storage (SNIA PTS: over five rounds an \
         excursion of at most 20 % and a slope of at most 10 % of the mean).",
        plan.workloads.len()
    ))
}

/// Whether a workload has fewer trials than the plan requires.
pub(super) fn cut_short(plan: &record::Plan, stops: &[record::WorkloadStop]) -> bool {
    let least = if plan.fixed_trials().is_some() { plan.max_pairs } else { 1 };
    stops.iter().any(|stop| stop.pairs < least)
}

/// Requests in flight at the start and the end of the measured time make the rate uncertain by about the same
/// number of requests. Notes the workloads for which this number is more than an eighth of a trial. Slices have no
/// such uncertainty.
pub(super) fn few_requests(plan: &record::Plan, trials: &[record::Trial]) -> Option<String> {
    let few: Vec<_> = plan
        .workloads
        .iter()
        .filter(|w| w.is_timed())
        .filter(|w| {
            let least = 8 * u64::from(w.in_flight());
            let whole = |t: &&record::Trial| {
                t.workload == w.id && t.block.is_some() && t.measured.slices.is_none()
            };
            trials.iter().filter(whole).any(|t| t.measured.ios < least)
        })
        .collect();
    let first = few.first()?;
    let example = if few.len() == 1 { "" } else { "such as " };
    Some(format!(
        "{} of {} workloads ({example}{}) {} trials with fewer requests than 8 times the queue depth: such trials \
         are too short to be reliable; use a longer --trial.",
        few.len(),
        plan.workloads.len(),
        first.label,
        if few.len() == 1 { "has" } else { "have" },
    ))
}
