//! Instruction sets: proofs that the CPU supports them, and functions compiled for them.

#[cfg(target_arch = "aarch64")]
use std::arch::is_aarch64_feature_detected as has;
#[cfg(target_arch = "x86_64")]
use std::arch::is_x86_feature_detected as has;

use crate::cpu::Tier;

/// Proof that the CPU supports an instruction set.
pub(crate) trait Isa: Copy + Send + Sync + 'static {
    /// The instruction set, if `tier` allows it and the CPU supports all of its features.
    fn new(tier: Tier) -> Option<Self>;

    /// Calls `f` in a separate function that is compiled for the instruction set. This applies only to inlined code:
    /// the closure and everything that it calls must be `#[inline(always)]`, or enable the instruction set
    /// themselves.
    fn run<R>(self, f: impl FnOnce() -> R) -> R;
}

/// Defines proofs, each with its tier and the required features.
macro_rules! instruction_sets {
    ($($(#[$doc:meta])+ $isa:ident: $tier:ident $(, $feature:tt)+;)+) => { $(
        $(#[$doc])+
        #[derive(Clone, Copy)]
        pub(crate) struct $isa(());

        impl Isa for $isa {
            fn new(tier: Tier) -> Option<Self> {
                (tier.allows(Tier::$tier) $(&& has!($feature))+).then_some(Self(()))
            }

            #[inline(always)]
            fn run<R>(self, f: impl FnOnce() -> R) -> R {
                $(#[target_feature(enable = $feature)])+
                #[inline(never)]
                fn enabled<R>(f: impl FnOnce() -> R) -> R {
                    f()
                }
                // SAFETY: `self` proves the features.
                unsafe { enabled(f) }
            }
        }
    )+ };
}

#[cfg(target_arch = "x86_64")]
instruction_sets! {
    /// AES-NI without AVX, for small CPU cores.
    AesNi: Aesni, "sse4.1", "aes", "pclmulqdq";
    /// AES-NI with AVX. AVX instructions have three operands, which saves moves, and avoids a mix of instruction
    /// encodings.
    AesNiAvx: Aesni, "avx", "aes", "pclmulqdq";
    /// AVX2.
    Avx2: Avx2, "avx2";
    /// AVX2 with AES-NI.
    Avx2Aes: Avx2, "avx2", "aes";
    /// AVX2 with VAES.
    Avx2Vaes: Avx2, "avx2", "aes", "vaes";
    /// AVX2 with VPCLMULQDQ.
    Avx2Clmul: Avx2, "avx2", "vpclmulqdq";
    /// AVX2 with VAES and VPCLMULQDQ (Zen 3, Alder Lake and later).
    Vaes256: Avx2, "avx2", "aes", "pclmulqdq", "vaes", "vpclmulqdq";
    /// AVX2 with GFNI, on CPUs without AVX-512 (Alder Lake and later).
    Gfni256: Avx2, "avx2", "gfni";
    /// AVX-512.
    Avx512: Avx512, "avx512f", "avx512bw", "avx512dq", "avx512vl";
    /// AVX-512 with VPCLMULQDQ.
    Avx512Clmul: Avx512, "avx512f", "avx512bw", "vpclmulqdq";
    /// AVX-512 with VAES and VPCLMULQDQ (Ice Lake, Sapphire Rapids, Zen 4 and later).
    Vaes512: Avx512, "avx512f", "avx512bw", "avx512dq", "avx512vl", "aes", "pclmulqdq", "vaes", "vpclmulqdq";
    /// AVX-512 with GFNI and VPCLMULQDQ.
    Gfni512: Avx512, "avx512f", "avx512bw", "gfni", "vpclmulqdq";
    /// AVX-512 with VBMI, GFNI and VPCLMULQDQ (Ice Lake, Zen 4 and later).
    Vbmi: Avx512, "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi", "gfni", "vpclmulqdq";
    /// AVX-512 with VBMI, VBMI2 and GFNI (Ice Lake, Zen 4 and later).
    Vbmi2: Avx512, "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi", "avx512vbmi2", "gfni";
}

// Both tiers check for AES-NI and PCLMULQDQ, and AVX2 and AVX-512 include AVX.

#[cfg(target_arch = "x86_64")]
impl From<Vaes256> for AesNiAvx {
    fn from(_: Vaes256) -> Self {
        Self(())
    }
}

#[cfg(target_arch = "x86_64")]
impl From<Vaes512> for AesNiAvx {
    fn from(_: Vaes512) -> Self {
        Self(())
    }
}

#[cfg(target_arch = "aarch64")]
instruction_sets! {
    /// Advanced SIMD.
    Neon: Neon, "neon";
    /// Advanced SIMD with the AES and polynomial instructions of the cryptography extension.
    Crypto: Crypto, "neon", "aes";
}
