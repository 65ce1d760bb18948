//! AES-NI on 128-bit vectors: one block a register (every x86 CPU with AES instructions).

use std::arch::asm;
use std::arch::x86_64::*;

use super::Isa;
use super::blocks::blocks;
use super::chains::chains;
use super::keys::{BlockKeys, WideKey, XtsKeys};
use super::vector::{GROUP, Vector};
use super::xts::units;
use crate::cpu::Tier;
use crate::kernel::{Block, Buffer, Run};

/// Proof that the CPU has AES-NI, PCLMULQDQ and SSE4.1, and whether it also has AVX.
///
/// The kernel is compiled twice. With AVX its instructions have three operands, which saves moves
/// and never mixes encodings. Without AVX it serves small cores that have only AES-NI.
#[derive(Clone, Copy)]
pub(super) struct AesNi {
    avx: bool,
}

impl Isa for AesNi {
    const NAME: &'static str = "aes-ni";

    fn new(tier: Tier) -> Option<Self> {
        let has = is_x86_feature_detected!("aes")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("sse4.1");
        let avx = is_x86_feature_detected!("avx");
        (tier >= Tier::Aesni && has).then_some(Self { avx })
    }

    fn xts<const ENCRYPT: bool>(self, keys: &XtsKeys, run: Run, buffer: Buffer<'_>) {
        // SAFETY: `self` proves the features, and the rounds are matched.
        unsafe {
            match (self.avx, keys.data.rounds) {
                (true, 10) => kernel_avx::<10, ENCRYPT>(keys, run, buffer),
                (true, 12) => kernel_avx::<12, ENCRYPT>(keys, run, buffer),
                (true, _) => kernel_avx::<14, ENCRYPT>(keys, run, buffer),
                (false, 10) => kernel_sse::<10, ENCRYPT>(keys, run, buffer),
                (false, 12) => kernel_sse::<12, ENCRYPT>(keys, run, buffer),
                (false, _) => kernel_sse::<14, ENCRYPT>(keys, run, buffer),
            }
        }
    }

    fn blocks<const ENCRYPT: bool>(self, keys: &BlockKeys, data: &mut [Block]) {
        // SAFETY: `self` proves the features, and the rounds are matched.
        unsafe {
            match (self.avx, keys.rounds) {
                (true, 10) => bare_avx::<10, ENCRYPT>(keys, data),
                (true, 12) => bare_avx::<12, ENCRYPT>(keys, data),
                (true, _) => bare_avx::<14, ENCRYPT>(keys, data),
                (false, 10) => bare_sse::<10, ENCRYPT>(keys, data),
                (false, 12) => bare_sse::<12, ENCRYPT>(keys, data),
                (false, _) => bare_sse::<14, ENCRYPT>(keys, data),
            }
        }
    }
}

/// # Safety
/// The CPU must have the features, and `R` must be the rounds of `keys`.
#[target_feature(enable = "avx,aes,pclmulqdq")]
unsafe fn kernel_avx<const R: usize, const ENCRYPT: bool>(
    keys: &XtsKeys,
    run: Run,
    buffer: Buffer<'_>,
) {
    // SAFETY: this function enables the vector's instruction set; the rest is passed on.
    unsafe { units::<V128, R, ENCRYPT>(keys, run, buffer) }
}

/// # Safety
/// The CPU must have the features, and `R` must be the rounds of `keys`.
#[target_feature(enable = "sse4.1,aes,pclmulqdq")]
unsafe fn kernel_sse<const R: usize, const ENCRYPT: bool>(
    keys: &XtsKeys,
    run: Run,
    buffer: Buffer<'_>,
) {
    // SAFETY: this function enables the vector's instruction set; the rest is passed on.
    unsafe { units::<V128, R, ENCRYPT>(keys, run, buffer) }
}

impl AesNi {
    /// Encrypts data units in CBC side by side; `chain` holds their IVs and is overwritten.
    pub(super) fn chains(self, keys: &BlockKeys, chain: &mut [Block], buffer: Buffer<'_>) {
        // SAFETY: `self` proves the features, and the rounds are matched.
        unsafe {
            match (self.avx, keys.rounds) {
                (true, 10) => chains_avx::<10>(keys, chain, buffer),
                (true, 12) => chains_avx::<12>(keys, chain, buffer),
                (true, _) => chains_avx::<14>(keys, chain, buffer),
                (false, 10) => chains_sse::<10>(keys, chain, buffer),
                (false, 12) => chains_sse::<12>(keys, chain, buffer),
                (false, _) => chains_sse::<14>(keys, chain, buffer),
            }
        }
    }
}

/// # Safety
/// The CPU must have the features, and `R` must be `keys.rounds`.
#[target_feature(enable = "avx,aes,pclmulqdq")]
unsafe fn chains_avx<const R: usize>(keys: &BlockKeys, chain: &mut [Block], buffer: Buffer<'_>) {
    // SAFETY: this function enables the vector's instruction set; the rest is passed on.
    unsafe { chains::<V128, R>(keys, chain, buffer) }
}

/// # Safety
/// The CPU must have the features, and `R` must be `keys.rounds`.
#[target_feature(enable = "sse4.1,aes,pclmulqdq")]
unsafe fn chains_sse<const R: usize>(keys: &BlockKeys, chain: &mut [Block], buffer: Buffer<'_>) {
    // SAFETY: this function enables the vector's instruction set; the rest is passed on.
    unsafe { chains::<V128, R>(keys, chain, buffer) }
}

/// # Safety
/// The CPU must have the features, and `R` must be `keys.rounds`.
#[target_feature(enable = "avx,aes,pclmulqdq")]
unsafe fn bare_avx<const R: usize, const ENCRYPT: bool>(keys: &BlockKeys, data: &mut [Block]) {
    // SAFETY: this function enables the vector's instruction set; the rest is passed on.
    unsafe { blocks::<V128, R, ENCRYPT>(keys, data) }
}

/// # Safety
/// The CPU must have the features, and `R` must be `keys.rounds`.
#[target_feature(enable = "sse4.1,aes,pclmulqdq")]
unsafe fn bare_sse<const R: usize, const ENCRYPT: bool>(keys: &BlockKeys, data: &mut [Block]) {
    // SAFETY: this function enables the vector's instruction set; the rest is passed on.
    unsafe { blocks::<V128, R, ENCRYPT>(keys, data) }
}

#[derive(Clone, Copy)]
struct V128(__m128i);

impl Vector for V128 {
    const BLOCKS: usize = 1;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm_loadu_si128(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the trait's contract.
        unsafe { _mm_storeu_si128(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const u8, _blocks: usize) -> Self {
        // SAFETY: the trait's contract; a vector of one block has no part, so this is unreachable.
        unsafe { Self::load(from) }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, _blocks: usize) {
        // SAFETY: the trait's contract; a vector of one block has no part, so this is unreachable.
        unsafe { self.store(to) }
    }

    #[inline(always)]
    unsafe fn key(key: &WideKey) -> Self {
        // SAFETY: the trait's contract; a wide key is aligned and more than wide enough.
        Self(unsafe { _mm_load_si128(key.0.as_ptr().cast()) })
    }

    instructions! {
        xor = _mm_xor_si128;
        enc = _mm_aesenc_si128;
        enc_last = _mm_aesenclast_si128;
        dec = _mm_aesdec_si128;
        dec_last = _mm_aesdeclast_si128;
    }

    #[inline(always)]
    unsafe fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm_xor_si128(self.0, _mm_xor_si128(b.0, c.0)) })
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    unsafe fn pin(self) -> Self {
        let mut v = self.0;
        // SAFETY: the assembly is empty and leaves the register unchanged.
        unsafe { asm!("/* {0} */", inout(xmm_reg) v, options(nomem, nostack, preserves_flags)) };
        Self(v)
    }

    #[inline(always)]
    unsafe fn broadcast(block: &Block) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self::load(block.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn first_mask(j: usize, tweak: Self, before: &[Self; GROUP]) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            match j {
                0 => tweak,
                _ => before[j - 1].double(),
            }
        }
    }

    #[inline(always)]
    unsafe fn next_group(self) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            let carry = _mm_srli_si128::<15>(self.0);
            let reduced = _mm_clmulepi64_si128::<0>(carry, _mm_set1_epi64x(0x87));
            Self(_mm_xor_si128(_mm_slli_si128::<1>(self.0), reduced))
        }
    }
}

impl V128 {
    /// Multiplies by x: both qwords shift left, each top bit moves into the other half, and the
    /// upper one is reduced.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn double(self) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            // Copies the sign of dword 3 over dword 0, and the sign of dword 1 over dword 2.
            let signs = _mm_srai_epi32::<31>(_mm_shuffle_epi32::<0b00_01_00_11>(self.0));
            let carry = _mm_and_si128(signs, _mm_setr_epi32(0x87, 0, 1, 0));
            Self(_mm_xor_si128(_mm_add_epi64(self.0, self.0), carry))
        }
    }
}
