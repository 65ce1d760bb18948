//! ChaCha and NH on 256-bit vectors: eight blocks, or two pieces, side by side.

use std::arch::x86_64::*;

use super::super::chacha::{self, Key, Words};
use super::super::nh::{NhKey, PASSES};
use super::super::{BATCH, Isa};
use super::nh::{Pieces, nh};
use crate::cpu::Tier;
use crate::kernel::{Block, Buffer};

/// Proof that the CPU has AVX2.
#[derive(Clone, Copy)]
pub(in super::super) struct Avx2(());

impl Avx2 {
    /// The instruction set, if `tier` allows it and the CPU has it.
    pub(in super::super) fn new(tier: Tier) -> Option<Self> {
        tier.allows(Tier::Avx2).then_some(Self(()))
    }
}

impl Isa for Avx2 {
    const NAME: &'static str = "avx2";

    fn nh(self, key: &NhKey, message: &[u8]) -> [u64; PASSES] {
        // SAFETY: `self` proves the instruction set.
        unsafe { nh_avx2(key, message) }
    }

    fn subkeys(self, key: &Key, nonces: &[Block; BATCH]) -> [Key; BATCH] {
        // SAFETY: `self` proves the instruction set.
        unsafe { subkeys_avx2(key, nonces) }
    }

    fn stream(self, key: &Key, buffer: Buffer<'_>) {
        // SAFETY: `self` proves the instruction set.
        unsafe { stream_avx2(key, buffer) }
    }
}

/// # Safety
/// The CPU must have AVX2.
#[target_feature(enable = "avx2")]
unsafe fn nh_avx2(key: &NhKey, message: &[u8]) -> [u64; PASSES] {
    // SAFETY: this function enables the vector's instruction set.
    unsafe { nh::<Vector>(key, message) }
}

/// # Safety
/// The CPU must have AVX2.
#[target_feature(enable = "avx2")]
unsafe fn subkeys_avx2(key: &Key, nonces: &[Block; BATCH]) -> [Key; BATCH] {
    // SAFETY: this function enables the vector's instruction set.
    unsafe { chacha::subkeys::<Vector>(key, nonces) }
}

/// # Safety
/// The CPU must have AVX2.
#[target_feature(enable = "avx2")]
unsafe fn stream_avx2(key: &Key, buffer: Buffer<'_>) {
    // SAFETY: this function enables the vector's instruction set.
    unsafe { chacha::stream::<Vector>(key, buffer) }
}

/// A word of eight blocks, or two pieces.
#[derive(Clone, Copy)]
struct Vector(__m256i);

impl Words for Vector {
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
        Self(unsafe {
            match LEFT {
                // Whole bytes move in one instruction.
                16 => _mm256_shuffle_epi8(self.0, bytes([2, 3, 0, 1])),
                8 => _mm256_shuffle_epi8(self.0, bytes([3, 0, 1, 2])),
                _ => _mm256_or_si256(
                    _mm256_slli_epi32::<LEFT>(self.0),
                    _mm256_srli_epi32::<RIGHT>(self.0),
                ),
            }
        })
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

/// The shuffle that makes byte `i` of each word of its byte `order[i]`.
///
/// # Safety
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn bytes(order: [u8; 4]) -> __m256i {
    let order: [u8; 32] = std::array::from_fn(|i| (i as u8 & 12) + order[i % 4]);
    // SAFETY: the array has 32 bytes.
    unsafe { _mm256_loadu_si256(order.as_ptr().cast()) }
}

/// Makes rows of eight words out of columns.
///
/// # Safety
/// The CPU must have AVX2.
#[inline(always)]
pub(super) unsafe fn transpose(x: [__m256i; 8]) -> [__m256i; 8] {
    // SAFETY: the instruction set is the caller's promise.
    unsafe {
        // Words of two columns, then of four, then of eight; the number of a row is that of its lane.
        let pair = |a, b| (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let (p0, p2) = pair(x[0], x[1]);
        let (q0, q2) = pair(x[2], x[3]);
        let (r0, r2) = pair(x[4], x[5]);
        let (s0, s2) = pair(x[6], x[7]);
        let four = |a, b| (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
        let (a0, a1) = four(p0, q0);
        let (a2, a3) = four(p2, q2);
        let (b0, b1) = four(r0, s0);
        let (b2, b3) = four(r2, s2);
        let low = |a, b| _mm256_permute2x128_si256::<0x20>(a, b);
        let high = |a, b| _mm256_permute2x128_si256::<0x31>(a, b);
        [
            low(a0, b0),
            low(a1, b1),
            low(a2, b2),
            low(a3, b3),
            high(a0, b0),
            high(a1, b1),
            high(a2, b2),
            high(a3, b3),
        ]
    }
}

impl Pieces for Vector {
    const PIECES: usize = 2;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_setzero_si256() })
    }

    #[inline(always)]
    unsafe fn halves(from: *const u8) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe {
            let x = _mm256_loadu_si256(from.cast());
            (Self(_mm256_unpacklo_epi32(x, x)), Self(_mm256_unpackhi_epi32(x, x)))
        }
    }

    #[inline(always)]
    unsafe fn key(from: *const u64) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }

    instructions! {
        add_words = _mm256_add_epi32;
        product = _mm256_mul_epu32;
        add = _mm256_add_epi64;
    }

    #[inline(always)]
    unsafe fn total(self) -> u64 {
        let mut lanes = [0_u64; 4];
        // SAFETY: the trait's contract; the array has 32 bytes.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), self.0) };
        lanes.into_iter().fold(0, u64::wrapping_add)
    }
}
