//! Limits on the work that a header of unknown origin may demand of this machine.

use std::cell::Cell;

use cryptbench_cipher::Tier;
use cryptbench_kdf::{Derivation, Effort};

use crate::VolumeError;

/// Maximum costs of unlocking a volume once, summed over the keyslots tried.
///
/// The header itself states the cost of its keys, so a malicious header can demand days of work. The defaults
/// are far above what cryptsetup writes (2 s, at most 4 GiB, at most 32 keyslots) and below what would look
/// like a hang: about two minutes on a desktop of 2025.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Iterations of PBKDF2, keyslots and digests together. A key longer than the PRF's output
    /// costs these iterations once per block of output.
    pub pbkdf2_iterations: u64,
    /// Memory of one Argon2 derivation in KiB; 4 GiB by default, which is cryptsetup's maximum. A derivation
    /// that needs more memory than this process can use is also refused.
    pub argon2_memory_kib: u32,
    /// Memory of Argon2 in KiB, multiplied by passes and summed over all keyslots.
    pub argon2_work: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { pbkdf2_iterations: 400_000_000, argon2_memory_kib: 4 << 20, argon2_work: 256 << 20 }
    }
}

/// The machine's resources that key derivations and ciphers may use.
#[derive(Clone, Copy, Debug)]
pub struct Resources<'a> {
    /// Instruction sets for ciphers.
    pub tier: Tier,
    /// Instruction sets, threads and stop flag for key derivations.
    pub effort: Effort<'a>,
    /// The highest costs.
    pub limits: Limits,
}

impl<'a> Resources<'a> {
    /// Resources with the default [`Limits`].
    pub fn new(tier: Tier, effort: Effort<'a>) -> Self {
        Self { tier, effort, limits: Limits::default() }
    }
}

/// The unspent part of the limits.
pub(crate) struct Budget {
    limits: Limits,
    iterations: Cell<u64>,
    work: Cell<u64>,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        let (iterations, work) = (limits.pbkdf2_iterations, limits.argon2_work);
        Self { limits, iterations: Cell::new(iterations), work: Cell::new(work) }
    }

    /// Deducts the cost of `derivation` for a key of `key_bytes`, before it runs.
    ///
    /// # Errors
    /// [`VolumeError::Unsupported`] if the cost exceeds the remaining budget.
    pub(crate) fn spend(
        &self,
        derivation: &Derivation,
        key_bytes: usize,
    ) -> Result<(), VolumeError> {
        let refuse = |what: String, hint: &str| {
            Err(VolumeError::Unsupported { what, hint: Some(hint.to_owned()) })
        };
        let most = self.limits.argon2_memory_kib;
        if derivation.memory_kib() > most {
            let wanted = derivation.memory_kib();
            return refuse(
                format!("{} with {wanted} KiB of memory (limit {most})", derivation.name()),
                "only a damaged or malicious header needs this much",
            );
        }
        let (left, limit, blocks) = match derivation {
            Derivation::Pbkdf2 { prf, .. } => {
                // PBKDF2 computes each block of the output separately (RFC 8018, section 5.2).
                let blocks = key_bytes.div_ceil(prf.output_bytes);
                (&self.iterations, self.limits.pbkdf2_iterations, blocks)
            }
            Derivation::Argon2 { .. } => (&self.work, self.limits.argon2_work, 1),
        };
        match left.get().checked_sub(derivation.work().saturating_mul(blocks as u64)) {
            Some(rest) => left.set(rest),
            None => {
                let cost = describe(derivation);
                return refuse(
                    format!(
                        "a key derivation of {cost} for {key_bytes} bytes, more than the total limit of {limit},"
                    ),
                    "only a damaged or malicious header, or a LUKS header with many keyslots, needs this much; in the \
                     latter case, specify the keyslot",
                );
            }
        }
        Ok(())
    }
}

/// A derivation with its cost for messages: `pbkdf2-sha-256, 1000 iterations`.
pub(super) fn describe(derivation: &Derivation) -> String {
    match derivation {
        Derivation::Pbkdf2 { prf, iterations } => {
            format!("pbkdf2 {}, {iterations} iterations", prf.name)
        }
        Derivation::Argon2 { kind, params } => format!(
            "{kind}, {} KiB, {} passes, {} lanes",
            params.memory_kib, params.passes, params.lanes
        ),
    }
}
