//! Vectors of words on x86: AVX2 with 256 bits, and AVX-512 with 256 bits (which can use three execution ports instead
//! of two) or with 512 bits.

use std::arch::asm;
use std::arch::x86_64::*;

use super::{Lanes, MOST};

/// 8 32-bit words with AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Avx2x8(__m256i);
/// 4 64-bit words with AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Avx2x4(__m256i);
/// Eight 32-bit words with AVX-512F and VL, for their rotations and three-way logic.
#[derive(Clone, Copy)]
pub(crate) struct Avx512x8(__m256i);
/// 4 64-bit words with AVX-512F and VL.
#[derive(Clone, Copy)]
pub(crate) struct Avx512x4(__m256i);
/// 16 32-bit words with AVX-512F.
#[derive(Clone, Copy)]
pub(crate) struct Avx512x16(__m512i);
/// 8 64-bit words with AVX-512F.
#[derive(Clone, Copy)]
pub(crate) struct Avx512Wide(__m512i);

#[inline]
#[target_feature(enable = "avx")]
fn pin_256(mut x: __m256i) -> __m256i {
    // SAFETY: the assembly is empty.
    unsafe {
        asm!("/* {0} */", inlateout(ymm_reg) x, options(pure, nomem, nostack, preserves_flags));
    };
    x
}

#[inline]
#[target_feature(enable = "avx512f")]
fn pin_512(mut x: __m512i) -> __m512i {
    // SAFETY: the assembly is empty.
    unsafe {
        asm!("/* {0} */", inlateout(zmm_reg) x, options(pure, nomem, nostack, preserves_flags));
    };
    x
}

/// Methods that differ only in the name of the intrinsic: moves, addition and XOR.
macro_rules! moves {
    ($word:ty, $signed:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident, $add:ident, $xor:ident,
     $pin:ident) => {
        type Word = $word;
        const LANES: usize = $lanes;

        #[inline(always)]
        unsafe fn splat(word: $word) -> Self {
            // SAFETY: the caller guarantees the instruction set, as required by the trait.
            Self(unsafe { $splat(word as $signed) })
        }
        #[inline(always)]
        unsafe fn load(words: &[$word; MOST]) -> Self {
            const { assert!($lanes <= MOST) };
            // SAFETY: as above; the array has at least LANES words and the load accepts any alignment.
            Self(unsafe { $load(words.as_ptr().cast()) })
        }
        #[inline(always)]
        unsafe fn store(self, words: &mut [$word; MOST]) {
            // SAFETY: as above; the array has at least LANES words and the store accepts any alignment.
            unsafe { $store(words.as_mut_ptr().cast(), self.0) }
        }
        #[inline(always)]
        unsafe fn add(self, y: Self) -> Self {
            // SAFETY: the caller guarantees the instruction set, as required by the trait.
            Self(unsafe { $add(self.0, y.0) })
        }
        #[inline(always)]
        unsafe fn xor(self, y: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { $xor(self.0, y.0) })
        }
        #[inline(always)]
        unsafe fn pin(self) -> Self {
            // SAFETY: as above.
            Self(unsafe { $pin(self.0) })
        }
    };
}

/// An AVX2 vector. AVX2 has neither rotations nor three-way logic.
macro_rules! avx2 {
    ($vector:ty, $word:ty, $signed:ty, $lanes:literal, $splat:ident, $add:ident,
     $right:ident, $left:ident, $ror:expr) => {
        impl Lanes for $vector {
            moves! {
                $word, $signed, $lanes, $splat, _mm256_loadu_si256, _mm256_storeu_si256, $add,
                _mm256_xor_si256, pin_256
            }
            #[inline(always)]
            unsafe fn xor3(self, y: Self, z: Self) -> Self {
                // SAFETY: the caller guarantees AVX2, as required by the trait.
                unsafe { self.xor(y).xor(z) }
            }
            #[inline(always)]
            unsafe fn ror(self, count: u32) -> Self {
                // SAFETY: as above.
                unsafe {
                    let bytes: fn(u32) -> Option<[u8; 32]> = $ror;
                    if let Some(bytes) = bytes(count) {
                        // Rotations by whole bytes are performed by a shuffle.
                        let bytes = _mm256_loadu_si256(bytes.as_ptr().cast());
                        return Self(_mm256_shuffle_epi8(self.0, bytes));
                    }
                    let left = _mm_cvtsi32_si128((<$word>::BITS - count) as i32);
                    let right = _mm_cvtsi32_si128(count as i32);
                    Self(_mm256_or_si256($left(self.0, left), $right(self.0, right)))
                }
            }
            #[inline(always)]
            unsafe fn shr(self, count: u32) -> Self {
                // SAFETY: as above.
                Self(unsafe { $right(self.0, _mm_cvtsi32_si128(count as i32)) })
            }
            #[inline(always)]
            unsafe fn choose(self, y: Self, z: Self) -> Self {
                // SAFETY: as above.
                unsafe { Self(_mm256_and_si256(self.0, y.xor(z).0)).xor(z) }
            }
            #[inline(always)]
            unsafe fn majority(self, y: Self, z: Self) -> Self {
                // y ^ z is the next round's x ^ y, so the compiler can reuse it.
                // SAFETY: as above.
                unsafe { Self(_mm256_and_si256(self.xor(y).0, y.xor(z).0)).xor(y) }
            }
            #[inline(always)]
            unsafe fn or_not_xor(self, y: Self, z: Self) -> Self {
                // (x | !y) ^ z == (!x & y) ^ !z.
                // SAFETY: as above.
                unsafe {
                    let not_z = _mm256_xor_si256(z.0, _mm256_set1_epi32(-1));
                    Self(_mm256_xor_si256(_mm256_andnot_si256(self.0, y.0), not_z))
                }
            }
        }
    };
}

/// The shuffle that rotates words of `WORD` bytes right by `count` bits; `None` if `count` is not a multiple of 8.
#[inline(always)]
fn byte_rotation<const WORD: u32>(count: u32) -> Option<[u8; 32]> {
    if !count.is_multiple_of(8) {
        return None;
    }
    let mut bytes = [0; 32];
    let mut i = 0;
    while i < 32 {
        let word = i as u32 % 16 / WORD * WORD;
        bytes[i] = (word + (i as u32 + count / 8) % WORD) as u8;
        i += 1;
    }
    Some(bytes)
}

avx2!(
    Avx2x8,
    u32,
    i32,
    8,
    _mm256_set1_epi32,
    _mm256_add_epi32,
    _mm256_srl_epi32,
    _mm256_sll_epi32,
    byte_rotation::<4>
);
avx2!(
    Avx2x4,
    u64,
    i64,
    4,
    _mm256_set1_epi64x,
    _mm256_add_epi64,
    _mm256_srl_epi64,
    _mm256_sll_epi64,
    byte_rotation::<8>
);

/// An AVX-512 vector. The truth tables for three-input logic contain the result for x, y, z in bit `4x + 2y + z`.
macro_rules! avx512 {
    ($vector:ty, $word:ty, $signed:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident,
     $add:ident, $xor:ident, $pin:ident, $rotate:ident, $right:ident, $logic:ident) => {
        impl Lanes for $vector {
            moves! { $word, $signed, $lanes, $splat, $load, $store, $add, $xor, $pin }

            #[inline(always)]
            unsafe fn xor3(self, y: Self, z: Self) -> Self {
                // SAFETY: the caller guarantees AVX-512F and VL, as required by the trait.
                Self(unsafe { $logic::<0x96>(self.0, y.0, z.0) })
            }
            #[inline(always)]
            unsafe fn ror(self, count: u32) -> Self {
                // SAFETY: as above.
                Self(unsafe { $rotate(self.0, $splat(count as $signed)) })
            }
            #[inline(always)]
            unsafe fn shr(self, count: u32) -> Self {
                // SAFETY: as above.
                Self(unsafe { $right(self.0, $splat(count as $signed)) })
            }
            #[inline(always)]
            unsafe fn choose(self, y: Self, z: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $logic::<0xca>(self.0, y.0, z.0) })
            }
            #[inline(always)]
            unsafe fn majority(self, y: Self, z: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $logic::<0xe8>(self.0, y.0, z.0) })
            }
            #[inline(always)]
            unsafe fn or_not_xor(self, y: Self, z: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $logic::<0x59>(self.0, y.0, z.0) })
            }
        }
    };
}

#[rustfmt::skip]
avx512!(Avx512x8, u32, i32, 8, _mm256_set1_epi32, _mm256_loadu_si256, _mm256_storeu_si256,
    _mm256_add_epi32, _mm256_xor_si256, pin_256, _mm256_rorv_epi32, _mm256_srlv_epi32, _mm256_ternarylogic_epi32);
#[rustfmt::skip]
avx512!(Avx512x4, u64, i64, 4, _mm256_set1_epi64x, _mm256_loadu_si256, _mm256_storeu_si256,
    _mm256_add_epi64, _mm256_xor_si256, pin_256, _mm256_rorv_epi64, _mm256_srlv_epi64, _mm256_ternarylogic_epi64);
#[rustfmt::skip]
avx512!(Avx512x16, u32, i32, 16, _mm512_set1_epi32, _mm512_loadu_si512, _mm512_storeu_si512,
    _mm512_add_epi32, _mm512_xor_si512, pin_512, _mm512_rorv_epi32, _mm512_srlv_epi32, _mm512_ternarylogic_epi32);
#[rustfmt::skip]
avx512!(Avx512Wide, u64, i64, 8, _mm512_set1_epi64, _mm512_loadu_si512, _mm512_storeu_si512,
    _mm512_add_epi64, _mm512_xor_si512, pin_512, _mm512_rorv_epi64, _mm512_srlv_epi64, _mm512_ternarylogic_epi64);
