//! The request and its measurement: all figures for tables, pages and machine-readable output.

use std::time::Duration;

use anyhow::bail;
use cryptbench_catalog::guessing::guessing;
use cryptbench_kdf::pim::{VolumeKind, derivation, mean_work_of_unknown};
use cryptbench_kdf::{Derivation, Function, KdfError};
use cryptbench_microbench::kdf::{
    Hardware, KdfSpeed, KdfSpeeds, Time, all_functions, known_pim, unknown_pim,
};

use crate::args::KdfArgs;

/// Default PIMs in a table: the default PIMs under both of VeraCrypt's rules, small PIMs, and the largest four-digit
/// PIM, which a published study used.
const PIMS: [u32; 6] = [1, 10, 98, 485, 1000, 9999];

/// Default entropies: almost 9 random lower-case letters (4.7 bits each), and 4 or 6 random words from a list of
/// 7776 (Diceware, 12.9 bits each).
const ENTROPIES: [f64; 3] = [40.0, 52.0, 78.0];

/// Entropy of a random word from a list of 7776, in bits.
pub const DICEWARE_BITS: f64 = 12.925;

/// The question.
#[derive(Clone, Debug)]
pub struct Question {
    pub volume: VolumeKind,
    /// PIMs in the table; empty if the volume has no PIM.
    pub pims: Vec<u32>,
    /// The PIM that an attacker knows; `None` is the default cost.
    pub known: Option<u32>,
    /// The highest PIM tried by an attacker who does not know the PIM; `None` if the volume has no PIM.
    pub unknown: Option<u32>,
    pub limit: Duration,
    pub bits: Vec<f64>,
    pub hardware: Hardware,
}

/// Checks and completes the request, without measuring anything.
///
/// # Errors
/// If a PIM is specified for a volume that has no PIM, or if the PIM is above the highest PIM.
pub fn question(args: &KdfArgs) -> anyhow::Result<Question> {
    let volume: VolumeKind = args.volume_kind.into();
    let highest = volume.highest_pim();
    let has_pim = highest > 0;
    let asked = args.pim.iter().chain(args.unknown_pim.as_ref());
    for &pim in asked {
        if pim > highest {
            bail!(KdfError::Pim { volume: volume.name(), pim, highest });
        }
    }
    let mut pims = match args.pim.as_slice() {
        [] => PIMS.to_vec(),
        asked => asked.to_vec(),
    };
    pims.retain(|&pim| pim > 0 && has_pim);
    pims.sort_unstable();
    pims.dedup();
    let mut bits = match args.entropy.as_slice() {
        [] => ENTROPIES.to_vec(),
        asked => asked.to_vec(),
    };
    bits.sort_unstable_by(f64::total_cmp);
    bits.dedup();
    let mut hardware = Hardware::HERE;
    for multiplier in &args.multiplier {
        match multiplier.function {
            Some(name) => hardware.of.push((name, multiplier.factor)),
            None => hardware.multiplier = multiplier.factor,
        }
    }
    let known = match args.pim.as_slice() {
        [one] if *one > 0 => Some(*one),
        _ => None,
    };
    let unknown = has_pim.then_some(args.unknown_pim.unwrap_or(1000));
    Ok(Question { volume, pims, known, unknown, limit: args.mount_limit, bits, hardware })
}

/// The question with its measurement.
pub struct Study {
    pub speeds: KdfSpeeds,
    pub question: Question,
}

/// An attacker's expected time.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// Seconds with a known PIM.
    pub known: f64,
    /// Seconds with an unknown PIM, if the volume has PIMs.
    pub unknown: Option<f64>,
}

/// The security that a random PIM adds as long as it stays secret.
#[derive(Clone, Copy, Debug)]
pub struct SecretPim {
    /// Bits of entropy gained over a known PIM with the same average cost.
    pub bits: f64,
    /// Time to unlock, averaged over all PIMs.
    pub mean_seconds: f64,
}

impl Study {
    pub fn new(speeds: KdfSpeeds, question: Question) -> Self {
        Self { speeds, question }
    }

    /// The rows, with the fastest at the default cost first.
    pub fn by_default(&self) -> Vec<&KdfSpeed> {
        let mut rows: Vec<_> = self.speeds.rows.iter().collect();
        rows.sort_by(|a, b| self.default_time(a).seconds.total_cmp(&self.default_time(b).seconds));
        rows
    }

    /// The PBKDF2 rows with their time per iteration, in ascending order.
    pub fn by_iteration(&self) -> Vec<(&KdfSpeed, f64)> {
        let rows = self.speeds.rows.iter();
        let mut rows: Vec<_> = rows.filter_map(|r| Some((r, r.us_per_iteration()?))).collect();
        rows.sort_by(|a, b| a.1.total_cmp(&b.1));
        rows
    }

    pub fn default_time(&self, row: &KdfSpeed) -> Time {
        row.time(&row.default)
    }

    /// The cost of a function with this PIM, for the kind of volume in question.
    pub fn at(&self, function: Function, pim: u32) -> Option<Derivation> {
        derivation(self.question.volume, function, Some(pim)).ok()
    }

    /// The largest PIM within the limit.
    pub fn largest_pim(&self, row: &KdfSpeed) -> Option<u32> {
        row.largest_pim(self.question.volume, self.question.limit).ok().flatten()
    }

    /// A function's cost with the PIM that the attacker knows.
    pub fn known(&self, row: &KdfSpeed) -> Derivation {
        self.question.known.and_then(|pim| self.at(row.function, pim)).unwrap_or(row.default)
    }

    pub fn attack(&self, row: &KdfSpeed, bits: f64) -> Attack {
        let q = &self.question;
        let unknown = q.unknown.and_then(|n| unknown_pim(row, q.volume, n, bits, &q.hardware).ok());
        Attack { known: known_pim(row, self.known(row).work(), bits, &q.hardware), unknown }
    }

    /// Guesses per second with the known PIM: with one thread, with all threads of this machine, and with all of the
    /// attacker's hardware.
    pub fn guesses(&self, row: &KdfSpeed) -> [f64; 3] {
        let work = self.known(row).work() as f64;
        let multiplier = self.question.hardware.multiplier_of(row.function.name());
        let (one, all) = (row.guesses.one / work, row.guesses.all / work);
        [one, all, all * multiplier]
    }

    /// The functions that can be chosen for new volumes, or all functions if none of them can; the fastest at the
    /// default cost first.
    pub fn choices(&self) -> Vec<&KdfSpeed> {
        let mut rows = self.by_default();
        if rows.iter().any(|row| !row.old_volumes_only) {
            rows.retain(|row| !row.old_volumes_only);
        }
        rows
    }

    /// Guesses per second on one graphics card with the known PIM, if a rate is published.
    pub fn card_guesses(&self, row: &KdfSpeed) -> Option<f64> {
        match self.known(row) {
            Derivation::Pbkdf2 { iterations, .. } => {
                Some(guessing(row.function.name())?.at(iterations.into()))
            }
            Derivation::Argon2 { .. } => None,
        }
    }

    /// The benefit of a random PIM while it is secret; `None` if the volume has no PIM.
    pub fn secret_pim(&self, row: &KdfSpeed) -> Option<SecretPim> {
        let q = &self.question;
        let highest = q.unknown?;
        let works = (1..=highest).filter_map(|pim| Some(self.at(row.function, pim)?.work() as f64));
        let mean_work = works.sum::<f64>() / f64::from(highest);
        let found = mean_work_of_unknown(q.volume, row.function, highest).ok()?;
        Some(SecretPim {
            // With a known PIM whose cost is the mean, half of all passphrases are tried on average, hence the factor
            // 2.
            bits: (2.0 * found / mean_work).log2(),
            mean_seconds: mean_work * row.seconds_per_work(),
        })
    }

    /// Seconds to try all functions at their default costs, if all functions were measured.
    pub fn every_function(&self) -> Option<f64> {
        let all = self.speeds.complete && self.speeds.rows.len() > 1;
        all.then(|| all_functions(&self.speeds.rows, self.speeds.cpus as usize))
    }
}
