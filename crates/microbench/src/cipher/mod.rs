//! Measures the speed of ciphers in RAM, and derives which disks they keep up with. Neither files nor key schedules
//! are included, only data units with consecutive tweaks, as on a volume.
//!
//! [`plan`] checks a [`SpeedRequest`], and [`SpeedPlan::run`] measures it. A case is a cipher with a data unit and a
//! number of threads.

mod bottleneck;
mod plan;
mod sample;
mod throughput;

pub use bottleneck::{Bottleneck, Common, Direction, INTERFACES, Interface, bottleneck};
pub use plan::{BUFFER, DATA_UNITS, SIZES, SpeedPlan, SpeedRequest, TIME, plan};
pub use throughput::{Speed, Throughput, by_mean};

use std::time::Duration;

/// The results, with the machine and the parameters.
#[derive(Clone, Debug)]
pub struct Speeds {
    /// CPU model as reported by the kernel.
    pub cpu_model: String,
    /// CPUs that this process may use.
    pub cpus: u32,
    /// CPU features that are relevant to ciphers, as named by the kernel.
    pub cpu_features: Vec<String>,
    /// The highest kernel tier allowed.
    pub tier: cryptbench_cipher::Tier,
    /// Maximum number of bytes per thread.
    pub buffer: usize,
    /// Rounds over all cases.
    pub rounds: u32,
    /// Wall-clock time from the first to the last round.
    pub elapsed: Duration,
    /// One row per case, in the order of the registry.
    pub rows: Vec<Speed>,
}
