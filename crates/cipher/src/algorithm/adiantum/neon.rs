//! ChaCha and NH on ARM's 128-bit vectors: four blocks side by side, or one piece.

use std::arch::aarch64::*;

use super::chacha::{self, Key, Words};
use super::nh::{self, NhKey, PASSES};
use super::{BATCH, Isa};
use crate::cpu::Tier;
use crate::kernel::{BLOCK, Block, Buffer};

/// Proof that the CPU has Advanced SIMD.
#[derive(Clone, Copy)]
pub(super) struct Neon(());

impl Neon {
    /// The instruction set, if `tier` allows it and the CPU has it.
    pub(super) fn new(tier: Tier) -> Option<Self> {
        tier.allows(Tier::Neon).then_some(Self(()))
    }
}

impl Isa for Neon {
    const NAME: &'static str = "neon";

    fn nh(self, key: &NhKey, message: &[u8]) -> [u64; PASSES] {
        // SAFETY: `self` proves the instruction set.
        unsafe { nh_neon(key, message) }
    }

    fn subkeys(self, key: &Key, nonces: &[Block; BATCH]) -> [Key; BATCH] {
        // SAFETY: `self` proves the instruction set.
        unsafe { subkeys_neon(key, nonces) }
    }

    fn stream(self, key: &Key, buffer: Buffer<'_>) {
        // SAFETY: `self` proves the instruction set.
        unsafe { stream_neon(key, buffer) }
    }
}

/// # Safety
/// The CPU must have Advanced SIMD.
#[target_feature(enable = "neon")]
unsafe fn nh_neon(key: &NhKey, message: &[u8]) -> [u64; PASSES] {
    let pieces = message.len() / BLOCK;
    // The last piece's last pass reads this far into the key.
    assert!(pieces + PASSES - 1 <= key.words.len(), "NH takes no longer message");
    let mut sums = [vdupq_n_u64(0); PASSES];
    for (index, piece) in message.as_chunks::<BLOCK>().0.iter().enumerate() {
        // SAFETY: a piece has 16 bytes, and so has one of the key, of which the assertion counts enough.
        let words = unsafe { vreinterpretq_u32_u8(vld1q_u8(piece.as_ptr())) };
        for (pass, sum) in sums.iter_mut().enumerate() {
            // SAFETY: as above.
            let key = unsafe { vld1q_u32(key.words.as_ptr().add(index + pass).cast()) };
            let added = vaddq_u32(words, key);
            *sum = vmlal_u32(*sum, vget_low_u32(added), vget_high_u32(added));
        }
    }
    let mut totals = [0; PASSES];
    for (total, sum) in totals.iter_mut().zip(sums) {
        *total = vaddvq_u64(sum);
    }
    nh::rest(key, message, pieces, totals)
}

/// # Safety
/// The CPU must have Advanced SIMD.
#[target_feature(enable = "neon")]
unsafe fn subkeys_neon(key: &Key, nonces: &[Block; BATCH]) -> [Key; BATCH] {
    // SAFETY: this function enables the vector's instruction set.
    unsafe { chacha::subkeys::<Vector>(key, nonces) }
}

/// # Safety
/// The CPU must have Advanced SIMD.
#[target_feature(enable = "neon")]
unsafe fn stream_neon(key: &Key, buffer: Buffer<'_>) {
    // SAFETY: this function enables the vector's instruction set.
    unsafe { chacha::stream::<Vector>(key, buffer) }
}

/// A word of four blocks.
#[derive(Clone, Copy)]
struct Vector(uint32x4_t);

impl Words for Vector {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { vdupq_n_u32(word) })
    }

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { vld1q_u32(from) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        // SAFETY: the trait's contract.
        unsafe { vst1q_u32(to, self.0) }
    }

    instructions! {
        add = vaddq_u32;
        xor = veorq_u32;
    }

    #[inline(always)]
    unsafe fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe {
            match LEFT {
                16 => vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(self.0))),
                _ => vsriq_n_u32::<RIGHT>(vshlq_n_u32::<LEFT>(self.0), self.0),
            }
        })
    }

    #[inline(always)]
    unsafe fn xor_blocks(words: [Self; 16], from: *const u8, to: *mut u8) {
        for quarter in 0..4 {
            // SAFETY: the trait's contract: both pointers are valid for four blocks of 64 bytes.
            unsafe {
                let (a, b) = (words[4 * quarter].0, words[4 * quarter + 1].0);
                let (c, d) = (words[4 * quarter + 2].0, words[4 * quarter + 3].0);
                // Words of blocks 0 and 2, then of 1 and 3.
                let wide = |x| vreinterpretq_u64_u32(x);
                let (ab, cd) = (wide(vtrn1q_u32(a, b)), wide(vtrn1q_u32(c, d)));
                let (hab, hcd) = (wide(vtrn2q_u32(a, b)), wide(vtrn2q_u32(c, d)));
                let rows = [
                    vtrn1q_u64(ab, cd),
                    vtrn1q_u64(hab, hcd),
                    vtrn2q_u64(ab, cd),
                    vtrn2q_u64(hab, hcd),
                ];
                for (block, row) in rows.into_iter().enumerate() {
                    let at = 64 * block + 16 * quarter;
                    let old = vld1q_u8(from.add(at));
                    vst1q_u8(to.add(at), veorq_u8(old, vreinterpretq_u8_u64(row)));
                }
            }
        }
    }
}
