//! One sample of a function: a header key, or guesses on threads that start together.

use std::time::Instant;

use cryptbench_kdf::{Derivation, Effort, KdfError, Target, Tier};

use super::{GUESS_KEY_BYTES, HEADER_KEY_BYTES, SALT_BYTES};
use crate::MicrobenchError;
use crate::together::together;

/// The passphrase. The passphrase's length does not matter as long as it is below the hashes' block size of 64 or 128
/// bytes.
const PASSPHRASE: &[u8] = b"correct horse battery staple";

/// Number of guesses computed together. This number fills the widest vectors of every hash several times, so that no
/// vector is only partly used.
pub(super) const TOGETHER: usize = 32;

/// Seconds for a header key on one thread.
///
/// # Errors
/// The error of the function, for example if memory is not available.
pub(super) fn header_key(derivation: &Derivation, tier: Tier) -> Result<f64, KdfError> {
    let mut key = [0; HEADER_KEY_BYTES];
    let start = Instant::now();
    derivation.derive(PASSPHRASE, &[7; SALT_BYTES], &mut key, Effort::new(tier, 1))?;
    Ok(start.elapsed().as_secs_f64())
}

/// The guesses of one thread, and their duration.
struct Span {
    start: Instant,
    end: Instant,
}

/// Units of work per second that all threads together spend on guesses of this cost.
///
/// In this measurement, the guesses in a vector are keys derived from one passphrase and several salts. An attacker's
/// guesses are keys derived from several passphrases and one salt. The iterations, which are nearly all of the work,
/// are the same.
///
/// # Errors
/// As for [`header_key`]; [`MicrobenchError::Usage`] if the system cannot start this many threads.
pub(super) fn guesses(
    derivation: &Derivation,
    threads: usize,
    tier: Tier,
) -> Result<f64, MicrobenchError> {
    let spans = together(0..threads, |_| (), |_| guess(derivation, tier))?;
    let spans = spans.into_iter().collect::<Result<Vec<Span>, KdfError>>()?;
    let (Some(start), Some(end)) =
        (spans.iter().map(|s| s.start).min(), spans.iter().map(|s| s.end).max())
    else {
        return Ok(0.0);
    };
    let each = match derivation {
        Derivation::Pbkdf2 { .. } => TOGETHER,
        Derivation::Argon2 { .. } => 1,
    };
    let work = derivation.work() as f64 * (each * threads) as f64;
    Ok(work / (end - start).as_secs_f64().max(1e-9))
}

fn guess(derivation: &Derivation, tier: Tier) -> Result<Span, KdfError> {
    let effort = Effort::new(tier, 1);
    let mut keys = [[0; GUESS_KEY_BYTES]; TOGETHER];
    let salts: [[u8; SALT_BYTES]; TOGETHER] =
        std::array::from_fn(|index| [index as u8; SALT_BYTES]);
    let start = Instant::now();
    match *derivation {
        Derivation::Pbkdf2 { prf, iterations } => {
            let mut targets: Vec<Target<'_>> =
                salts.iter().zip(&mut keys).map(|(salt, out)| Target { salt, out }).collect();
            prf.pbkdf2_each(PASSPHRASE, iterations, &mut targets, effort)?;
        }
        Derivation::Argon2 { .. } => {
            derivation.derive(PASSPHRASE, &salts[0], &mut keys[0], effort)?;
        }
    }
    Ok(Span { start, end: Instant::now() })
}

#[cfg(test)]
mod tests {
    use cryptbench_kdf::{Argon2Kind, Argon2Params, find};

    use super::*;

    #[test]
    fn both_kinds_of_function_can_be_timed() {
        let params = Argon2Params { memory_kib: 8, passes: 1, lanes: 1 };
        for derivation in [
            Derivation::Pbkdf2 { prf: find("ripemd-160").unwrap(), iterations: 2 },
            Derivation::Argon2 { kind: Argon2Kind::Id, params },
        ] {
            assert!(header_key(&derivation, Tier::Soft).unwrap() > 0.0);
            assert!(guesses(&derivation, 2, Tier::Soft).unwrap() > 0.0);
        }
        let none = Derivation::Pbkdf2 { prf: find("sha-1").unwrap(), iterations: 0 };
        assert!(matches!(
            guesses(&none, 2, Tier::Soft),
            Err(MicrobenchError::Kdf(KdfError::NoIterations))
        ));
    }
}
