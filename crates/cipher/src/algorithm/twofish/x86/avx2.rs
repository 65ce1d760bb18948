//! AVX2: planes of 32 blocks, and S-boxes as sixteen rows for `vpshufb`.

use std::arch::asm;
use std::arch::x86_64::*;

use super::super::vector::{Kernel, Planes, mds, with_carries};
use super::rows::{Rows, look_up};
use crate::isa::Avx2;
use crate::vector::{V256, Vector};

impl Kernel for Avx2 {
    const NAME: &'static str = "avx2";

    type Vector = V256;
}

/// Returns the vector unchanged, and forces it to be computed by exactly these instructions. Otherwise the compiler
/// would rearrange the instructions, and would need more instructions, or more registers than there are.
#[inline]
#[target_feature(enable = "avx2")]
fn pin(mut v: __m256i) -> __m256i {
    // SAFETY: the assembly is empty and leaves the register unchanged.
    unsafe { asm!("/* {0} */", inout(ymm_reg) v, options(nomem, nostack, preserves_flags)) };
    v
}

impl Planes for V256 {
    type Table = Rows;

    fn arrange(sbox: &[u8; 256], table: &mut Rows) {
        table.arrange(sbox);
    }

    #[inline(always)]
    unsafe fn to_planes(words: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            // Groups the bytes of a lane's four words, so that each group is a word to be transposed.
            let group = Self::lanes(&[0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]).0;
            let mut groups = words;
            for word in &mut groups {
                word.0 = pin(_mm256_shuffle_epi8(word.0, group));
            }
            Self::transpose(groups)
        }
    }

    #[inline(always)]
    unsafe fn to_words([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            let (ab, cd) = (_mm256_unpacklo_epi8(a.0, b.0), _mm256_unpacklo_epi8(c.0, d.0));
            let (low, next) = (_mm256_unpacklo_epi16(ab, cd), _mm256_unpackhi_epi16(ab, cd));
            let (ab, cd) = (_mm256_unpackhi_epi8(a.0, b.0), _mm256_unpackhi_epi8(c.0, d.0));
            let (third, last) = (_mm256_unpacklo_epi16(ab, cd), _mm256_unpackhi_epi16(ab, cd));
            [Self(low), Self(next), Self(third), Self(last)]
        }
    }

    #[inline(always)]
    unsafe fn substitute(table: &Rows, x: [Self; 2]) -> [Self; 2] {
        // SAFETY: the trait's contract.
        let [x, y] = unsafe { look_up(table, [x[0].0, x[1].0]) };
        [Self(x), Self(y)]
    }

    #[inline(always)]
    unsafe fn mds(planes: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe { mds(planes) }
    }

    #[inline(always)]
    unsafe fn times_power(words: [Self; 4], up: Self) -> [Self; 4] {
        let (mut shifted, mut lost) = (words, words);
        for (shifted, lost) in shifted.iter_mut().zip(&mut lost) {
            // SAFETY: the trait's contract.
            unsafe {
                let down = _mm256_sub_epi32(_mm256_set1_epi32(32), up.0);
                shifted.0 = _mm256_sllv_epi32(shifted.0, up.0);
                lost.0 = _mm256_srlv_epi32(lost.0, down);
            }
        }
        with_carries(shifted, lost)
    }
}
