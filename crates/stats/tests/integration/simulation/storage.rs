//! Noise like that of storage: the ln(speed) of plain trials, one after the other.
//!
//! A trial's ln(speed) is the level of the machine at that moment + the trial's own normal noise, so speeds are
//! log-normal. Neighbouring trials share the level: it drifts, jumps, wanders, or is reduced by bursts of other
//! programs' work, according to the models of [`Disturbance`]. The level is never an effect of encryption, and a
//! method that attributes it to encryption is wrong. The same file is compiled into the simulations of `stats` and
//! of `runner`.

#![allow(dead_code, reason = "each test file uses its own part of the models")]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Disturbances of one kind each, with the noise of single trials on top.
pub const DISTURBANCES: [Disturbance; 7] = [
    Disturbance::Independent,
    Disturbance::SharedDrift,
    Disturbance::LinearDrift(0.25),
    Disturbance::LinearDrift(1.0),
    Disturbance::Regimes,
    Disturbance::Autocorrelated,
    Disturbance::Outliers,
];

/// How the level of the machine changes, and other effects on a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Disturbance {
    /// Log-normal noise, independent from trial to trial.
    Independent,
    /// A random walk from block to block, with steps of 2 sd, that all trials of a block share.
    SharedDrift,
    /// A steady loss of speed from trial to trial, of this many sd.
    LinearDrift(f64),
    /// Before 2 % of the trials the level flips between full speed and 70 % of it, as when a write
    /// cache fills up and drains.
    Regimes,
    /// An AR(1) level, coefficient 0.9 from trial to trial, with a stationary sd of twice the noise.
    Autocorrelated,
    /// 2 % of the trials are slowed by a factor of 1.5 to 3.
    Outliers,
    /// Before 2 % of the trials, something else starts to use the disk, for 4 trials on average, and leaves 60 to
    /// 90 % of the speed: garbage collection, a backup, another guest of the same host.
    Bursts,
    /// Linear drift of 0.25 sd, flips of the level, an autocorrelated level and outliers, all at once.
    Everything,
}

impl Disturbance {
    fn slope(self) -> f64 {
        match self {
            Self::LinearDrift(slope) => slope,
            Self::Everything => 0.25,
            _ => 0.0,
        }
    }

    fn has(self, kind: Self) -> bool {
        self == kind || self == Self::Everything
    }
}

/// A machine that runs trials one after the other.
pub struct Storage {
    random: ChaCha8Rng,
    disturbance: Disturbance,
    sd: f64,
    /// The parts of the level, as ln(speed): the one that wanders, the one that drifts, and the one that flips.
    wander: f64,
    drift: f64,
    regime: f64,
    /// How much a burst slows trials while it lasts.
    burst: Option<f64>,
    spare_normal: Option<f64>,
}

impl Storage {
    /// `sd` is the standard deviation of the ln(speed) of single trials about the level.
    pub fn new(disturbance: Disturbance, sd: f64, seed: u64) -> Self {
        let mut storage = Self {
            random: ChaCha8Rng::seed_from_u64(seed),
            disturbance,
            sd,
            wander: 0.0,
            drift: 0.0,
            regime: 0.0,
            burst: None,
            spare_normal: None,
        };
        if disturbance.has(Disturbance::Autocorrelated) {
            storage.wander = 2.0 * sd * storage.normal();
        }
        storage
    }

    /// A new block begins.
    pub fn block(&mut self) {
        if self.disturbance == Disturbance::SharedDrift {
            self.wander += 2.0 * self.sd * self.normal();
        }
    }

    /// ln(speed) of one trial, whose own noise is `noise` times that of plain storage.
    pub fn trial(&mut self, noise: f64) -> f64 {
        let (disturbance, sd) = (self.disturbance, self.sd);
        let mut slowed = 0.0;
        self.drift -= disturbance.slope() * sd;
        if disturbance.has(Disturbance::Regimes) && self.random.random_bool(0.02) {
            self.regime = if self.regime == 0.0 { 0.7_f64.ln() } else { 0.0 };
        }
        if disturbance.has(Disturbance::Autocorrelated) {
            let innovation = 2.0 * sd * (1.0 - 0.9_f64.powi(2)).sqrt();
            self.wander = 0.9 * self.wander + innovation * self.normal();
        }
        if disturbance.has(Disturbance::Outliers) && self.random.random_bool(0.02) {
            slowed = self.random.random_range(1.5..3.0_f64).ln();
        }
        if disturbance == Disturbance::Bursts {
            slowed = self.bursts();
        }
        self.wander + self.drift + self.regime - slowed + sd * noise * self.normal()
    }

    /// How much a burst slows this trial.
    fn bursts(&mut self) -> f64 {
        self.burst = match self.burst {
            Some(slowed) => self.random.random_bool(0.75).then_some(slowed),
            None if self.random.random_bool(0.02) => {
                Some(-self.random.random_range(0.6..0.9_f64).ln())
            }
            None => None,
        };
        self.burst.unwrap_or(0.0)
    }

    /// A standard normal number (Box & Muller 1958), two at a time.
    fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.random.random::<f64>()).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.random.random::<f64>();
        self.spare_normal = Some(radius * angle.sin());
        radius * angle.cos()
    }
}
