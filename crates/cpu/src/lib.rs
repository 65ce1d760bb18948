//! Instruction-set tiers: the tiers that this CPU has, and the `CRYPTBENCH_CPU` limit.
//!
//! A tier is an upper limit, not a promise. Each kernel checks for the tier *and* for the exact features that it
//! needs, and reports its own name (such as `vaes-avx2` or `avx512vl-x4`). Store that name in records.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use thiserror::Error;

/// Environment variable that limits the tier.
const VARIABLE: &str = "CRYPTBENCH_CPU";

/// A level of instruction sets, in ascending order. A kernel never runs under a tier that is lower than its own.
///
/// Tiers of other architectures are never available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Portable Rust with the compiler's baseline instruction set. Each algorithm's `soft` module states whether it
    /// runs in constant time.
    Soft,
    /// 128-bit vectors of 64-bit ARM (Advanced SIMD); every such CPU that runs Linux has them.
    Neon,
    /// As [`Self::Neon`], with the cryptography extension: AES rounds, carry-less multiplication, and the SHA
    /// instructions if the CPU has them.
    Crypto,
    /// 128-bit vectors with crypto instructions: AES rounds, and the SHA extensions if the CPU has
    /// them.
    Aesni,
    /// 256-bit integer vectors, with VAES if the CPU has it.
    Avx2,
    /// 512-bit vectors (F, BW, DQ, VL), with VAES, GFNI and VBMI if the CPU has them.
    Avx512,
}

/// The value of `CRYPTBENCH_CPU` is not the name of a tier.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{VARIABLE}=`{value}` is not a CPU tier (known: {})", Tier::ALL.map(Tier::as_str).join(", "))]
pub struct CpuError {
    /// The value as found, lossily decoded.
    pub value: String,
}

impl Tier {
    /// Every tier of this architecture, lowest first.
    #[cfg(not(target_arch = "aarch64"))]
    pub const ALL: [Self; 4] = [Self::Soft, Self::Aesni, Self::Avx2, Self::Avx512];

    /// Every tier of this architecture, lowest first.
    #[cfg(target_arch = "aarch64")]
    pub const ALL: [Self; 3] = [Self::Soft, Self::Neon, Self::Crypto];

    /// The name, as in `CRYPTBENCH_CPU` and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Soft => "soft",
            Self::Neon => "neon",
            Self::Crypto => "crypto",
            Self::Aesni => "aesni",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The tiers of this CPU, lowest first, regardless of the environment.
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|tier| tier.is_available()).collect()
    }

    /// The highest tier that this CPU has and `mask` allows; without a mask, all tiers are allowed.
    ///
    /// # Errors
    /// [`CpuError`] if the mask is not the name of a tier. A mask above the CPU's highest tier is not an error.
    pub fn at_most(mask: Option<&OsStr>) -> Result<Self, CpuError> {
        let ceiling = match mask {
            None => Self::Avx512, // The highest of all.
            Some(value) => value.to_string_lossy().parse()?,
        };
        let best = Self::available().into_iter().rfind(|&tier| tier <= ceiling);
        Ok(best.unwrap_or(Self::Soft))
    }

    /// Whether a kernel that needs the tier `needed` may run under this tier, on this CPU.
    pub fn allows(self, needed: Self) -> bool {
        self >= needed && needed.is_available()
    }

    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        use std::arch::is_x86_feature_detected as has;
        match self {
            Self::Soft => true,
            Self::Neon | Self::Crypto => false,
            Self::Aesni => has!("aes") && has!("pclmulqdq") && has!("sse4.1"),
            Self::Avx2 => has!("avx2"),
            Self::Avx512 => {
                has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl")
            }
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn is_available(self) -> bool {
        use std::arch::is_aarch64_feature_detected as has;
        match self {
            Self::Soft => true,
            Self::Neon => has!("neon"),
            Self::Crypto => has!("neon") && has!("aes") && has!("pmull"),
            Self::Aesni | Self::Avx2 | Self::Avx512 => false,
        }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn is_available(self) -> bool {
        self == Self::Soft
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Tier {
    type Err = CpuError;

    fn from_str(value: &str) -> Result<Self, CpuError> {
        Self::ALL
            .into_iter()
            .find(|tier| tier.as_str() == value)
            .ok_or_else(|| CpuError { value: value.to_owned() })
    }
}

/// The tier of this process: the highest that the CPU has and `CRYPTBENCH_CPU` allows. The first call determines the
/// tier permanently.
///
/// # Errors
/// [`CpuError`] if the variable is set but is not the name of a tier.
pub fn tier() -> Result<Tier, CpuError> {
    static CHOICE: OnceLock<Result<Tier, CpuError>> = OnceLock::new();
    CHOICE.get_or_init(|| Tier::at_most(std::env::var_os(VARIABLE).as_deref())).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_a_ceiling() {
        for tier in Tier::available() {
            assert_eq!(Tier::at_most(Some(tier.as_str().as_ref())), Ok(tier));
        }
        for tier in Tier::ALL {
            assert!(Tier::at_most(Some(tier.as_str().as_ref())).unwrap() <= tier);
        }
        assert_eq!(Tier::at_most(None).ok(), Tier::available().pop());
    }

    #[test]
    fn an_unknown_mask_is_an_error_that_lists_the_tiers() {
        for value in ["", "AVX2", "sse2", "avx512 "] {
            let error = Tier::at_most(Some(value.as_ref())).unwrap_err();
            assert_eq!(error.value, value);
            assert!(error.to_string().contains(&Tier::ALL.map(Tier::as_str).join(", ")));
        }
    }
}
