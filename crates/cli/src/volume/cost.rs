//! Prints on a terminal how long a volume's key derivation may take, before it starts.

use std::time::{Duration, Instant};

use cryptbench_blockdev::BlockDevice;
use cryptbench_kdf::pim::{self, VolumeKind};
use cryptbench_kdf::{Argon2Params, Derivation, Effort, Function};
use cryptbench_volume::format::{bitlocker, filevault, luks};

use super::args::UnlockArgs;
use crate::say;

/// Set for a confined process whose messages go to a terminal.
pub const TO_TERMINAL: &str = "CRYPTBENCH_TO_TERMINAL";

/// Shorter times are not printed.
const SHORT: Duration = Duration::from_secs(1);

/// Length of a derived key in bytes, if the format does not specify it.
const KEY_BYTES: usize = 64;

/// PBKDF2 iterations, and Argon2 memory in KiB, of the derivations that are timed.
const ITERATIONS: u32 = 2000;
const MEMORY_KIB: u32 = 16 << 10;

/// Whether messages go to a terminal.
pub fn is_told() -> bool {
    std::env::var_os(TO_TERMINAL).is_some() || say::stderr_is_terminal()
}

/// Prints the maximum time to find the key of the volume, if this time is long.
pub fn tell(args: &UnlockArgs, header: &dyn BlockDevice, pim: Option<u32>, effort: Effort<'_>) {
    if !is_told() {
        return;
    }
    let all = derivations(args, header, pim);
    let time: Duration = all.iter().filter_map(|(one, len)| estimate(one, *len, effort)).sum();
    if time > SHORT {
        let what =
            if all.len() > 1 { "trying all keys takes up to" } else { "deriving the key takes" };
        let seconds = time.as_secs_f64().ceil();
        say::message(&format!("{what} about {seconds} s here"));
    }
}

/// The derivations that are needed if only the last key fits, and the length of each derived key; empty if the
/// derivations are unknown.
fn derivations(
    args: &UnlockArgs,
    header: &dyn BlockDevice,
    pim: Option<u32>,
) -> Vec<(Derivation, usize)> {
    if let Ok(keyslots) = luks::derivations(header, args.key_slot) {
        return keyslots;
    }
    // Key derivation for BitLocker and FreeOTFE takes about a second, and its cost cannot be chosen.
    let format = args.format.as_deref();
    if matches!(format, Some("bitlocker" | "freeotfe")) || bitlocker::info(header).is_ok() {
        return Vec::new();
    }
    if let Some(users) = filevault::derivations(header) {
        return users;
    }
    if format == Some(filevault::FORMAT) {
        return Vec::new();
    }
    let kind = VolumeKind::VeraCrypt { system: args.system };
    let all = match args.prf.as_deref().map(Function::find) {
        Some(Ok(function)) => pim::derivation(kind, function, pim).into_iter().collect(),
        Some(Err(_)) => Vec::new(),
        None => pim::derivations(kind, pim).unwrap_or_default(),
    };
    all.into_iter().map(|derivation| (derivation, KEY_BYTES)).collect()
}

/// The time of a derivation, extrapolated from that of a short derivation; `None` if the derivation's parameters are
/// impossible because the header is damaged.
pub fn estimate(derivation: &Derivation, key_bytes: usize, effort: Effort<'_>) -> Option<Duration> {
    let sample = match *derivation {
        Derivation::Pbkdf2 { prf, iterations } => {
            Derivation::Pbkdf2 { prf, iterations: iterations.min(ITERATIONS) }
        }
        Derivation::Argon2 { kind, params } => {
            let memory_kib = params.memory_kib.min(MEMORY_KIB);
            // Each lane needs 8 KiB, and no machine computes as many lanes in parallel as fit in this memory.
            let lanes = params.lanes.min(memory_kib / 8);
            Derivation::Argon2 { kind, params: Argon2Params { memory_kib, passes: 1, lanes } }
        }
    };
    let begun = Instant::now();
    sample.derive(b"", &[0; 32], &mut vec![0; key_bytes], effort).ok()?;
    let factor = derivation.work() as f64 / sample.work().max(1) as f64;
    Some(begun.elapsed().mul_f64(factor))
}

#[cfg(test)]
mod tests {
    use cryptbench_kdf::Argon2Kind;

    use super::*;
    use crate::volume::effort;

    #[test]
    fn what_opens_is_estimated_and_what_cannot_is_left_out() {
        let stop = std::sync::atomic::AtomicBool::new(false);
        let effort = effort(&stop).unwrap();
        let argon2 = |memory_kib, passes, lanes| Derivation::Argon2 {
            kind: Argon2Kind::Id,
            params: Argon2Params { memory_kib, passes, lanes },
        };
        // More lanes than fit in the timed derivation.
        let one = estimate(&argon2(4096 * 8, 1, 4096), 64, effort).unwrap();
        let many = estimate(&argon2(4096 * 8, 50, 4096), 64, effort).unwrap();
        assert!(many > one, "{many:?} {one:?}");
        let prf = cryptbench_kdf::find("sha-256").unwrap();
        let never = Derivation::Pbkdf2 { prf, iterations: 0 };
        for damaged in [argon2(0, 1, 1), argon2(1024, 1, 0), never] {
            assert!(estimate(&damaged, 64, effort).is_none(), "{damaged:?}");
        }
    }
}
