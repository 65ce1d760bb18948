//! The whole path from schedule to verdict, on a simulated disk with known costs.

use std::time::Duration;

use cryptbench_record::{
    Arm, ArmRole, Event, Observation, Operation, Pattern, Percentiles, Plan, StopReason, Trial,
    Workload, log_ratios, trials_of,
};
use cryptbench_runner::{Bench, Halt, RunError, Turns, drive};
use cryptbench_stats::{estimate, noise_floor};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::course::Course;

/// A disk whose speed drifts, with noise per trial and a known cost per arm.
struct SimulatedDisk {
    rng: ChaCha8Rng,
    now: Duration,
    trial: Duration,
    /// Speed of each arm relative to plain.
    kept: Vec<f64>,
    noise: f64,
    /// Loss of speed per second, equal for all arms.
    drift: f64,
    interrupt_at: Option<Duration>,
    fail_at: Option<Duration>,
    /// Numbers of the trials, from 1, in which the process is stopped for a minute.
    stopped_in: Vec<usize>,
    places: Vec<(usize, usize, u64)>,
}

impl SimulatedDisk {
    fn new(seed: u64, kept: &[f64]) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            now: Duration::ZERO,
            trial: Duration::from_millis(250),
            kept: kept.to_vec(),
            noise: 0.03,
            drift: 0.0,
            interrupt_at: None,
            fail_at: None,
            stopped_in: Vec::new(),
            places: Vec::new(),
        }
    }

    /// A standard normal number (the sum of twelve uniform ones minus six).
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.rng.random::<f64>()).sum::<f64>() - 6.0
    }
}

impl Bench for SimulatedDisk {
    fn trial(&mut self, workload: usize, arm: usize, place: u64) -> Result<Observation, Halt> {
        self.places.push((workload, arm, place));
        self.now += self.trial;
        if self.fail_at.is_some_and(|t| self.now >= t) {
            let source = std::io::Error::from_raw_os_error(5);
            return Err(RunError::Storage { act: "read", source }.into());
        }
        if self.interrupted() {
            return Err(Halt::Interrupted);
        }
        let wander = (-self.drift * self.now.as_secs_f64()).exp();
        let speed = 1e5 * wander * self.kept[arm] * (self.noise * self.normal()).exp();
        let stopped = self.stopped();
        self.now += stopped;
        let elapsed_s = (self.trial + stopped).as_secs_f64();
        let ios = (speed * self.trial.as_secs_f64()) as u64;
        Ok(Observation {
            elapsed_s,
            ios,
            bytes: ios * 4096,
            latency: Percentiles::default(),
            cpu_process_s: 0.01,
            cpu_machine_s: 0.02,
            ..Observation::default()
        })
    }

    fn takes_turns(&self, _: usize, _: usize) -> bool {
        false
    }

    fn turns(&mut self, _: usize, _: &Turns, _: u64) -> Result<Vec<Observation>, Halt> {
        unreachable!("nobody takes turns")
    }

    fn pause(&mut self, pause: Duration) {
        self.now += pause;
    }

    fn elapsed(&self) -> Duration {
        self.now
    }

    fn stopped(&mut self) -> Duration {
        let is_in = self.stopped_in.contains(&self.places.len());
        Duration::from_secs(if is_in { 60 } else { 0 })
    }

    fn interrupted(&self) -> bool {
        self.interrupt_at.is_some_and(|t| self.now >= t)
    }
}

fn plan(workloads: usize, roles: &[ArmRole]) -> Plan {
    let workload = |i: usize| Workload {
        id: format!("w{i}"),
        label: format!("workload {i}"),
        operation: Operation::Read,
        pattern: Pattern::Random,
        block_size: 4096,
        queue_depth: 1,
        headline: "iops".to_owned(),
        ..Workload::default()
    };
    let arm = |(i, role): (usize, &ArmRole)| Arm {
        id: format!("a{i}"),
        label: format!("arm {i}"),
        role: *role,
        system: "simulated".to_owned(),
        ..Arm::default()
    };
    Plan {
        profile: "simulated".to_owned(),
        workloads: (0..workloads).map(workload).collect(),
        arms: roles.iter().enumerate().map(arm).collect(),
        seed: 1,
        budget_s: 120.0,
        trial_s: 0.25,
        min_pairs: 6,
        max_pairs: 40,
        target_half_width: 0.03,
        confidence: 0.95,
        ..Plan::default()
    }
}

const ROLES: [ArmRole; 3] = [ArmRole::Plain, ArmRole::PlainAgain, ArmRole::Encrypted];

fn run(plan: &Plan, disk: &mut SimulatedDisk) -> Course {
    Course::of(plan, &[], disk)
}

#[test]
fn an_arm_slowed_by_a_tenth_is_found_to_cost_a_tenth_within_its_interval() {
    let runs = 200;
    let mut held = 0;
    let mut mean = 0.0;
    for seed in 0..runs {
        let mut disk = SimulatedDisk::new(seed, &[1.0, 1.0, 0.9]);
        // Half a percent per second: a quarter of the speed is gone after a minute. It cancels,
        // because the run never measures all of A and then all of B.
        disk.drift = 0.005;
        let course = run(&plan(1, &ROLES), &mut disk);
        let e = estimate(&log_ratios(&course.trials, "w0", "a2", &["a0", "a1"]), 0.95).unwrap();
        held += u32::from(e.low <= 0.9f64.ln() && 0.9f64.ln() <= e.high);
        mean += e.mean / runs as f64;
    }
    let coverage = f64::from(held) / runs as f64;
    assert!((mean.exp() - 0.9).abs() < 0.003, "mean estimate {}", mean.exp());
    assert!((0.90..=0.99).contains(&coverage), "coverage {coverage} of nominal 0.95");
}

#[test]
fn a_trial_in_which_the_process_was_stopped_is_repeated_and_said() {
    let mut plan = plan(1, &ROLES);
    (plan.min_pairs, plan.max_pairs, plan.budget_s) = (4, 4, 600.0);
    let mut disk = SimulatedDisk::new(1, &[1.0; 3]);
    // Three discarded trials come first; the sixth is the last of the first block.
    disk.stopped_in = vec![6];
    let mut notes = Vec::new();
    let mut trials = Vec::new();
    let mut sink = |event: &Event| match event {
        Event::Note { text, .. } => notes.push(text.clone()),
        Event::Measured(trial) => trials.push((**trial).clone()),
        _ => {}
    };
    drive(&plan, &[], &mut disk, &mut sink).unwrap();
    assert_eq!((trials.len(), disk.places.len()), (15, 16));
    assert!(trials.iter().all(|trial| trial.measured.elapsed_s < 1.0));
    assert_eq!(disk.places[5], disk.places[6], "the same places again");
    let [note] = notes.as_slice() else { panic!("{notes:?}") };
    assert!(note.contains("stopped for 60.0 s while workload 0"), "{note}");
    // If the process is stopped repeatedly, the run continues.
    let mut disk = SimulatedDisk::new(1, &[1.0; 3]);
    disk.stopped_in = (6..9).collect();
    let course = run(&plan, &mut disk);
    assert_eq!((course.trials.len(), disk.places.len()), (15, 17));
}

#[test]
fn the_schedule_is_balanced_and_the_arms_of_a_block_share_their_places() {
    let mut plan = plan(2, &ROLES);
    (plan.min_pairs, plan.max_pairs) = (12, 12);
    let mut disk = SimulatedDisk::new(1, &[1.0; 3]);
    disk.noise = 0.05;
    let course = run(&plan, &mut disk);
    for workload in ["w0", "w1"] {
        for arm in ["a0", "a1", "a2"] {
            let blocks: Vec<u32> =
                trials_of(&course.trials, workload, arm).iter().map(|t| t.0).collect();
            assert_eq!(blocks, (0..12).collect::<Vec<_>>());
        }
    }
    // Positions: over 12 blocks, each of 3 arms runs first 4 times.
    let firsts =
        |arm: &str| (0..12).filter(|b| first_of_block(&course.trials, "w0", *b).arm == arm).count();
    assert_eq!([firsts("a0"), firsts("a1"), firsts("a2")], [4, 4, 4]);
    for chunk in disk.places.chunks_exact(3) {
        assert!(chunk.iter().all(|p| (p.0, p.2) == (chunk[0].0, chunk[0].2)), "{chunk:?}");
    }
    let mut distinct: Vec<u64> = disk.places.chunks_exact(3).map(|c| c[0].2).collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), disk.places.len() / 3, "two blocks share their places");
}

fn first_of_block<'a>(trials: &'a [Trial], workload: &str, block: u32) -> &'a Trial {
    trials.iter().find(|t| t.workload == workload && t.block == Some(block)).unwrap()
}

#[test]
fn the_same_seed_repeats_the_schedule_and_another_does_not() {
    let order = |seed| {
        let mut plan = plan(2, &ROLES);
        plan.seed = seed;
        let course = run(&plan, &mut SimulatedDisk::new(5, &[1.0; 3]));
        course.trials.iter().map(|t| format!("{}{}", t.workload, t.arm)).collect::<String>()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

#[test]
fn quiet_cells_stop_on_precision_and_loud_ones_use_the_budget() {
    let mut quiet = SimulatedDisk::new(1, &[1.0, 1.0, 0.8]);
    quiet.noise = 0.005;
    let course = run(&plan(2, &ROLES), &mut quiet);
    assert!(course.stops.iter().all(|s| s.reason == StopReason::Precision));
    assert!(course.stops.iter().all(|s| s.pairs >= 6));
    assert!(quiet.now < Duration::from_secs(20), "{:?}", quiet.now);

    let mut tight = plan(2, &ROLES);
    tight.target_half_width = 0.0001;
    tight.budget_s = 30.0;
    let mut loud = SimulatedDisk::new(1, &[1.0, 1.0, 0.8]);
    let course = run(&tight, &mut loud);
    // The noise floor may make the precision reachable; workloads that do not reach it end with the
    // budget.
    assert!(loud.now <= Duration::from_secs(30));
    assert_eq!(course.stops.len(), 2);

    tight.budget_s = 1000.0;
    tight.max_pairs = 7;
    tight.min_pairs = 7;
    let course = run(&tight, &mut SimulatedDisk::new(2, &[1.0, 1.0, 0.8]));
    assert!(course.stops.iter().all(|s| s.pairs == 7));
}

#[test]
fn the_discarded_trials_come_first_and_enter_nothing() {
    let course = run(&plan(2, &ROLES), &mut SimulatedDisk::new(1, &[1.0; 3]));
    let (discarded, measured) = course.trials.split_at(6);
    assert!(discarded.iter().all(|t| t.block.is_none()));
    assert!(measured.iter().all(|t| t.block.is_some()));
    assert!(course.trials.iter().enumerate().all(|(i, t)| t.sequence == i as u32));
}

#[test]
fn an_interruption_keeps_what_was_measured() {
    let mut disk = SimulatedDisk::new(1, &[1.0; 3]);
    disk.interrupt_at = Some(Duration::from_secs(5));
    let course = run(&plan(2, &ROLES), &mut disk);
    assert!(matches!(course.halt, Some(Halt::Interrupted)));
    assert!(course.stops.iter().all(|s| s.reason == StopReason::Interrupted));
    assert_eq!(course.trials.len(), 19, "all trials that ended before the interruption");
}

#[test]
fn a_failing_disk_keeps_what_was_measured_and_says_what_failed() {
    let mut disk = SimulatedDisk::new(1, &[1.0; 3]);
    disk.fail_at = Some(Duration::from_secs(4));
    let course = run(&plan(1, &ROLES), &mut disk);
    assert_eq!(course.trials.len(), 15);
    let Some(Halt::Failed(error)) = course.halt else { panic!("it went on") };
    assert!(error.to_string().contains("cannot read"));
    assert!(course.stops.iter().all(|s| s.reason == StopReason::Interrupted));
}

#[test]
fn plain_against_plain_is_not_called_a_cost() {
    let mut claimed = 0;
    for seed in 0..100 {
        let course = run(&plan(1, &ROLES), &mut SimulatedDisk::new(1000 + seed, &[1.0; 3]));
        let d = log_ratios(&course.trials, "w0", "a1", &["a0"]);
        let e = estimate(&d, 0.95).unwrap();
        claimed += u32::from(e.p_value < 0.05 && e.mean.abs() > noise_floor(&d).unwrap());
    }
    assert!(claimed <= 5, "{claimed} of 100");
}

#[test]
fn an_arm_that_completes_nothing_does_not_keep_the_run_going() {
    let mut plan = plan(1, &[ArmRole::Plain, ArmRole::PlainAgain, ArmRole::Encrypted]);
    (plan.min_pairs, plan.max_pairs, plan.budget_s) = (4, 4, 1e6);
    let mut disk = SimulatedDisk::new(1, &[1.0, 1.0, 0.0]);
    let course = run(&plan, &mut disk);
    assert_eq!(course.stops[0].reason, StopReason::PairCap);
    assert_eq!(course.stops[0].pairs, 4);
}

#[test]
fn a_run_that_was_cut_short_anywhere_goes_on_in_the_order_of_an_undisturbed_one() {
    let mut plan = plan(3, &ROLES);
    (plan.min_pairs, plan.max_pairs) = (5, 5);
    let order = |course: &Course| -> Vec<(String, String, u32)> {
        let of = |t: &Trial| Some((t.workload.clone(), t.arm.clone(), t.block?));
        course.trials.iter().filter_map(of).collect()
    };
    let undisturbed = run(&plan, &mut SimulatedDisk::new(1, &[1.0, 1.0, 0.9]));
    let trials = undisturbed.trials.len() as u32;
    for cut in 0..=trials {
        let mut disk = SimulatedDisk::new(1, &[1.0, 1.0, 0.9]);
        disk.interrupt_at = Some(disk.trial * cut);
        let first = run(&plan, &mut disk);
        let whole = |t: &Trial| {
            let stop = first.stops.iter().find(|s| s.workload == t.workload).unwrap();
            t.block.is_none_or(|block| block < stop.pairs)
        };
        let earlier: Vec<Trial> = first.trials.iter().filter(|t| whole(t)).cloned().collect();
        disk.interrupt_at = None;
        let resumed = Course::of(&plan, &earlier, &mut disk);
        assert_eq!(order(&resumed), order(&undisturbed), "cut after {cut} trials");
        assert!(resumed.stops.iter().all(|s| s.pairs == 5), "{:?}", resumed.stops);
    }
}
