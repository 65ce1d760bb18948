//! ChaCha on 256-bit vectors with the rotations of AVX-512, and NH on 512-bit vectors: eight blocks, or four pieces, side by side.

use std::arch::x86_64::*;

use super::super::chacha::{self, Key, Words};
use super::super::nh::{NhKey, PASSES};
use super::super::{BATCH, Isa};
use super::avx2::transpose;
use super::nh::{Pieces, nh};
use crate::cpu::Tier;
use crate::kernel::{Block, Buffer};

/// Proof that the CPU has AVX-512 F, BW, DQ and VL.
#[derive(Clone, Copy)]
pub(in super::super) struct Avx512(());

impl Avx512 {
    /// The instruction set, if `tier` allows it and the CPU has it.
    pub(in super::super) fn new(tier: Tier) -> Option<Self> {
        tier.allows(Tier::Avx512).then_some(Self(()))
    }
}

impl Isa for Avx512 {
    const NAME: &'static str = "avx512";

    fn nh(self, key: &NhKey, message: &[u8]) -> [u64; PASSES] {
        // SAFETY: `self` proves the instruction set.
        unsafe { nh_avx512(key, message) }
    }

    fn subkeys(self, key: &Key, nonces: &[Block; BATCH]) -> [Key; BATCH] {
        // SAFETY: `self` proves the instruction set.
        unsafe { subkeys_avx512(key, nonces) }
    }

    fn stream(self, key: &Key, buffer: Buffer<'_>) {
        // SAFETY: `self` proves the instruction set.
        unsafe { stream_avx512(key, buffer) }
    }
}

/// # Safety
/// The CPU must have AVX-512 F, BW, DQ and VL.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn nh_avx512(key: &NhKey, message: &[u8]) -> [u64; PASSES] {
    // SAFETY: this function enables the vector's instruction set.
    unsafe { nh::<Wide>(key, message) }
}

/// # Safety
/// The CPU must have AVX-512 F, BW, DQ and VL.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn subkeys_avx512(key: &Key, nonces: &[Block; BATCH]) -> [Key; BATCH] {
    // SAFETY: this function enables the vector's instruction set.
    unsafe { chacha::subkeys::<Narrow>(key, nonces) }
}

/// # Safety
/// The CPU must have AVX-512 F, BW, DQ and VL.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn stream_avx512(key: &Key, buffer: Buffer<'_>) {
    // SAFETY: this function enables the vectors' instruction sets.
    unsafe { chacha::stream::<Narrow>(key, buffer) }
}

/// A word of eight blocks.
#[derive(Clone, Copy)]
struct Narrow(__m256i);

impl Words for Narrow {
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_set1_epi32(word.cast_signed()) })
    }

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        // SAFETY: the trait's contract.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    instructions! {
        add = _mm256_add_epi32;
        xor = _mm256_xor_si256;
    }

    #[inline(always)]
    unsafe fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_rol_epi32::<LEFT>(self.0) })
    }

    #[inline(always)]
    unsafe fn xor_blocks(words: [Self; 16], from: *const u8, to: *mut u8) {
        // SAFETY: the trait's contract: both pointers are valid for eight blocks of 64 bytes.
        unsafe {
            for half in 0..2 {
                let rows = transpose(std::array::from_fn(|i| words[8 * half + i].0));
                for (block, row) in rows.into_iter().enumerate() {
                    let at = 64 * block + 32 * half;
                    let old = _mm256_loadu_si256(from.add(at).cast());
                    _mm256_storeu_si256(to.add(at).cast(), _mm256_xor_si256(old, row));
                }
            }
        }
    }
}

/// Four pieces.
#[derive(Clone, Copy)]
struct Wide(__m512i);

impl Pieces for Wide {
    const PIECES: usize = 4;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_setzero_si512() })
    }

    #[inline(always)]
    unsafe fn halves(from: *const u8) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe {
            let x = _mm512_loadu_si512(from.cast());
            (Self(_mm512_unpacklo_epi32(x, x)), Self(_mm512_unpackhi_epi32(x, x)))
        }
    }

    #[inline(always)]
    unsafe fn key(from: *const u64) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_loadu_si512(from.cast()) })
    }

    instructions! {
        add_words = _mm512_add_epi32;
        product = _mm512_mul_epu32;
        add = _mm512_add_epi64;
    }

    #[inline(always)]
    unsafe fn total(self) -> u64 {
        // SAFETY: the trait's contract.
        unsafe { _mm512_reduce_add_epi64(self.0).cast_unsigned() }
    }
}
