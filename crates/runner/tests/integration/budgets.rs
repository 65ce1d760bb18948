//! Runs on slow disks keep their budgets, by a simulated clock.

use std::collections::BTreeSet;
use std::time::Duration;

use cryptbench_load::{Profile, Rates, WorkloadSpec};
use cryptbench_record::{Arm, ArmRole, Observation, Plan, StopReason, Workload};
use cryptbench_runner::{Bench, Halt, Turns};

use crate::course::Course;

/// A disk on which a trial takes as long as forecast for the profile, plus an unexpected share.
struct SlowDisk {
    now: Duration,
    workloads: Vec<WorkloadSpec>,
    rates: Rates,
    timed_s: f64,
    surprise: f64,
    /// Factor by which the expected duration of trials is too long.
    feared: f64,
    /// Time to reserve at the end, and the time at which the run must end.
    reserve: Duration,
    hard_end: Duration,
    over: bool,
    /// Workloads whose duration a trial has shown, and whether a trial of one of them was interrupted nevertheless.
    seen: BTreeSet<usize>,
    cut_in_vain: bool,
}

impl SlowDisk {
    fn seconds(&self, workload: usize) -> f64 {
        self.workloads[workload].work.seconds(self.timed_s, 64 << 20, &self.rates)
    }
}

impl Bench for SlowDisk {
    fn trial(&mut self, workload: usize, _: usize, _: u64) -> Result<Observation, Halt> {
        let takes = Duration::from_secs_f64(self.seconds(workload) * self.surprise);
        if self.now + takes > self.hard_end {
            // The flag stops the current trial.
            (self.now, self.over) = (self.now.max(self.hard_end), true);
            self.cut_in_vain |= self.seen.contains(&workload);
            return Err(Halt::Interrupted);
        }
        self.now += takes;
        self.seen.insert(workload);
        Ok(Observation {
            elapsed_s: takes.as_secs_f64(),
            ios: 100,
            bytes: 409_600,
            ..Observation::default()
        })
    }

    fn takes_turns(&self, _: usize, _: usize) -> bool {
        false
    }

    fn turns(&mut self, _: usize, _: &Turns, _: u64) -> Result<Vec<Observation>, Halt> {
        unreachable!("nobody takes turns")
    }

    fn pause(&mut self, length: Duration) {
        self.now += length;
    }

    fn elapsed(&self) -> Duration {
        self.now
    }

    fn interrupted(&self) -> bool {
        false
    }

    fn out_of_time(&self) -> bool {
        self.over
    }

    fn reserve(&self) -> Duration {
        self.reserve
    }

    fn expected(&self, workload: usize) -> Duration {
        Duration::from_secs_f64(self.seconds(workload) * self.feared)
    }
}

const ROLES: [ArmRole; 4] =
    [ArmRole::Plain, ArmRole::PlainAgain, ArmRole::Encrypted, ArmRole::Encrypted];

fn plan(profile: &Profile, budget_s: f64) -> Plan {
    let workload = |w: &WorkloadSpec| Workload { id: w.id.clone(), ..Workload::default() };
    let arm =
        |(i, role): (usize, &ArmRole)| Arm { id: format!("a{i}"), role: *role, ..Arm::default() };
    Plan {
        workloads: profile.workloads.iter().map(workload).collect(),
        arms: ROLES.iter().enumerate().map(arm).collect(),
        seed: 1,
        budget_s,
        trial_s: 0.1,
        min_pairs: profile.trials.unwrap_or(6),
        max_pairs: profile.trials.unwrap_or(40),
        target_half_width: 1e-9,
        confidence: 0.95,
        ..Plan::default()
    }
}

fn disks() -> [(&'static str, Rates); 4] {
    let rates = |mb_s: f64, request_s| Rates {
        read: mb_s * 1e6,
        write: mb_s * 1e6,
        request_s,
        files: f64::INFINITY,
        unlock_s: 0.3,
    };
    [
        ("fast", rates(500.0, 1e-4)),
        ("5 MB/s", rates(5.0, 2e-3)),
        ("1 MB/s", rates(1.0, 4e-3)),
        ("60 IOPS", rates(60.0, 1.0 / 60.0)),
    ]
}

#[test]
fn six_profiles_keep_their_budget_on_four_disks_even_where_trials_take_longer_than_expected() {
    for name in ["quick", "sweep", "small-files", "fsync", "crystaldiskmark", "mount"] {
        let profile = Profile::named(name).unwrap();
        for (disk, rates) in disks() {
            for (surprise, budget_s) in [(1.0, 60.0), (1.0, 120.0), (1.5, 60.0), (4.0, 60.0)] {
                let mut bench = SlowDisk {
                    now: Duration::from_secs_f64(budget_s * 0.3),
                    workloads: profile.workloads.clone(),
                    rates,
                    timed_s: 0.12,
                    surprise,
                    feared: 1.0,
                    reserve: Duration::from_secs(4),
                    hard_end: Duration::from_secs_f64(budget_s * 1.02),
                    over: false,
                    seen: BTreeSet::new(),
                    cut_in_vain: false,
                };
                let what = format!("{name} on {disk}, {budget_s} s, x {surprise}");
                let course = Course::of(&plan(&profile, budget_s), &[], &mut bench);
                assert!(course.halt.is_none(), "{what}");
                // Only a trial of unknown duration may be interrupted by the clock; all others end by themselves.
                assert!(!bench.cut_in_vain, "{what}: {:?}", bench.now);
                let ends = 1.01 * (budget_s - 4.0);
                assert!(bench.over || bench.now.as_secs_f64() <= ends, "{what}: {:?}", bench.now);
                assert!(!bench.over || surprise > 1.0, "{what}: cut though all went as expected");
                let is_measured = course.stops.iter().any(|stop| stop.pairs > 0);
                let out = course.stops.iter().filter(|stop| stop.pairs == 0);
                assert!(out.clone().all(|stop| stop.reason == StopReason::Budget), "{what}");
                let left = 0.7 * budget_s - 4.0;
                let shortest = (0..profile.workloads.len()).map(|w| bench.seconds(w));
                let shortest = shortest.fold(f64::INFINITY, f64::min) * ROLES.len() as f64;
                // If there is time for three repeats of any workload, something is measured.
                assert!(is_measured || 4.0 * surprise * shortest > left, "{what}: nothing");
                if disk == "fast" && surprise == 1.0 && budget_s > 100.0 {
                    let enough = |stop: &cryptbench_record::WorkloadStop| {
                        stop.pairs >= profile.trials.unwrap_or(6)
                    };
                    assert!(name == "small-files" || course.stops.iter().all(enough), "{what}");
                }
                for stop in out {
                    assert!(stop.needs_s.is_some_and(|needs| needs > 0.0), "{what}");
                }
            }
        }
    }
}

#[test]
fn the_longest_workloads_are_left_out_before_repeats() {
    let profile = Profile::named("quick").unwrap();
    let (_, rates) = disks()[2];
    let mut bench = SlowDisk {
        now: Duration::from_secs(30),
        workloads: profile.workloads.clone(),
        rates,
        timed_s: 0.12,
        surprise: 1.0,
        feared: 1.0,
        reserve: Duration::ZERO,
        hard_end: Duration::from_secs(125),
        over: false,
        seen: BTreeSet::new(),
        cut_in_vain: false,
    };
    let course = Course::of(&plan(&profile, 120.0), &[], &mut bench);
    let pairs: Vec<u32> = course.stops.iter().map(|stop| stop.pairs).collect();
    // Large requests take 3 s and 24 s each; several small ones at once take tenths of a second.
    assert!(pairs.iter().all(|pairs| *pairs == 0 || *pairs >= 6), "{pairs:?}");
    assert!(pairs[2] == 0 && pairs[3] == 0 && pairs[4] >= 6 && pairs[5] >= 6, "{pairs:?}");
}

#[test]
fn what_was_left_out_in_vain_is_taken_in_when_the_others_have_ended() {
    let profile = Profile::named("small-files").unwrap();
    let rates = Rates { files: 20_000.0, ..disks()[0].1 };
    let mut bench = SlowDisk {
        now: Duration::from_secs(10),
        workloads: profile.workloads.clone(),
        rates,
        timed_s: 0.12,
        surprise: 1.0,
        feared: 3.0,
        reserve: Duration::ZERO,
        hard_end: Duration::from_secs(305),
        over: false,
        seen: BTreeSet::new(),
        cut_in_vain: false,
    };
    let mut plan = plan(&profile, 300.0);
    // Trials with a fixed amount of work have no discarded trial.
    plan.workloads.iter_mut().for_each(|w| w.trial_bytes = Some(1));
    let all_s: f64 = (0..12).map(|w| bench.seconds(w)).sum::<f64>() * 6.0 * ROLES.len() as f64;
    assert!(all_s < 290.0 && 3.0 * all_s > 290.0, "{all_s}");
    let course = Course::of(&plan, &[], &mut bench);
    let pairs: Vec<u32> = course.stops.iter().map(|stop| stop.pairs).collect();
    assert!(pairs.iter().all(|pairs| *pairs >= 3), "{pairs:?}");
    assert!(bench.now <= Duration::from_secs(303), "{:?}", bench.now);
}
