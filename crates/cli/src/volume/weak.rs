//! Warns how quickly a weak new passphrase can be guessed; no passphrase is refused.

use cryptbench_answer::quantity::{duration, thousands};
use cryptbench_cipher::tier;
use cryptbench_kdf::{Derivation, Effort};

use super::cost;
use crate::say;

/// Minimum number of years that this CPU needs to guess a strong passphrase: attackers have hardware that is a thousand
/// times as fast.
const STRONG_YEARS: f64 = 1000.0;

const YEAR_S: f64 = 365.25 * 86_400.0;

/// Passphrases that every list of guesses contains.
const COMMON: &[&str] = &[
    "123456", "password", "passw0rd", "qwerty", "letmein", "secret", "test", "admin", "welcome",
    "iloveyou", "abc123", "changeme", "hallo", "passwort", "dragon", "monkey", "football",
];

/// Entropy in bits of a passphrase that is on such a list.
const LISTED: f64 = 12.0;

/// Warns on a terminal about a passphrase that can be guessed quickly, at the rate of `cryptbench kdf`.
pub fn warn(passphrase: &[u8], derivation: &Derivation, key_bytes: usize) {
    if passphrase.is_empty() || !cost::is_told() {
        return;
    }
    let bits = bits(passphrase);
    let one =
        tier().ok().and_then(|tier| cost::estimate(derivation, key_bytes, Effort::new(tier, 1)));
    let Some(one) = one else { return };
    let cores = std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
    if let Some(text) = told(bits, one.as_secs_f64() / cores) {
        say::message(&text);
    }
}

/// The warning for a passphrase with this entropy if a guess takes this many seconds.
fn told(bits: f64, guess_s: f64) -> Option<String> {
    // On average, half of all passphrases are tried.
    let seconds = 2_f64.powf(bits - 1.0) * guess_s;
    let time = match seconds / YEAR_S {
        years if years >= STRONG_YEARS => return None,
        years if years >= 2.0 => format!("{} years", thousands(years)),
        _ if seconds >= 2.0 * 86_400.0 => format!("{:.0} days", seconds / 86_400.0),
        _ => duration(seconds),
    };
    Some(format!(
        "warning: this passphrase is weak: with at most {bits:.0} bits, it can be guessed in about {time} on this CPU, and \
         faster on other hardware (see cryptbench kdf); use six random words"
    ))
}

/// An upper bound on a passphrase's entropy in bits, calculated as if the characters were drawn at random from the
/// kinds of characters that occur. Repeated and consecutive characters count as one bit each, and a passphrase that is
/// on every list has `LISTED` bits.
fn bits(passphrase: &[u8]) -> f64 {
    if COMMON.iter().any(|common| passphrase.eq_ignore_ascii_case(common.as_bytes())) {
        return LISTED;
    }
    let has = |of: fn(&u8) -> bool| passphrase.iter().any(of);
    let kinds = [
        (has(u8::is_ascii_lowercase), 26.0),
        (has(u8::is_ascii_uppercase), 26.0),
        (has(u8::is_ascii_digit), 10.0),
        (has(|b| b.is_ascii() && !b.is_ascii_alphanumeric()), 33.0),
        (has(|b| !b.is_ascii()), 64.0),
    ];
    let all: f64 = kinds.iter().filter(|(there, _)| *there).map(|(_, count)| count).sum();
    let follows = |pair: &[u8]| pair[0].abs_diff(pair[1]) <= 1;
    let cheap = passphrase.windows(2).filter(|pair| follows(pair)).count() as f64;
    (passphrase.len() as f64 - cheap) * all.log2() + cheap
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weak_passphrase_is_named_with_its_time_and_a_strong_one_is_not() {
        let said = |passphrase: &str| told(bits(passphrase.as_bytes()), 0.05);
        for strong in ["correct horse battery staple", "gH7!kQ2x#Lp9", "qvzkrwmtbxhd"] {
            assert_eq!(said(strong), None, "{strong}");
        }
        let weak = ["Password", "12345678", "aaaaaaaaaaaa", "sommer", "Sommer1"];
        insta::assert_snapshot!(weak.map(|text| said(text).unwrap()).join("\n"), @"
        warning: this passphrase is weak: with at most 12 bits, it can be guessed in about 102 s on this CPU, and faster on other hardware (see cryptbench kdf); use six random words
        warning: this passphrase is weak: with at most 10 bits, it can be guessed in about 32 s on this CPU, and faster on other hardware (see cryptbench kdf); use six random words
        warning: this passphrase is weak: with at most 16 bits, it can be guessed in about 22 min on this CPU, and faster on other hardware (see cryptbench kdf); use six random words
        warning: this passphrase is weak: with at most 25 bits, it can be guessed in about 7 days on this CPU, and faster on other hardware (see cryptbench kdf); use six random words
        warning: this passphrase is weak: with at most 37 bits, it can be guessed in about 90 years on this CPU, and faster on other hardware (see cryptbench kdf); use six random words
        ");
    }
}
