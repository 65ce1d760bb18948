//! Chooses the volumes for which the budget suffices: those that open fastest.

use std::time::Instant;

use cryptbench_kdf::{Argon2Params, Derivation, Effort, pim};
use cryptbench_load::{UnlockWork, Work};
use cryptbench_record::{ArmRole, LeftOut, budget_option, longer_budget};
use cryptbench_stats::paired::FEWEST_PAIRS;

use super::Claimed;
use super::volumes::{Machine, UNLOCK_TIME};
use crate::decide::volumes::{TCRYPT_KEY, UnlockArm, UnlockKind};
use crate::recorder::Recorder;
use crate::{Halt, RunError};

/// Share of the remaining time that the expected time for creating and opening may use.
const FILLED: f64 = 0.75;

/// Cost of a derivation that is timed: high enough to be measured, but low compared with a real one.
const ITERATIONS: u32 = 4000;
const MEMORY_KIB: u32 = 16 << 10;

/// Number of derivations to create a VeraCrypt or TrueCrypt volume, which has two headers; and the maximum for a LUKS
/// volume, including the search for its cost.
const HEADERS: f64 = 2.0;
const LUKS_CREATED: f64 = 3.5;

/// Seconds that an arm takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Takes {
    created_s: f64,
    /// One trial of each workload, and one of the shortest workload.
    round_s: f64,
    shortest_s: f64,
}

impl Takes {
    fn all_s(self, rounds: f64) -> f64 {
        self.created_s + rounds * self.round_s
    }

    fn least_s(self) -> f64 {
        self.created_s + FEWEST_PAIRS as f64 * self.shortest_s
    }
}

/// Which arms fit into `seconds` with `rounds` trials of each workload: as many as possible, cheapest first. The
/// cheapest one is included even if only the minimum number of trials of one workload fits. `None` represents plain
/// storage, which costs nothing.
fn fitting(takes: &[Option<Takes>], rounds: f64, seconds: f64) -> Vec<bool> {
    let mut order: Vec<(usize, Takes)> =
        takes.iter().enumerate().filter_map(|(i, takes)| Some((i, (*takes)?))).collect();
    order.sort_by(|a, b| a.1.all_s(rounds).total_cmp(&b.1.all_s(rounds)));
    let mut fits: Vec<bool> = takes.iter().map(Option::is_none).collect();
    let mut sum = 0.0;
    for (place, (arm, takes)) in order.into_iter().enumerate() {
        sum += takes.all_s(rounds);
        fits[arm] = sum <= seconds || (place == 0 && takes.least_s() <= seconds);
    }
    fits
}

impl Claimed<'_> {
    /// Those of `arms` for which the budget suffices, and the others in the form of the record.
    ///
    /// # Errors
    /// [`RunError::NoTime`] if it suffices for none; [`Halt`].
    pub(super) fn affordable(
        &self,
        arms: &[UnlockArm],
        recorder: &mut Recorder<'_>,
    ) -> Result<(Vec<UnlockArm>, Vec<LeftOut>), Halt> {
        let recorded = &self.plan.recorded;
        if self.plan.earlier.is_some() {
            return Ok((arms.to_vec(), Vec::new()));
        }
        let takes = arms.iter().map(|arm| self.takes_of(arm)).collect::<Result<Vec<_>, _>>()?;
        let rounds = f64::from(recorded.min_pairs);
        let left = recorded.budget_s - self.clock.elapsed().as_secs_f64();
        let fits = fitting(&takes, rounds, left * FILLED);
        let (taken, out): (Vec<_>, Vec<_>) = arms.iter().zip(&fits).partition(|(_, fits)| **fits);
        if out.is_empty() {
            return Ok((arms.to_vec(), Vec::new()));
        }
        let spent = self.clock.elapsed().as_secs_f64();
        let enough_s = |all_s: f64| longer_budget(spent + all_s / FILLED, recorded.budget_s);
        if !taken.iter().any(|(arm, _)| arm.role == ArmRole::Encrypted) {
            let least_s = takes.iter().flatten().map(|t| t.all_s(rounds));
            let least_s = least_s.fold(f64::INFINITY, f64::min);
            let what = format!(
                "even the volume that opens fastest needs {least_s:.0} s for all its trials"
            );
            let (budget_s, enough) = (recorded.budget_s, budget_option(enough_s(least_s)));
            return Err(RunError::NoTime { budget_s, what, enough }.into());
        }
        let names: Vec<&str> = out.iter().map(|(arm, _)| &*arm.label).collect();
        let enough_s = enough_s(takes.iter().flatten().map(|t| t.all_s(rounds)).sum());
        let option = budget_option(enough_s);
        recorder.tell(format!(
            "Left out, because the budget is too short for enough openings: {}. To include them, use {option}.",
            names.join(", ")
        ));
        let left_out = |(arm, _): (&UnlockArm, &bool)| LeftOut {
            system: arm.label.clone(),
            reason: format!("the budget is too short for enough openings; {option} is enough"),
            remedy: format!("allow more time: cryptbench run --profile mount {option}"),
            enough_s: Some(enough_s),
        };
        let out = out.into_iter().map(left_out).collect();
        Ok((taken.into_iter().map(|(arm, _)| arm.clone()).collect(), out))
    }

    /// How long an arm takes; `None` for plain storage.
    fn takes_of(&self, arm: &UnlockArm) -> Result<Option<Takes>, Halt> {
        let UnlockKind::Volume { format, function, pim } = arm.kind else { return Ok(None) };
        let (one_s, any_s, created) = match format.kind() {
            Some(kind) => {
                let known = pim::derivation(kind, function, pim).map_err(RunError::from)?;
                let all = pim::derivations(kind, pim).map_err(RunError::from)?;
                let any_s = all.iter().map(|one| self.derivation_s(one)).sum::<Result<f64, _>>()?;
                (self.derivation_s(&known)?, any_s, HEADERS)
            }
            // The cost of a LUKS key is chosen so that its derivation takes this time.
            None => (UNLOCK_TIME.as_secs_f64(), UNLOCK_TIME.as_secs_f64(), LUKS_CREATED),
        };
        let trial_s = |work: &UnlockWork| if work.prf_known { one_s } else { any_s };
        let works = self.plan.workloads.iter().filter_map(|w| match &w.work {
            Work::Unlock(work) => Some(trial_s(work)),
            _ => None,
        });
        let works: Vec<f64> = works.collect();
        Ok(Some(Takes {
            created_s: created * one_s,
            round_s: works.iter().sum(),
            shortest_s: works.iter().copied().fold(f64::INFINITY, f64::min),
        }))
    }

    /// Seconds of a derivation, extrapolated from a shorter one.
    fn derivation_s(&self, derivation: &Derivation) -> Result<f64, Halt> {
        let short = match *derivation {
            Derivation::Pbkdf2 { prf, iterations } => {
                Derivation::Pbkdf2 { prf, iterations: iterations.min(ITERATIONS) }
            }
            Derivation::Argon2 { kind, params } => {
                let memory_kib = params.memory_kib.min(MEMORY_KIB);
                Derivation::Argon2 {
                    kind,
                    params: Argon2Params { memory_kib, passes: 1, ..params },
                }
            }
        };
        let effort: Effort<'_> = Machine::new()?.effort().stopped_by(self.stop);
        let mut key = [0; TCRYPT_KEY];
        let began = Instant::now();
        let done = short.derive(b"how long does it take?", &[0; 64], &mut key, effort);
        if self.go_on().is_err() {
            return Err(Halt::Interrupted);
        }
        done.map_err(RunError::from)?;
        Ok(began.elapsed().as_secs_f64() * derivation.work() as f64 / short.work() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_volumes_are_opened_and_one_where_a_few_trials_of_it_fit() {
        let of = |created_s, round_s| Some(Takes { created_s, round_s, shortest_s: round_s / 8.0 });
        let takes = [None, None, of(1.0, 6.0), of(0.01, 0.05), of(0.02, 0.1), of(4.0, 8.0)];
        let of = |seconds| fitting(&takes, 5.0, seconds);
        assert_eq!(of(20.0), [true, true, false, true, true, false]);
        assert_eq!(of(32.0), [true, true, true, true, true, false]);
        assert_eq!(of(200.0), [true; 6]);
        assert_eq!(of(0.1), [true, true, false, true, false, false]);
        assert_eq!(of(0.01), [true, true, false, false, false, false]);
    }
}
