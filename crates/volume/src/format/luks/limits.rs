//! What a header from anywhere may make this machine do: limits of cost, and what may be used for it.

use std::cell::Cell;

use cryptbench_cipher::Tier;
use cryptbench_kdf::{Derivation, Effort};

use crate::VolumeError;

/// The highest costs of one opening, summed over the keyslots that are tried.
///
/// A header says itself what its keys cost, so one from a stranger can ask for days. The defaults are
/// far above what cryptsetup writes (2 s, at most 4 GiB, at most 32 keyslots) and below what would look
/// like a hang: about two minutes on a desktop of 2025.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Iterations of PBKDF2, keyslots and digests together; a key of several blocks of the PRF's output
    /// takes them for each block.
    pub pbkdf2_iterations: u64,
    /// Memory of one Argon2, in KiB: by default 4 GiB, the most that cryptsetup writes, or what this
    /// machine has free, if that is less.
    pub argon2_memory_kib: u32,
    /// Memory of Argon2 in KiB times passes, over all keyslots.
    pub argon2_work: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pbkdf2_iterations: 400_000_000,
            argon2_memory_kib: most_argon2_kib(free_memory_kib()),
            argon2_work: 256 << 20,
        }
    }
}

/// What key derivations and ciphers may use of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Resources<'a> {
    /// Instruction sets of ciphers.
    pub tier: Tier,
    /// Instruction sets, threads and stop flag of key derivations.
    pub effort: Effort<'a>,
    /// The highest costs.
    pub limits: Limits,
}

impl<'a> Resources<'a> {
    /// With the default [`Limits`].
    #[must_use]
    pub fn new(tier: Tier, effort: Effort<'a>) -> Self {
        Self { tier, effort, limits: Limits::default() }
    }
}

/// What is left of the limits.
pub(super) struct Budget {
    limits: Limits,
    iterations: Cell<u64>,
    work: Cell<u64>,
}

impl Budget {
    pub(super) fn new(limits: Limits) -> Self {
        let (iterations, work) = (limits.pbkdf2_iterations, limits.argon2_work);
        Self { limits, iterations: Cell::new(iterations), work: Cell::new(work) }
    }

    /// Takes the cost of `derivation` for a key of `key_bytes` off, before it runs.
    ///
    /// # Errors
    /// [`VolumeError::Unsupported`] if it is more than what is left.
    pub(super) fn spend(
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
                "the limit is 4 GiB, which only a damaged or hostile header exceeds, or the memory \
                 that this machine has free",
            );
        }
        let (left, limit, blocks) = match derivation {
            Derivation::Pbkdf2 { prf, .. } => {
                // Each block of the output is a chain of its own (RFC 8018, section 5.2).
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
                        "a key derivation of {cost} for {key_bytes} bytes, beyond the limit of \
                         {limit} in all,"
                    ),
                    "nothing but a damaged or hostile header asks for that, or many keyslots \
                     together: then name the keyslot",
                );
            }
        }
        Ok(())
    }
}

/// A derivation with its cost, for people: `pbkdf2-sha-256, 1000 iterations`.
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

/// Memory of this machine in KiB, where the system tells.
pub(super) fn memory_kib() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let info = rustix::system::sysinfo();
        // `totalram` counts units of `mem_unit` bytes (sysinfo(2)); both are `c_ulong`-like.
        Some((info.totalram as u64).saturating_mul(u64::from(info.mem_unit)) / 1024)
    }
    #[cfg(not(target_os = "linux"))]
    {
        None
    }
}

/// The most memory of one Argon2, in KiB, where so much is free.
fn most_argon2_kib(free: Option<u64>) -> u32 {
    free.map_or(4 << 20, |free| free.min(4 << 20) as u32)
}

/// Memory in KiB that this machine could give without killing anything, where the system tells.
fn free_memory_kib() -> Option<u64> {
    let free = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| free_in(&text));
    match (free, memory_kib()) {
        (Some(free), Some(all)) => Some(free.min(all)),
        (free, all) => free.or(all),
    }
}

/// What can be reclaimed, and swap for the rest, of `/proc/meminfo` (proc_meminfo(5)).
fn free_in(meminfo: &str) -> Option<u64> {
    let kib = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    Some(kib("MemAvailable")?.saturating_add(kib("SwapFree").unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_memory_is_what_the_system_says() {
        let text = "MemTotal:    24683520 kB\nMemFree:      900 kB\nMemAvailable:  1500000 kB\n\
                    SwapTotal: 9000 kB\nSwapFree:    5000 kB\n";
        assert_eq!(free_in(text), Some(1_505_000));
        assert_eq!(free_in("MemAvailable:  1500000 kB"), Some(1_500_000));
        for strange in ["", "MemFree: 5 kB", "MemAvailable: x kB", "MemAvailable: 5 pages"] {
            assert_eq!(free_in(strange), None, "{strange}");
        }
    }

    #[test]
    fn no_header_takes_more_memory_than_there_is() {
        assert_eq!(most_argon2_kib(Some(1_505_000)), 1_505_000);
        assert_eq!(most_argon2_kib(Some(1 << 40)), 4 << 20);
        assert_eq!(most_argon2_kib(None), 4 << 20);
        let limit = u64::from(Limits::default().argon2_memory_kib);
        assert!(limit > 0 && limit <= 4 << 20);
        if let Some(all) = memory_kib() {
            assert!(limit <= all);
        }
    }
}
