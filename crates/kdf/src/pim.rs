//! The cost of a key derivation, determined by the kind of volume, the function and the PIM.
//!
//! The personal iterations multiplier (PIM) is a parameter of VeraCrypt. Its effect on PBKDF2 depends first on the
//! kind of volume and then on the PRF. LUKS and gocryptfs store their costs in the header and do not need a rule.
//!
//! Sources: VeraCrypt 1.26.29's documentation ("Header Key Derivation, Salt, and Iteration Count",
//! "Personal Iterations Multiplier (PIM)", "Argon2id"); `get_pkcs5_iteration_count` and
//! `get_argon2_params` in its `src/Common/Pkcs5.c`; the limits `MAX_PIM_VALUE` and
//! `MAX_BOOT_PIM_VALUE` in its `src/Main/Main.h`; the volume format in the user's guide of
//! TrueCrypt 7.1a.

use std::time::Duration;

use crate::argon2::{Argon2Kind, Argon2Params};
use crate::derivation::{Derivation, Function};
use crate::error::KdfError;
use crate::registry::prfs;

/// A kind of volume whose header does not contain the cost of key derivation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VolumeKind {
    /// VeraCrypt, any version.
    VeraCrypt {
        /// A system partition, which must be opened by a boot loader.
        system: bool,
    },
    /// TrueCrypt.
    TrueCrypt {
        /// A system partition.
        system: bool,
    },
}

/// VeraCrypt's `MAX_PIM_VALUE`: 15,000 + 1000 x PIM is still below 2^31.
const HIGHEST: u32 = 2_147_468;
/// VeraCrypt's `MAX_BOOT_PIM_VALUE`: 16 bits.
const HIGHEST_SYSTEM: u32 = 65_535;

impl VolumeKind {
    /// Name for use in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::VeraCrypt { system: false } => "VeraCrypt volume",
            Self::VeraCrypt { system: true } => "VeraCrypt system volume",
            Self::TrueCrypt { system: false } => "TrueCrypt volume",
            Self::TrueCrypt { system: true } => "TrueCrypt system volume",
        }
    }

    /// The highest PIM allowed; 0 if the volume has no PIM.
    pub fn highest_pim(self) -> u32 {
        match self {
            Self::VeraCrypt { system: false } => HIGHEST,
            Self::VeraCrypt { system: true } => HIGHEST_SYSTEM,
            Self::TrueCrypt { .. } => 0,
        }
    }

    /// Whether new volumes can use `function`; older volumes may also use other functions.
    pub fn makes_new(self, function: Function) -> bool {
        // Functions that were dropped in VeraCrypt 1.26 ("Release Notes") and TrueCrypt 5.0.
        let dropped = match self {
            Self::VeraCrypt { .. } => "ripemd-160",
            Self::TrueCrypt { .. } => "sha-1",
        };
        function.name() != dropped && derivation(self, function, None).is_ok()
    }

    /// The PIM whose cost equals the default cost, or is slightly higher. For PBKDF2 it is also the lowest PIM that
    /// VeraCrypt allows with a passphrase of fewer than 20 characters ("PIM Usage" in its documentation). `None` if
    /// there is no such PIM.
    pub fn default_pim(self, function: Function) -> Option<u32> {
        match (self, function) {
            (Self::TrueCrypt { .. }, _) => None,
            (Self::VeraCrypt { system }, Function::Pbkdf2(prf)) => {
                match boots_cheaper(prf.name, system) {
                    true => Some(98),
                    false => Some(485),
                }
            }
            (Self::VeraCrypt { system: false }, Function::Argon2id) => Some(ARGON2ID_PIM),
            (Self::VeraCrypt { system: true }, Function::Argon2id) => None,
        }
    }
}

/// The cost of a function on a kind of volume. A missing PIM and a PIM of 0 both mean the default
/// cost.
///
/// # Errors
/// [`KdfError::NotThere`] if this kind of volume has never used the function; [`KdfError::Pim`].
pub fn derivation(
    volume: VolumeKind,
    function: Function,
    pim: Option<u32>,
) -> Result<Derivation, KdfError> {
    let pim = pim.filter(|&pim| pim != 0);
    let not_there =
        || KdfError::NotThere { volume: volume.name(), function: function.name().to_owned() };
    let highest = volume.highest_pim();
    let derivation = match (volume, function) {
        (VolumeKind::VeraCrypt { system: false }, Function::Argon2id) => {
            Derivation::Argon2 { kind: Argon2Kind::Id, params: argon2id(pim) }
        }
        (VolumeKind::VeraCrypt { system }, Function::Pbkdf2(prf)) => {
            let iterations = veracrypt(prf.name, system, pim).ok_or_else(not_there)?;
            Derivation::Pbkdf2 { prf, iterations }
        }
        (VolumeKind::TrueCrypt { system }, Function::Pbkdf2(prf)) => {
            let iterations = truecrypt(prf.name, system).ok_or_else(not_there)?;
            Derivation::Pbkdf2 { prf, iterations }
        }
        // "For system encryption, VeraCrypt uses PBKDF2-HMAC" ("Header Key Derivation").
        (
            VolumeKind::VeraCrypt { system: true } | VolumeKind::TrueCrypt { .. },
            Function::Argon2id,
        ) => {
            return Err(not_there());
        }
    };
    match pim {
        Some(pim) if pim > highest => Err(KdfError::Pim { volume: volume.name(), pim, highest }),
        _ => Ok(derivation),
    }
}

/// Every function that this kind of volume has ever used, with its cost, the most likely first.
///
/// # Errors
/// [`KdfError::Pim`].
pub fn derivations(volume: VolumeKind, pim: Option<u32>) -> Result<Vec<Derivation>, KdfError> {
    Function::all()
        .map(|function| derivation(volume, function, pim))
        .filter(|derivation| !matches!(derivation, Err(KdfError::NotThere { .. })))
        .collect()
}

/// The largest PIM whose derivation takes no longer than `limit`, if a unit of [`Derivation::work`] takes
/// `seconds`. `None` if even a PIM of 1 takes longer, or if the volume has no PIM.
///
/// A user who searches for an unknown function and PIM needs such a limit: a PIM of 15,000 means 15 million
/// iterations.
///
/// # Errors
/// [`KdfError::NotThere`].
pub fn largest_pim_within(
    volume: VolumeKind,
    function: Function,
    seconds: f64,
    limit: Duration,
) -> Result<Option<u32>, KdfError> {
    derivation(volume, function, None)?;
    let fits = |pim: u32| -> bool {
        derivation(volume, function, Some(pim))
            .is_ok_and(|derivation| derivation.work() as f64 * seconds <= limit.as_secs_f64())
    };
    // The work increases with the PIM: `low` is within the limit (or 0), `high` exceeds it.
    let (mut low, mut high) = (0, volume.highest_pim() + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok((low > 0).then_some(low))
}

/// The mean work, per possible passphrase, of finding both passphrase and PIM, if the PIM is uniformly distributed
/// over 1 to `highest`. With a known PIM it is half of [`Derivation::work`], because on average the right passphrase
/// is found after half of the guesses.
///
/// The attacker is assumed to choose the cheapest order: all passphrases with a PIM of 1, then all with a PIM of 2, and
/// so on. If PIM p is right, the work is the work for all PIMs below p plus half of the work for p. The mean over p is
/// `sum of work(p) * (highest - p + 1/2) / highest`.
///
/// # Errors
/// [`KdfError::NotThere`]; [`KdfError::Pim`] if the volume does not allow `highest`, or if it is 0.
pub fn mean_work_of_unknown(
    volume: VolumeKind,
    function: Function,
    highest: u32,
) -> Result<f64, KdfError> {
    derivation(volume, function, Some(highest))?;
    if highest == 0 {
        return Err(KdfError::Pim { volume: volume.name(), pim: 0, highest: volume.highest_pim() });
    }
    let mut sum = 0.0;
    for pim in 1..=highest {
        let work = derivation(volume, function, Some(pim))?.work();
        sum += work as f64 * (f64::from(highest - pim) + 0.5);
    }
    Ok(sum / f64::from(highest))
}

/// Whether VeraCrypt has a separate rule for system volumes with this PRF.
fn boots_cheaper(prf: &str, system: bool) -> bool {
    // Only these two PRFs have the same rule for all volumes.
    system && !matches!(prf, "sha-512" | "whirlpool")
}

/// VeraCrypt's iteration count; `None` for a PRF that it has never used.
fn veracrypt(prf: &str, system: bool, pim: Option<u32>) -> Option<u32> {
    // Others are LUKS'.
    prfs().iter().find(|known| known.name == prf)?;
    let boots_cheaper = boots_cheaper(prf, system);
    match (prf, pim) {
        ("sha-1", _) => None,
        (_, Some(pim)) if boots_cheaper => Some(pim.saturating_mul(2048)),
        (_, Some(pim)) => Some(pim.saturating_mul(1000).saturating_add(15_000)),
        // Used only in volumes created by versions before 1.26.
        ("ripemd-160", None) => Some(if system { 327_661 } else { 655_331 }),
        (_, None) if boots_cheaper => Some(200_000),
        (_, None) => Some(500_000),
    }
}

/// TrueCrypt's iteration count; `None` for a PRF that it has never used on this kind of volume.
fn truecrypt(prf: &str, system: bool) -> Option<u32> {
    match (prf, system) {
        ("ripemd-160", true) | ("sha-512" | "whirlpool", false) => Some(1000),
        // SHA-1 up to version 4.3.
        ("ripemd-160" | "sha-1", false) => Some(2000),
        _ => None,
    }
}

/// The PIM for Argon2id if no PIM is given.
const ARGON2ID_PIM: u32 = 12;

/// VeraCrypt's cost of Argon2id.
fn argon2id(pim: Option<u32>) -> Argon2Params {
    let pim = pim.unwrap_or(ARGON2ID_PIM);
    let (memory_mib, passes) = match pim {
        0..=31 => (64 + 32 * pim.saturating_sub(1), 3 + pim.saturating_sub(1) / 3),
        _ => (1024, pim - 18),
    };
    Argon2Params { memory_kib: memory_mib * 1024, passes, lanes: 1 }
}
