//! Key derivation for volume headers: multi-lane PBKDF2, Argon2, scrypt, BitLocker's
//! stretching, and the PIM rules.
//!
//! A header key is longer than the output of most hashes, so PBKDF2 derives it as several independent blocks; this
//! crate computes these blocks as lanes of one vector. Start with the registry: [`find`] a [`Prf`] by name. For a
//! volume that does not state the cost of its key, use [`pim::derivations`] and [`first_fit`].
//!
//! ```
//! use cryptbench_kdf::{Effort, find, tier};
//!
//! let mut key = [0; 192];
//! find("sha-512")?.pbkdf2(b"password", &[7; 64], 1000, &mut key, Effort::new(tier()?, 1))?;
//! assert_eq!(key[..4], [0xb9, 0x09, 0x18, 0xcd]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod argon2;
mod bitlocker;
mod derivation;
mod effort;
mod error;
pub mod memory;
mod pbkdf2;
pub mod pim;
mod registry;
mod scrypt;
mod stopwatch;
mod threads;
mod trial;

use cryptbench_cpu as cpu;

pub use crate::argon2::{Argon2Kind, Argon2Params, argon2, argon2_kernel};
pub use crate::scrypt::{ScryptParams, scrypt};
pub use bitlocker::{BITLOCKER_ITERATIONS, bitlocker};
pub use cryptbench_cpu::{CpuError, Tier, tier};
pub use derivation::{Derivation, Function};
pub use effort::Effort;
pub use error::KdfError;
pub use pbkdf2::Target;
pub use registry::{Prf, find, others, prfs};
pub use stopwatch::Stopwatch;
pub use trial::first_fit;

/// Runs the examples in the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
