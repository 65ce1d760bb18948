//! Storage simulated trial by trial, to test the statistics on it.
//!
//! A machine runs trials one after the other in the order of the real schedule. The ln(speed) of a trial is its
//! arm's true effect + the level of the machine at that moment + the trial's own noise. Used by the tests and, with
//! more repetitions, by `examples/coverage.rs`.

pub mod storage;
mod verdict;

use cryptbench_stats::{StoppingRule, block_order, half_width, noise_floor};
use storage::Storage;

pub use storage::{DISTURBANCES, Disturbance};
pub use verdict::verdicts;

/// A simulated measurement: its arms and its noise.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub disturbance: Disturbance,
    /// Standard deviation of the ln(speed) of single trials of plain storage.
    pub sd: f64,
    /// Number of encrypted arms, which are all equal.
    pub encrypted_arms: usize,
    /// How much noisier the trials of an encrypted arm are.
    pub encrypted_noise: f64,
    /// Whether a second plain arm runs, which gives a noise floor.
    pub second_plain: bool,
    /// True ln(E/P).
    pub effect: f64,
}

impl Default for Scenario {
    /// Plain compared with plain as in a real run, with independent noise of 3 %.
    fn default() -> Self {
        Self {
            disturbance: Disturbance::Independent,
            sd: 0.03,
            encrypted_arms: 1,
            encrypted_noise: 1.0,
            second_plain: true,
            effect: 0.0,
        }
    }
}

/// The data of each pair of a finished measurement.
#[derive(Clone, Debug)]
pub struct Measured {
    /// d = ln(E/P) by encrypted arm and block.
    pub encrypted: Vec<Vec<f64>>,
    /// d = ln(P'/P) by block; empty without a second plain arm.
    pub second_plain: Vec<f64>,
}

impl Measured {
    fn new(scenario: &Scenario) -> Self {
        Self { encrypted: vec![Vec::new(); scenario.encrypted_arms], second_plain: Vec::new() }
    }

    /// Noise of one trial.
    pub fn floor(&self) -> Option<f64> {
        noise_floor(&self.second_plain)
    }

    /// Whether `rule` can be satisfied. Student's t is greater than the normal 1.9599, so an arm whose standard
    /// error is too large for the normal quantile is too large for the rule as well. This check saves most of the
    /// simulation's time.
    fn may_be_precise(&self, rule: &StoppingRule) -> bool {
        let narrow = |d: &[f64]| {
            let n = d.len() as f64;
            let mean = d.iter().sum::<f64>() / n;
            let variance = d.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
            1.9599 * (variance / n).sqrt() <= rule.limit()
        };
        self.encrypted[0].len() >= rule.min_pairs as usize
            && self.encrypted.iter().all(|d| narrow(d))
            && (self.second_plain.is_empty() || narrow(&self.second_plain))
    }

    /// The d of the arms that the rule considers.
    fn arms(&self) -> Vec<Vec<f64>> {
        let again = (!self.second_plain.is_empty()).then(|| self.second_plain.clone());
        self.encrypted.iter().cloned().chain(again).collect()
    }
}

/// Runs blocks until `stop` returns true, at most `max_pairs`.
pub fn measure(
    scenario: &Scenario,
    seed: u64,
    max_pairs: u32,
    stop: impl Fn(&Measured) -> bool,
) -> Measured {
    let mut storage = Storage::new(scenario.disturbance, scenario.sd, seed);
    let mut measured = Measured::new(scenario);
    for number in 0..max_pairs {
        block(&mut storage, scenario, seed, number, &mut measured);
        if stop(&measured) {
            break;
        }
    }
    measured
}

/// [`measure`] under the real rule.
pub fn measure_by_rule(scenario: &Scenario, seed: u64, rule: &StoppingRule) -> Measured {
    assert!(rule.confidence >= 0.95, "the shortcut is for 95 %");
    measure(scenario, seed, rule.max_pairs, |so_far| {
        so_far.may_be_precise(rule) && rule.precise(&so_far.arms())
    })
}

/// Share of `repetitions` in which the 95 % t interval contains the true effect, and the mean number of pairs.
pub fn coverage(
    scenario: &Scenario,
    repetitions: u32,
    run: impl Fn(&Scenario, u64) -> Measured,
) -> (f64, f64) {
    let (mut held, mut pairs) = (0_u32, 0_usize);
    for seed in seeds(scenario, repetitions) {
        let d = &run(scenario, seed).encrypted[0];
        let mean = d.iter().sum::<f64>() / d.len() as f64;
        let half_width = half_width(d, 0.95).expect("at least three finite values");
        held += u32::from((mean - scenario.effect).abs() <= half_width);
        pairs += d.len();
    }
    (f64::from(held) / f64::from(repetitions), pairs as f64 / f64::from(repetitions))
}

/// Seeds of a scenario's repetitions. They differ between scenarios, so that luck in one is independent of luck in
/// others.
pub fn seeds(scenario: &Scenario, repetitions: u32) -> impl Iterator<Item = u64> {
    // FNV-1a, 64 bits.
    let name = format!("{scenario:?}");
    let base = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (0..u64::from(repetitions)).map(move |repetition| base.wrapping_add(repetition))
}

/// Runs one block of every arm and adds its d.
fn block(
    storage: &mut Storage,
    scenario: &Scenario,
    seed: u64,
    block: u32,
    measured: &mut Measured,
) {
    storage.block();
    // Arm 0 is plain, followed by the encrypted arms and the second plain arm.
    let again = scenario.encrypted_arms + 1;
    let arms = again + usize::from(scenario.second_plain);
    let mut speeds = vec![0.0; arms];
    for arm in block_order(seed, 0, block, arms) {
        let (effect, noise) = match (1..again).contains(&arm) {
            true => (scenario.effect, scenario.encrypted_noise),
            false => (0.0, 1.0),
        };
        speeds[arm] = effect + storage.trial(noise);
    }
    for (d, speed) in measured.encrypted.iter_mut().zip(&speeds[1..]) {
        d.push(speed - speeds[0]);
    }
    if scenario.second_plain {
        measured.second_plain.push(speeds[again] - speeds[0]);
    }
}
