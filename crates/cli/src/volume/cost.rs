//! How long deriving the key of a volume can take here, said on a terminal before it begins.

use std::time::{Duration, Instant};

use cryptbench_blockdev::BlockDevice;
use cryptbench_kdf::pim::{self, VolumeKind};
use cryptbench_kdf::{Argon2Params, Derivation, Effort, Function, KdfError};
use cryptbench_volume::format::{bitlocker, luks};

use super::args::UnlockArgs;
use crate::say;

/// Set for a confined process whose messages go to a terminal.
pub const TO_TERMINAL: &str = "CRYPTBENCH_TO_TERMINAL";

/// What is shorter need not be said.
const SHORT: Duration = Duration::from_secs(1);

/// Iterations of PBKDF2, and KiB of Argon2, that are timed.
const ITERATIONS: u32 = 2000;
const MEMORY_KIB: u32 = 16 << 10;

/// Says how long it takes at most to try every key of the volume, if that is long.
pub fn tell(
    args: &UnlockArgs,
    header: &dyn BlockDevice,
    pim: Option<u32>,
    effort: Effort<'_>,
) -> anyhow::Result<()> {
    if std::env::var_os(TO_TERMINAL).is_none() && !say::stderr_is_terminal() {
        return Ok(());
    }
    let mut most = Duration::ZERO;
    for derivation in derivations(args, header, pim) {
        most += estimate(&derivation, effort)?;
    }
    if most > SHORT {
        let seconds = most.as_secs_f64().ceil();
        say::message(&format!("deriving the key takes at most about {seconds} s here"));
    }
    Ok(())
}

/// What has to be derived if only the last key fits; nothing where that is not known.
fn derivations(args: &UnlockArgs, header: &dyn BlockDevice, pim: Option<u32>) -> Vec<Derivation> {
    if let Ok(costs) = luks::keyslot_costs(header) {
        let wanted = |id: u32| args.key_slot.is_none_or(|only| only == id);
        return costs.into_iter().filter(|(id, _)| wanted(*id)).map(|(_, cost)| cost).collect();
    }
    // BitLocker's takes a second and cannot be chosen.
    if args.format.as_deref() == Some("bitlocker") || bitlocker::info(header).is_ok() {
        return Vec::new();
    }
    let kind = VolumeKind::VeraCrypt { system: args.system };
    match args.prf.as_deref().map(Function::find) {
        Some(Ok(function)) => pim::derivation(kind, function, pim).into_iter().collect(),
        Some(Err(_)) => Vec::new(),
        None => pim::derivations(kind, pim).unwrap_or_default(),
    }
}

/// The time of a derivation, from a short one.
fn estimate(derivation: &Derivation, effort: Effort<'_>) -> Result<Duration, KdfError> {
    let sample = match *derivation {
        Derivation::Pbkdf2 { prf, iterations } => {
            Derivation::Pbkdf2 { prf, iterations: iterations.min(ITERATIONS) }
        }
        Derivation::Argon2 { kind, params } => {
            let memory_kib = params.memory_kib.min(MEMORY_KIB);
            Derivation::Argon2 { kind, params: Argon2Params { memory_kib, passes: 1, ..params } }
        }
    };
    let begun = Instant::now();
    sample.derive(b"", &[0; 32], &mut [0; 64], effort)?;
    let factor = derivation.work() as f64 / sample.work().max(1) as f64;
    Ok(begun.elapsed().mul_f64(factor.max(1.0)))
}
