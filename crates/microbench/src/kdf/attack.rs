//! Estimates the effort of finding a passphrase from this CPU's rate of guesses.
//!
//! The passphrase is one of `2^bits` equally likely passphrases, and is found after half of the guesses on average. The
//! attacker knows nothing about the passphrase and can only guess. The volume reveals its salt, which differs from
//! volume to volume, so guesses for one volume do not help with another volume.

use cryptbench_kdf::KdfError;
use cryptbench_kdf::pim::{VolumeKind, mean_work_of_unknown};

use super::KdfSpeed;

/// The attacker's hardware: the measured threads of this CPU, times a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Hardware {
    /// Speed relative to this CPU, for every function that is not in `of`.
    pub multiplier: f64,
    /// Functions with a separate factor, by name: functions that need much memory are slower on hardware with many
    /// cores.
    pub of: Vec<(&'static str, f64)>,
}

impl Hardware {
    /// This CPU itself.
    pub const HERE: Self = Self { multiplier: 1.0, of: Vec::new() };

    /// The factor for `function`.
    pub fn multiplier_of(&self, function: &str) -> f64 {
        let own = self.of.iter().find(|(name, _)| *name == function);
        own.map_or(self.multiplier, |(_, multiplier)| *multiplier)
    }
}

/// Expected seconds to find a passphrase with `bits` bits of entropy if each guess requires `work`: `2^(bits - 1)`
/// guesses.
pub fn known_pim(row: &KdfSpeed, work: u64, bits: f64, hardware: &Hardware) -> f64 {
    work as f64 / 2.0 * seconds_per_work(row, hardware) * bits.exp2()
}

/// Like [`known_pim`], if the PIM is uniformly distributed over 1 to `highest`. The attacker starts with the cheapest
/// PIM ([`mean_work_of_unknown`]).
///
/// # Errors
/// If the volume has no PIM, does not allow such a high PIM, or has never used the function.
pub fn unknown_pim(
    row: &KdfSpeed,
    volume: VolumeKind,
    highest: u32,
    bits: f64,
    hardware: &Hardware,
) -> Result<f64, KdfError> {
    let work = mean_work_of_unknown(volume, row.function, highest)?;
    Ok(work * seconds_per_work(row, hardware) * bits.exp2())
}

fn seconds_per_work(row: &KdfSpeed, hardware: &Hardware) -> f64 {
    1.0 / row.guesses.all / hardware.multiplier_of(row.function.name())
}

#[cfg(test)]
mod tests {
    use super::super::speed::tests::row;
    use super::*;

    const VERACRYPT: VolumeKind = VolumeKind::VeraCrypt { system: false };

    #[test]
    fn half_of_all_passphrases_are_tried() {
        // A million iterations a second on all threads; 500,000 a guess: half a second each.
        let row = row("sha-512", 400_000.0, 1e6);
        let default = row.default.work();
        assert_eq!(known_pim(&row, default, 1.0, &Hardware::HERE), 0.5);
        assert_eq!(known_pim(&row, default, 41.0, &Hardware::HERE), 0.5 * 2f64.powi(40));
        let faster = Hardware { multiplier: 4.0, of: vec![("argon2id", 2.0)] };
        assert_eq!(known_pim(&row, default, 1.0, &faster), 0.125);
        assert_eq!(faster.multiplier_of("argon2id"), 2.0);
    }

    #[test]
    fn one_possible_pim_is_a_known_one_and_more_take_longer() {
        let row = row("sha-512", 400_000.0, 1e6);
        let unknown = |n| unknown_pim(&row, VERACRYPT, n, 20.0, &Hardware::HERE).unwrap();
        assert_eq!(unknown(1), known_pim(&row, 16_000, 20.0, &Hardware::HERE));
        assert!(unknown(2) > unknown(1) && unknown(1000) > 100.0 * unknown(1));
        let truecrypt = VolumeKind::TrueCrypt { system: false };
        assert!(unknown_pim(&row, truecrypt, 1, 20.0, &Hardware::HERE).is_err());
    }
}
