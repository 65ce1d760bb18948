//! Whole runs over simulated storage: the real schedule and stopping rule, the real analysis and
//! verdicts.

use std::time::Duration;

use cryptbench_estimate::cells::{arm_cells, cells};
use cryptbench_record::{
    Arm, ArmRole, Cell, Engine, Machine, Observation, Operation, Pattern, Plan, Record, SCHEMA,
    Target, Verdict, Workload,
};
use cryptbench_runner::{Bench, Halt, Turns, half_width};

use super::storage::{Disturbance, Storage};
use crate::course::Course;

/// The measurement, and the simulated storage.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub disturbance: Disturbance,
    /// Standard deviation of ln(speed) of single trials of plain storage.
    pub sd: f64,
    /// Factor by which the trials of the encrypted arm are noisier.
    pub encrypted_noise: f64,
    /// Share of plain speed that the encrypted arm loses in the first `losing` workloads.
    pub loss: f64,
    pub losing: usize,
    pub workloads: usize,
    /// The requested precision, as for `--precision`.
    pub precision: f64,
    pub max_pairs: u32,
    /// Budget in seconds; a trial takes a quarter of a second.
    pub budget_s: f64,
    /// Slices per trial; 0 for whole trials. With slices, `sd` is that of a slice.
    pub slices: u32,
    /// Share of its speed that a slice loses after one of the encrypted arm.
    pub carry_over: f64,
}

impl Default for Scenario {
    /// Eight workloads as in the profile quick, an encrypted arm that is also plain storage, and the program's
    /// defaults, but no budget.
    fn default() -> Self {
        Self {
            disturbance: Disturbance::Independent,
            sd: 0.02,
            encrypted_noise: 1.0,
            loss: 0.0,
            losing: 8,
            workloads: 8,
            precision: 0.03,
            max_pairs: 200,
            budget_s: 1e9,
            slices: 0,
            carry_over: 0.0,
        }
    }
}

impl Scenario {
    /// The true ln(E/P) of a workload.
    pub fn truth(&self, workload: usize) -> f64 {
        if workload < self.losing { (-self.loss).ln_1p() } else { 0.0 }
    }

    fn plan(&self, seed: u64) -> Plan {
        let workload = |i| Workload {
            id: format!("w{i}"),
            label: format!("workload {i}"),
            operation: Operation::Read,
            pattern: Pattern::Random,
            block_size: 4096,
            queue_depth: 1,
            headline: "iops".to_owned(),
            ..Workload::default()
        };
        let arm = |(i, role)| Arm {
            id: format!("a{i}"),
            label: format!("arm {i}"),
            role,
            system: "simulated".to_owned(),
            ..Arm::default()
        };
        let roles = [ArmRole::Plain, ArmRole::PlainAgain, ArmRole::Encrypted];
        Plan {
            profile: "simulated".to_owned(),
            workloads: (0..self.workloads).map(workload).collect(),
            arms: roles.into_iter().enumerate().map(arm).collect(),
            seed,
            budget_s: self.budget_s,
            trial_s: TRIAL.as_secs_f64(),
            min_pairs: 6,
            max_pairs: self.max_pairs,
            target_half_width: half_width(self.precision, self.workloads),
            to_find: Some(self.precision),
            confidence: 0.95,
            slice_s: (self.slices > 0).then(|| TRIAL.as_secs_f64() / f64::from(self.slices)),
            ..Plan::default()
        }
    }
}

const TRIAL: Duration = Duration::from_millis(250);

/// The index of the encrypted arm in the plan.
const ENCRYPTED: usize = 2;

/// The result of one workload of a finished run for the encrypted arm.
#[derive(Clone, Debug)]
pub struct Found {
    /// Whether the 95 % interval contains the truth.
    pub held: bool,
    pub pairs: u32,
    pub verdict: Verdict,
}

/// Runs the scenario once and returns the result of each workload.
pub fn run(scenario: &Scenario, seed: u64) -> Vec<Found> {
    let plan = scenario.plan(seed);
    let storage = Storage::new(scenario.disturbance, scenario.sd, seed);
    let mut disk = Disk { storage, scenario, now: Duration::ZERO, place: None };
    let course = Course::of(&plan, &[], &mut disk);
    assert!(course.halt.is_none());
    let judged = cells(&Record {
        schema: SCHEMA.to_owned(),
        program_version: String::new(),
        run_id: String::new(),
        started: String::new(),
        elapsed_s: disk.now.as_secs_f64(),
        partial: false,
        plan,
        machine: machine(),
        target: target(),
        trials: course.trials,
        stops: course.stops,
        notes: Vec::new(),
        evidence: Vec::new(),
        in_ram: None,
        why: None,
        node: None,
        results: None,
        title: None,
    });
    found(scenario, &judged)
}

fn found(scenario: &Scenario, judged: &[Cell]) -> Vec<Found> {
    let cells: Vec<_> = arm_cells(judged, "a2").collect();
    assert_eq!(cells.len(), scenario.workloads);
    (cells.iter().enumerate())
        .map(|(workload, cell)| {
            let kept = cell.kept.expect("enough pairs");
            Found {
                held: (kept.low..=kept.high).contains(&scenario.truth(workload).exp()),
                pairs: kept.pairs,
                verdict: cell.verdict.clone().expect("a verdict"),
            }
        })
        .collect()
}

/// Simulated storage behind the trait by which the runner drives the real one.
struct Disk<'a> {
    storage: Storage,
    scenario: &'a Scenario,
    now: Duration,
    /// Workload and number of the block that is running.
    place: Option<(usize, u64)>,
}

impl Disk<'_> {
    /// ln(speed) of an arm relative to plain, and its noise.
    fn arm(&self, workload: usize, arm: usize) -> (f64, f64) {
        match arm == ENCRYPTED {
            true => (self.scenario.truth(workload), self.scenario.encrypted_noise),
            false => (0.0, 1.0),
        }
    }
}

impl Bench for Disk<'_> {
    fn trial(&mut self, workload: usize, arm: usize, place: u64) -> Result<Observation, Halt> {
        if self.place.replace((workload, place)) != Some((workload, place)) {
            self.storage.block();
        }
        let (effect, noise) = self.arm(workload, arm);
        self.now += TRIAL;
        // The number of requests is fixed, so the time expresses the rate without rounding.
        let elapsed_s = (-effect - self.storage.trial(noise)).exp();
        Ok(Observation { elapsed_s, ios: 1000, bytes: 4_096_000, ..Observation::default() })
    }

    fn takes_turns(&self, _: usize, _: usize) -> bool {
        self.scenario.slices > 0
    }

    fn turns(&mut self, workload: usize, turns: &Turns, _: u64) -> Result<Vec<Observation>, Halt> {
        self.storage.block();
        let mut requests = vec![0.0; turns.arms.len()];
        let mut left_behind = 0.0;
        for &turn in &turns.order {
            let (effect, noise) = self.arm(workload, turns.arms[turn]);
            // As on a real disk, the time is fixed here, and the amount of work varies.
            requests[turn] += (effect + left_behind + self.storage.trial(noise)).exp();
            let is_encrypted = turns.arms[turn] == ENCRYPTED;
            left_behind = if is_encrypted { (-self.scenario.carry_over).ln_1p() } else { 0.0 };
        }
        self.now += TRIAL * turns.arms.len() as u32;
        let observed = |requests: &f64| Observation {
            elapsed_s: f64::from(self.scenario.slices),
            ios: (requests * 1e9) as u64,
            ..Observation::default()
        };
        Ok(requests.iter().map(observed).collect())
    }

    fn pause(&mut self, pause: Duration) {
        self.now += pause;
    }

    fn elapsed(&self) -> Duration {
        self.now
    }

    fn interrupted(&self) -> bool {
        false
    }
}

fn machine() -> Machine {
    Machine {
        cpu_model: String::new(),
        cpus: 1,
        cpu_features: Vec::new(),
        memory_bytes: 0,
        kernel: String::new(),
        os: String::new(),
        emulated: None,
        virtualisation: None,
        idle_baseline: 0.0,
        load_average: 0.0,
        power: cryptbench_record::Power::default(),
        limits: cryptbench_record::Limits::default(),
    }
}

fn target() -> Target {
    let engine = Engine { direct: true, ..Engine::default() };
    Target { engine, ..Target::default() }
}
