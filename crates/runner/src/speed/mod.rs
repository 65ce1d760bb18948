//! How fast the ciphers are in RAM, and which disks that suffices for: no file, no key schedule, only
//! data units under tweaks that advance as they do on a volume.
//!
//! [`plan`] checks a [`SpeedRequest`], [`SpeedPlan::run`] measures it. Every round visits every
//! contender (a cipher with a data unit on a number of threads) once, in an order drawn anew, so that
//! a drift of the machine meets all of them alike; what is told is the median over the rounds.

mod disk;
pub mod kdf;
mod meaning;
mod plan;
mod rate;
mod visit;

pub use disk::{DiskRates, disk_rates};
pub use meaning::{Direction, INTERFACES, Interface, Meaning, meaning};
pub use plan::{BUFFER, DATA_UNITS, SpeedPlan, SpeedRequest, TIME, plan};
pub use rate::{Rate, Speed, by_mean};

use std::time::Duration;

/// What was measured, on what, and how.
#[derive(Clone, Debug)]
pub struct Speeds {
    /// CPU model as the kernel names it.
    pub cpu_model: String,
    /// Processors that this process may use.
    pub cpus: u32,
    /// CPU features that matter to ciphers, as the kernel names them.
    pub cpu_features: Vec<String>,
    /// The highest kernel tier that was allowed.
    pub tier: cryptbench_cipher::Tier,
    /// Bytes per thread.
    pub buffer: usize,
    /// Rounds over all contenders.
    pub rounds: u32,
    /// Wall-clock time from the first to the last round.
    pub elapsed: Duration,
    /// One row per contender, in registry order.
    pub rows: Vec<Speed>,
}
