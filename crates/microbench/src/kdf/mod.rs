//! Measures the duration of key derivation: that of one header key, as for opening a volume, and that of guesses that
//! fill all lanes of the vectors, as in an attack.
//!
//! [`plan`] checks a [`KdfRequest`], and [`KdfPlan::run`] measures it. A case is a function at two
//! costs. Times at other costs are calculated from the higher cost, and the lower cost shows how
//! proportional time is to work ([`KdfSpeed::linearity_percent`]).

mod attack;
mod plan;
mod sample;
mod speed;

pub use attack::{Hardware, known_pim, unknown_pim};
pub use plan::{KdfPlan, KdfRequest, plan};
pub use speed::{Guesses, KdfSpeed, Point, Time, all_functions};

use std::time::Duration;

use cryptbench_kdf::pim::VolumeKind;

/// Length in bytes of the header key derived to open a volume: enough for VeraCrypt's three ciphers, each with a
/// 32-byte data key and a 32-byte tweak key. Only the decrypted header states how many ciphers there are.
pub const HEADER_KEY_BYTES: usize = 192;

/// Length in bytes of the header key derived for a guess: enough for one cipher, and therefore for testing the most
/// common volumes.
pub const GUESS_KEY_BYTES: usize = 64;

/// Salt length in bytes in VeraCrypt and TrueCrypt.
const SALT_BYTES: usize = 64;

/// The results, with the machine and the parameters.
#[derive(Clone, Debug)]
pub struct KdfSpeeds {
    /// CPU model as reported by the kernel.
    pub cpu_model: String,
    /// CPUs that this process may use.
    pub cpus: u32,
    /// CPU features that are relevant to hashes, as named by the kernel.
    pub cpu_features: Vec<String>,
    /// The highest kernel tier allowed.
    pub tier: cryptbench_kdf::Tier,
    /// The kind of volume that determines the costs.
    pub volume: VolumeKind,
    /// Number of threads for multi-threaded guesses.
    pub threads: usize,
    /// Rounds over all functions.
    pub rounds: u32,
    /// Total wall-clock time.
    pub elapsed: Duration,
    /// Whether the rows cover all functions of this kind of volume.
    pub complete: bool,
    /// One row per function, in the order of the registry.
    pub rows: Vec<KdfSpeed>,
}
