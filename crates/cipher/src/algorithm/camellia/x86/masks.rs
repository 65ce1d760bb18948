//! The masks of XTS for 512 bytes at a time: a tweak times 1, x ... x^31.

use std::arch::x86_64::*;

use super::super::xts::{CHUNK, times_x16};
use crate::kernel::Block;

/// # Safety
/// The CPU must have AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn masks_256(first: u128, masks: &mut [Block; CHUNK]) {
    let block = |tweak: u128| _mm_set_epi64x((tweak >> 64) as i64, tweak as i64);
    // Each half of the vector produces one half of the masks.
    let mut pair = _mm256_set_m128i(block(times_x16(first)), block(first));
    let reduction = _mm256_setr_epi32(0x87, 0, 1, 0, 0x87, 0, 1, 0);
    let (low, high) = masks.split_at_mut(CHUNK / 2);
    for (low, high) in low.iter_mut().zip(high) {
        // SAFETY: a block has 16 bytes.
        unsafe {
            _mm_storeu_si128(low.as_mut_ptr().cast(), _mm256_castsi256_si128(pair));
            _mm_storeu_si128(high.as_mut_ptr().cast(), _mm256_extracti128_si256::<1>(pair));
        }
        // Copies the sign of dword 3 over dword 0, and the sign of dword 1 over dword 2.
        let signs = _mm256_srai_epi32::<31>(_mm256_shuffle_epi32::<0b00_01_00_11>(pair));
        let carry = _mm256_and_si256(signs, reduction);
        pair = _mm256_xor_si256(_mm256_add_epi64(pair, pair), carry);
    }
}

/// The truth table for the XOR of three inputs.
const SUM: i32 = 0x96;

/// # Safety
/// The CPU must support the features.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
pub(super) unsafe fn masks_512(first: u128, masks: &mut [Block; CHUNK]) {
    let first = _mm_set_epi64x((first >> 64) as i64, first as i64);
    // Shifts qwords left, and restores the bits that were shifted out: bits from the low qword are moved to the high
    // qword, and bits from the high qword are reduced into the low qword.
    let with_carry = |shifted: __m512i, carry: __m512i| {
        let reduced = _mm512_clmulepi64_epi128::<0x01>(carry, _mm512_set1_epi64(0x87));
        _mm512_ternarylogic_epi32::<SUM>(shifted, _mm512_bslli_epi128::<8>(carry), reduced)
    };
    let copies = _mm512_broadcast_i32x4(first);
    let bits = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);
    let rest = _mm512_sub_epi64(_mm512_set1_epi64(64), bits);
    let mut quad = with_carry(_mm512_sllv_epi64(copies, bits), _mm512_srlv_epi64(copies, rest));
    for four in masks.as_chunks_mut::<4>().0 {
        // SAFETY: four blocks have 64 bytes.
        unsafe { _mm512_storeu_si512(four.as_mut_ptr().cast(), quad) };
        quad = with_carry(_mm512_slli_epi64::<4>(quad), _mm512_srli_epi64::<60>(quad));
    }
}
