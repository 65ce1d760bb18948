//! How long key derivation takes: one header key as opening a volume needs it, and guesses by the vector
//! as somebody who searches the passphrase makes them.
//!
//! [`plan`] checks a [`KdfRequest`], [`KdfPlan::run`] measures it. A case is a function, which is measured at two
//! costs: times at other costs are calculated from the longer one, and the shorter one shows how far
//! time is proportional to work ([`KdfSpeed::linearity_percent`]).

mod attack;
mod plan;
mod sample;
mod speed;

pub use attack::{Hardware, known_pim, unknown_pim};
pub use plan::{KdfPlan, KdfRequest, plan};
pub use speed::{Guesses, KdfSpeed, Point, Time, all_functions};

use std::time::Duration;

use cryptbench_kdf::pim::VolumeKind;

/// Bytes of header key that opening a volume derives: VeraCrypt's three ciphers, each with a data and a
/// tweak key of 32 bytes, since only the decrypted header tells how many there are.
pub const HEADER_KEY_BYTES: usize = 192;

/// Bytes of header key that a guess derives: enough for one cipher, hence to test the commonest volumes.
pub const GUESS_KEY_BYTES: usize = 64;

/// Bytes of salt: VeraCrypt's and TrueCrypt's.
const SALT_BYTES: usize = 64;

/// What was measured, on what, and how.
#[derive(Clone, Debug)]
pub struct KdfSpeeds {
    /// CPU model as the kernel names it.
    pub cpu_model: String,
    /// Processors that this process may use.
    pub cpus: u32,
    /// CPU features that matter to hashes, as the kernel names them.
    pub cpu_features: Vec<String>,
    /// The highest kernel tier that was allowed.
    pub tier: cryptbench_kdf::Tier,
    /// The kind of volume whose costs were taken.
    pub volume: VolumeKind,
    /// Threads of the guesses on all.
    pub threads: usize,
    /// Rounds over all functions.
    pub rounds: u32,
    /// Wall-clock time of all of it.
    pub elapsed: Duration,
    /// Whether these are all functions that such a volume can have.
    pub complete: bool,
    /// One row per function, in registry order.
    pub rows: Vec<KdfSpeed>,
}
