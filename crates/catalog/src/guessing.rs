//! Published rates at which graphics cards guess passphrases of volumes. This program did not measure any of these
//! rates.

/// One published rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guessing {
    /// The key derivation function, by its name in this program.
    pub function: &'static str,
    /// The guessed target, by its name in the guessing program.
    pub mode: &'static str,
    /// PBKDF2 iterations per guess.
    pub iterations: u32,
    /// Guesses in a second.
    pub per_second: f64,
}

/// The card of [`GUESSING`].
pub const CARD: &str = "GeForce RTX 3090";

/// Maximum power of the card in watts: its thermal design power,
/// <https://www.hardwaredb.net/geforce-rtx-3090-benchmark>.
pub const CARD_WATTS: f64 = 350.0;

/// The program that measured [`GUESSING`], in its benchmark mode, with NVIDIA's driver 456.38.
pub const PROGRAM: &str = "hashcat 6.1.1-83";

/// The source of [`GUESSING`]; the page was last changed on 26 April 2024, and does not state the day of the
/// measurement.
pub const SOURCE: &str = "gist.github.com/Chick3nman/e4fcee00cb6d82874dace72106d73fef";

/// 64-byte header keys, as required for AES-256 in XTS mode. The source states one iteration less than the volume uses,
/// because the first iteration is outside the program's loop.
pub const GUESSING: &[Guessing] = &[
    rate("sha-512", "13721 VeraCrypt SHA512 + XTS 512 bit", 500_000, 2_837.0),
    rate("sha-256", "13751 VeraCrypt SHA256 + XTS 512 bit", 500_000, 3_985.0),
    rate("whirlpool", "13731 VeraCrypt Whirlpool + XTS 512 bit", 500_000, 359.0),
    rate("streebog-512", "13771 VeraCrypt Streebog-512 + XTS 512 bit", 500_000, 136.0),
    rate("ripemd-160", "13711 VeraCrypt RIPEMD160 + XTS 512 bit", 655_331, 2_771.0),
];

/// Rates from the same source, by format, at the benchmark's iteration count. These rates are for volumes whose key
/// derivation `kdf` does not measure at the volumes' own cost.
pub const OTHER_VOLUMES: &[Guessing] = &[
    rate("LUKS1 with SHA-1", "14600 LUKS", 163_045, 28_356.0),
    rate("BitLocker", "22100 BitLocker", 1_048_576, 4_363.0),
    rate("FileVault 2", "16700 FileVault 2", 20_000, 201_700.0),
    rate("TrueCrypt with RIPEMD-160", "6211 TrueCrypt RIPEMD160 + XTS 512 bit", 2_000, 854_800.0),
    rate("TrueCrypt with SHA-512", "6221 TrueCrypt SHA512 + XTS 512 bit", 1_000, 1_260_400.0),
    rate("TrueCrypt with Whirlpool", "6231 TrueCrypt Whirlpool + XTS 512 bit", 1_000, 176_500.0),
];

const fn rate(
    function: &'static str,
    mode: &'static str,
    iterations: u32,
    per_second: f64,
) -> Guessing {
    Guessing { function, mode, iterations, per_second }
}

/// The published rate of a function; `None` if no rate is known.
pub fn guessing(function: &str) -> Option<&'static Guessing> {
    GUESSING.iter().find(|rate| rate.function == function)
}

impl Guessing {
    /// Guesses per second at this iteration count: the time per guess is proportional to that count.
    pub fn at(&self, iterations: u64) -> f64 {
        self.per_second * f64::from(self.iterations) / iterations as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_scaled_by_iterations() {
        let sha_512 = guessing("sha-512").unwrap();
        assert!((sha_512.at(500_000) - 2_837.0).abs() < 1e-9);
        assert!((sha_512.at(1_000_000) - 1_418.5).abs() < 1e-9);
        assert_eq!(guessing("argon2id"), None);
        // BitLocker's cost is fixed; a LUKS1 volume of a million iterations is guessed more slowly than that of the benchmark.
        let luks = OTHER_VOLUMES.iter().find(|rate| rate.function.starts_with("LUKS1")).unwrap();
        assert!((luks.at(1_000_000) - 4_623.3).abs() < 0.1);
    }
}
