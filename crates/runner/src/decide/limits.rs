//! Chooses the length and number of trials before a run, and fits them to the time that remains
//! after set-up.

use std::time::Duration;

use cryptbench_load::Presentation;
use cryptbench_record::{self as record, budget_option, longer_budget};
use cryptbench_stats::StoppingRule;

use super::Plan;
use super::workloads::record_workload;
use crate::RunError;
use crate::request::Request;

/// Time limit of a run with at most the usual number of arms, if its profile lets the precision determine the number of
/// trials.
pub const DEFAULT_BUDGET: Duration = Duration::from_secs(120);

/// Default minimum detectable loss, as a fraction.
pub const DEFAULT_PRECISION: f64 = 0.03;

/// Number of arms of a run with the default selection.
const USUAL_ARMS: f64 = 5.0;

/// Time limit of a run with a fixed number of trials, if the user sets none: a safeguard against a
/// disk that never finishes.
const UNBOUNDED: Duration = Duration::from_secs(7 * 24 * 3600);

/// Minimum number of pairs before a workload may end because of its precision. With fewer pairs, the interval
/// depends more on chance than on the disk (docs/methodology.md).
pub(crate) const MIN_PAIRS: u32 = 6;

/// Confidence level of every interval.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// Number of pairs that must fit into the budget when the length of a trial is chosen: without slices, and with
/// slices. With slices, a short trial is as good as a long one.
const PAIRS_WITHIN_BUDGET: f64 = 10.0;
const SLICED_PAIRS_WITHIN_BUDGET: f64 = 20.0;

/// Length of a slice in seconds; slow requests make it longer.
pub(crate) const SLICE_S: f64 = 0.005;

/// Minimum number of slices in a trial. With fewer, the slices of two arms would be no closer together than whole
/// trials.
pub(crate) const LEAST_SLICES: u32 = 2;

/// Whether a trial of the requested length, if any, can be split into slices.
fn can_be_cut(request: &Request) -> bool {
    let asked = request.trial.map(|trial| trial.as_secs_f64()).or(request.profile.trial_s);
    asked.is_none_or(|trial_s| trial_s >= f64::from(LEAST_SLICES) * SLICE_S)
}

/// Ramp of a timed trial in seconds: unmeasured time in which the queue fills and the device adapts to the new
/// work. At most a quarter of the trial.
const RAMP_S: f64 = 0.02;

/// Minimum length of a trial, whole and with slices, unless the user or the profile sets it.
const LEAST_TRIAL_S: f64 = 0.1;
const LEAST_SLICED_TRIAL_S: f64 = 0.06;

/// The intended number of pairs within the budget, and the minimum length of a trial.
fn aims(is_sliced: bool) -> (f64, f64) {
    match is_sliced {
        true => (SLICED_PAIRS_WITHIN_BUDGET, LEAST_SLICED_TRIAL_S),
        false => (PAIRS_WITHIN_BUDGET, LEAST_TRIAL_S),
    }
}

/// Share of the budget that filling, discarded trials and pauses use on an ordinary disk.
const OVERHEAD: f64 = 0.20;

/// Share of the budget that is planned for set-up, and the larger share while no system is set up.
pub(crate) const SET_UP_PLANNED: f64 = 0.25;
pub(crate) const FIRST_PLANNED: f64 = 0.6;

/// Shares of the budget within which the second system and the first system must be set up.
pub(super) const SECOND_WITHIN: f64 = 0.3;
pub(super) const FIRST_WITHIN: f64 = 0.7;

/// Shares of the budget at which a run stops a stage, even if it is unfinished: set-up while no system is set up,
/// set-up with one system, measurement, and inspection of the stored data. The rest is for clean-up.
pub(crate) const SET_UP_WITHIN: f64 = 0.75;
pub(crate) const OTHERS_UP_WITHIN: f64 = 0.6;
pub(crate) const MEASURED_WITHIN: f64 = 1.02;
pub(crate) const INSPECTED_WITHIN: f64 = 1.07;

/// Share of the budget that the inspection may use, and the share at which it should have finished.
const INSPECTING: f64 = 0.12;
pub(crate) const INSPECTED: f64 = 1.05;

/// Seconds of the budget to reserve after the last trial for an inspection that takes this long if it is not cut
/// short.
pub(crate) fn reserve(budget_s: f64, inspecting_s: f64) -> f64 {
    let inspecting_s = inspecting_s.min(INSPECTING * budget_s);
    (inspecting_s - (INSPECTED - 1.0) * budget_s).max(0.0)
}

/// Length and number of a run's trials.
struct Limits {
    /// Time limit of the whole run.
    budget: Duration,
    /// Measured time of one trial.
    trial: Duration,
    /// Whether the user or the profile sets the length of a trial.
    trial_is_asked: bool,
    /// Unmeasured ramp of a timed trial, in seconds.
    ramp_s: f64,
    min_pairs: u32,
    max_pairs: u32,
}

impl Limits {
    /// Reads the limits of `request` and chooses missing ones for `arms` arms, for a run with or without
    /// slices.
    fn choose(request: &Request, arms: usize, is_sliced: bool) -> Self {
        let (aim, least) = aims(is_sliced);
        let profile = &request.profile;
        let trials = request.trials.or(profile.trials);
        let budget = request.budget.unwrap_or(match trials {
            Some(_) => UNBOUNDED,
            None => usual_budget(arms),
        });
        let (min_pairs, max_pairs) = match trials {
            Some(trials) => (trials, trials),
            None => (MIN_PAIRS, request.max_pairs.max(MIN_PAIRS)),
        };
        let cells = (profile.workloads.len() * arms) as f64;
        let asked = request.trial.or(profile.trial_s.map(Duration::from_secs_f64));
        let trial = asked.unwrap_or_else(|| {
            // A workload can end only between two blocks. With slices, short blocks are as good as long ones.
            let soon = is_sliced && request.precision.is_some();
            let pairs = trials.map_or(if soon { f64::from(max_pairs) } else { aim }, f64::from);
            let share = budget.as_secs_f64() * (1.0 - OVERHEAD) / (cells * pairs);
            Duration::from_secs_f64(share.clamp(least, 2.0))
        });
        let ramp_s = profile.ramp_s.unwrap_or_else(|| usual_ramp(trial.as_secs_f64()));
        Self { budget, trial, trial_is_asked: asked.is_some(), ramp_s, min_pairs, max_pairs }
    }
}

/// The default budget of a run whose number of trials depends on the precision.
fn usual_budget(arms: usize) -> Duration {
    DEFAULT_BUDGET.mul_f64((arms as f64 / USUAL_ARMS).max(1.0))
}

/// Warns of a budget below half the default.
pub(crate) fn short_budget(plan: &record::Plan) -> Option<String> {
    let usual = usual_budget(plan.arms.len()).as_secs_f64();
    let is_short = plan.fixed_trials().is_none() && plan.budget_s < usual / 2.0;
    is_short.then(|| {
        format!(
            "A budget of {:.0} s is short for {} workloads on {} choices: figures may stay undecided or have too few \
             repeats. The default is {usual:.0} s.",
            plan.budget_s,
            plan.workloads.len(),
            plan.arms.len()
        )
    })
}

/// The plan for `arms` in the form of the record, and whether the length of its trials was set.
pub(super) fn schedule(
    request: &Request,
    arms: Vec<record::Arm>,
    seed: u32,
) -> Result<(record::Plan, bool), RunError> {
    let profile = &request.profile;
    let workload = |w| record_workload(w, request);
    let workloads: Vec<_> = profile.workloads.iter().map(workload).collect();
    let is_sliced =
        request.slices && can_be_cut(request) && workloads.iter().any(|w| w.unsliced.is_none());
    let Limits { budget, trial, trial_is_asked, ramp_s, min_pairs, max_pairs } =
        Limits::choose(request, arms.len(), is_sliced);
    let to_find = request.precision.unwrap_or(DEFAULT_PRECISION);
    let plan = record::Plan {
        profile: profile.name.clone(),
        workloads,
        arms,
        seed: request.seed.unwrap_or(u64::from(seed)),
        budget_s: budget.as_secs_f64(),
        trial_s: trial.as_secs_f64(),
        min_pairs,
        max_pairs,
        target_half_width: half_width(to_find, profile.workloads.len()),
        to_find: Some(to_find),
        confidence: CONFIDENCE,
        presentation: (profile.presentation != Presentation::Table)
            .then(|| profile.presentation.as_str().to_owned()),
        estimator: profile.estimator.map(|e| e.as_str().to_owned()),
        pause_s: profile.pause_s,
        round_pause_s: profile.round_pause_s,
        ramp_s,
        slice_s: is_sliced.then_some(SLICE_S),
        set: None,
        left_out: Vec::new(),
    };
    check(&plan)?;
    Ok((plan, trial_is_asked))
}

fn usual_ramp(trial_s: f64) -> f64 {
    RAMP_S.min(trial_s / 4.0)
}

/// Adapts the trials to the budget that is left after set-up.
#[derive(Debug, Default)]
pub(crate) struct Fitted {
    /// Length and ramp of a trial in seconds, if they are shorter than planned.
    pub(crate) trial: Option<(f64, f64)>,
    /// A note for readers, as a sentence.
    pub(crate) note: Option<String>,
}

/// Fits the trials of `plan` into the budget left after `elapsed`.
pub(crate) fn fit(plan: &Plan, elapsed: Duration) -> Fitted {
    let recorded = &plan.recorded;
    let spent = elapsed.as_secs_f64();
    if spent <= recorded.budget_s * OVERHEAD {
        return Fitted::default();
    }
    let (aim, least_trial_s) = aims(recorded.slice_s.is_some());
    let timed = timed_cells(recorded);
    let left = (recorded.budget_s - spent).max(0.0);
    let pairs = match recorded.fixed_trials() {
        Some(_) => f64::from(recorded.max_pairs),
        None => aim,
    };
    let planned = recorded.trial_s;
    let mut trial_s = planned;
    if !plan.trial_is_asked && timed > 0 {
        // One more pair for the discarded trials; a tenth of the time for pauses and the gaps between trials.
        let share = left * 0.9 / (timed as f64 * (pairs + 1.0));
        trial_s = share.clamp(least_trial_s.min(planned), planned);
    }
    let ramp_s = plan.ramp_s.unwrap_or_else(|| usual_ramp(trial_s));
    let trial = (trial_s < planned).then_some((trial_s, ramp_s));
    let least = trial_s * timed as f64 * f64::from(recorded.min_pairs + 1);
    let took = format!("Set-up took {spent:.0} s of the budget of {:.0} s", recorded.budget_s);
    let note = match trial {
        _ if least > left => Some(format!(
            "{took}: the remaining time is not enough for {} trials of every workload on every choice; use {}.",
            recorded.min_pairs,
            budget_option(longer_budget(spent + least, recorded.budget_s)),
        )),
        Some(_) => Some(format!("{took}: trials take {trial_s:.2} s instead of {planned:.2} s.")),
        None => None,
    };
    Fitted { trial, note }
}

/// Number of trials in one pair of all timed workloads.
fn timed_cells(plan: &record::Plan) -> usize {
    plan.workloads
        .iter()
        .filter(|w| w.is_timed())
        .map(|w| plan.arms.iter().filter(|a| plan.includes(w, a)).count())
        .sum()
}

/// Refuses a plan that cannot complete, or that leaves a workload without an arm to compare.
fn check(plan: &record::Plan) -> Result<(), RunError> {
    for workload in &plan.workloads {
        let encrypted = |a: &&record::Arm| {
            matches!(a.role, record::ArmRole::Encrypted | record::ArmRole::NullLayer)
        };
        let mut others = plan.arms.iter().filter(encrypted).peekable();
        if others.peek().is_some() && !others.any(|arm| plan.includes(workload, arm)) {
            let remedy = match workload.pattern {
                record::Pattern::Files => {
                    "small files need a system with a file system, such as builtin-mounted: choose one with --system"
                }
                _ => {
                    "its requests are not multiples of the sector size: choose another --sector-size"
                }
            };
            return Err(RunError::Usage(format!(
                "workload {:?} cannot run on any of the chosen systems; {remedy}",
                workload.id
            )));
        }
    }
    let timed = timed_cells(plan);
    let least = plan.trial_s * timed as f64 * f64::from(plan.min_pairs);
    if least > plan.budget_s {
        let problem = format!(
            "{} workloads on {} choices need {least:.0} s for {} trials of {:.2} s each, more than the budget of \
             {:.0} s: use {}, a shorter --trial, or fewer choices",
            plan.workloads.len(),
            plan.arms.len(),
            plan.min_pairs,
            plan.trial_s,
            plan.budget_s,
            budget_option(longer_budget(least / (1.0 - OVERHEAD), plan.budget_s)),
        );
        return Err(RunError::Option { option: "budget", problem });
    }
    Ok(())
}

/// The half-width of intervals, as a fraction, with which 9 of 10 runs with this number of workloads detect a loss
/// of `difference`. Arms without a loss are then shown to be equivalent within this margin.
pub fn half_width(difference: f64, workloads: usize) -> f64 {
    let rule =
        StoppingRule { target: difference, confidence: CONFIDENCE, ..StoppingRule::default() };
    rule.to_find_its_target(workloads).target
}

/// The stopping rule of a plan.
pub(crate) fn stopping_rule(plan: &record::Plan) -> StoppingRule {
    StoppingRule {
        min_pairs: plan.min_pairs,
        max_pairs: plan.max_pairs,
        target: plan.target_half_width,
        confidence: plan.confidence,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{planned, request};
    use super::*;

    #[test]
    fn what_setting_up_took_is_taken_from_the_trials() {
        let plan = planned(&request());
        let at = plan.recorded.trial_s;
        let fit = |s| fit(&plan, Duration::from_secs(s));
        let Fitted { trial: None, note: None } = fit(50) else { panic!("as much was allowed for") };
        let fitted = fit(150);
        insta::assert_snapshot!(fitted.note.unwrap(), @"Set-up took 150 s of the budget of 300 s: trials take 0.16 s instead of 0.30 s.");
        let (trial_s, ramp_s) = fitted.trial.unwrap();
        let cells = timed_cells(&plan.recorded) as f64;
        assert!(trial_s < at && trial_s >= LEAST_SLICED_TRIAL_S);
        assert!(trial_s * cells * (SLICED_PAIRS_WITHIN_BUDGET + 1.0) <= 150.0);
        assert!(ramp_s <= trial_s / 4.0);
        insta::assert_snapshot!(fit(299).note.unwrap(), @"Set-up took 299 s of the budget of 300 s: the remaining time is not enough for 6 trials of every workload on every choice; use --budget 10m.");
    }

    #[test]
    fn who_asks_for_a_precision_has_short_trials() {
        let mut request = request();
        let fills_the_budget = planned(&request).recorded.trial_s;
        request.precision = Some(0.03);
        assert_eq!(planned(&request).recorded.trial_s, LEAST_SLICED_TRIAL_S);
        request.slices = false;
        assert!(
            planned(&request).recorded.trial_s > fills_the_budget,
            "whole trials do not change"
        );
    }

    #[test]
    fn a_length_that_was_asked_for_stays() {
        let mut request = request();
        request.trial = Some(Duration::from_millis(250));
        assert!(fit(&planned(&request), Duration::from_secs(200)).trial.is_none());
    }
}
