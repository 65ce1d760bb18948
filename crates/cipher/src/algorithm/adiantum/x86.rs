//! Adiantum's parts on x86: ChaCha with vectors of 128 and 256 bits, NH with vectors of up to 512 bits.

use std::arch::x86_64::*;

use super::Kernel;
use super::chacha::Stream;
use super::nh::{NhKey, PASSES, rest};
use crate::isa::{Avx2, Avx512};
use crate::kernel::BLOCK;
use crate::vector::{V128, V256, V512, Vector};

impl Kernel for Avx2 {
    const NAME: &'static str = "avx2";

    type Stream = V256;

    #[inline(always)]
    unsafe fn nh(key: &NhKey, message: &[u8]) -> [u64; PASSES] {
        // SAFETY: the trait's contract.
        unsafe { nh::<V256>(key, message) }
    }
}

impl Kernel for Avx512 {
    const NAME: &'static str = "avx512";

    /// Vectors of half the width, for which the compiler uses AVX-512's rotations.
    type Stream = V256;

    #[inline(always)]
    unsafe fn nh(key: &NhKey, message: &[u8]) -> [u64; PASSES] {
        // SAFETY: the trait's contract.
        unsafe { nh::<V512>(key, message) }
    }
}

/// Eight blocks side by side.
impl Stream for V256 {
    #[inline(always)]
    unsafe fn word(word: u32) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self::splat(word) }
    }

    #[inline(always)]
    unsafe fn xor_blocks(words: [Self; 16], from: *const u8, to: *mut u8) {
        for half in 0..2 {
            let [a, b, c, d, e, f, g, h] = *words[8 * half..].first_chunk().expect("eight words");
            let (first, second) = (Self::transpose([a, b, c, d]), Self::transpose([e, f, g, h]));
            for i in 0..4 {
                // SAFETY: by the trait's contract, both pointers are valid for eight 64-byte blocks.
                unsafe {
                    let (a, b) = (first[i].0, second[i].0);
                    let (low, high) = (64 * i + 32 * half, 64 * (4 + i) + 32 * half);
                    let row = Self(_mm256_permute2x128_si256::<0x20>(a, b));
                    (Self::load(from.add(low)) ^ row).store(to.add(low));
                    let row = Self(_mm256_permute2x128_si256::<0x31>(a, b));
                    (Self::load(from.add(high)) ^ row).store(to.add(high));
                }
            }
        }
    }
}

/// 64-bit lanes, two for each piece of a message.
pub(super) trait Pieces: Vector {
    /// Words 0 and 1 of each piece of a message, each in the lower half of a lane, and words 2 and 3 in the same way.
    /// The upper halves are ignored.
    fn halves(self) -> (Self, Self);
    /// The products of the lower halves of the lanes.
    fn product(self, other: Self) -> Self;
    /// The sums of lanes.
    fn add_lanes(self, other: Self) -> Self;
    /// The sum of all lanes.
    fn total(self) -> u64;
}

macro_rules! pieces {
    ($vector:ident, $low:ident, $high:ident, $product:ident, $add:ident, $total:expr) => {
        impl Pieces for $vector {
            #[inline(always)]
            fn halves(self) -> (Self, Self) {
                // SAFETY: the value proves that the instruction set is available.
                unsafe { (Self($low(self.0, self.0)), Self($high(self.0, self.0))) }
            }

            #[inline(always)]
            fn product(self, other: Self) -> Self {
                // SAFETY: the values prove that the instruction set is available.
                Self(unsafe { $product(self.0, other.0) })
            }

            #[inline(always)]
            fn add_lanes(self, other: Self) -> Self {
                // SAFETY: the values prove that the instruction set is available.
                Self(unsafe { $add(self.0, other.0) })
            }

            #[inline(always)]
            fn total(self) -> u64 {
                let total: unsafe fn(Self) -> u64 = $total;
                // SAFETY: the value proves that the instruction set is available.
                unsafe { total(self) }
            }
        }
    };
}

#[rustfmt::skip]
pieces!(V128, _mm_unpacklo_epi32, _mm_unpackhi_epi32, _mm_mul_epu32, _mm_add_epi64, total_of::<V128, 2>);
#[rustfmt::skip]
pieces!(V256, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32, _mm256_mul_epu32, _mm256_add_epi64, total_of::<V256, 4>);
#[rustfmt::skip]
pieces!(V512, _mm512_unpacklo_epi32, _mm512_unpackhi_epi32, _mm512_mul_epu32, _mm512_add_epi64, total_512);

/// The sum of the `N` lanes of a vector.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn total_of<V: Vector, const N: usize>(x: V) -> u64 {
    const { assert!(8 * N == V::BYTES) };
    let mut lanes = [0_u64; N];
    // SAFETY: guaranteed by the caller; the array is as long as the vector.
    unsafe { x.store(lanes.as_mut_ptr().cast()) };
    lanes.into_iter().fold(0, u64::wrapping_add)
}

/// [`total_of`], with AVX-512's own instructions.
///
/// # Safety
/// The CPU must support AVX-512.
#[inline(always)]
unsafe fn total_512(x: V512) -> u64 {
    // SAFETY: guaranteed by the caller.
    unsafe { _mm512_reduce_add_epi64(x.0).cast_unsigned() }
}

/// NH of a message of at most [`super::nh::MOST`] bytes.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn nh<P: Pieces>(key: &NhKey, message: &[u8]) -> [u64; PASSES] {
    let whole = message.len() / P::BYTES * P::LANES;
    // The last pass of the last vector must not read past the end of the key.
    assert!(whole + PASSES - 1 <= key.first.len(), "NH takes no longer message");
    // SAFETY: the caller guarantees the instruction set. A vector starts at a piece of the message and `pass`
    // pieces later in the key, and ends within both, because of `whole` and the assertion.
    unsafe {
        let mut sums = [P::splat(0); PASSES];
        for index in (0..whole).step_by(P::LANES) {
            let (first, second) = P::load(message.as_ptr().add(index * BLOCK)).halves();
            for (pass, sum) in sums.iter_mut().enumerate() {
                let first = first.add(P::load(key.first.as_ptr().add(index + pass).cast()));
                let second = second.add(P::load(key.second.as_ptr().add(index + pass).cast()));
                *sum = sum.add_lanes(first.product(second));
            }
        }
        let mut totals = [0; PASSES];
        for (total, sum) in totals.iter_mut().zip(sums) {
            *total = sum.total();
        }
        rest(key, message, whole, totals)
    }
}
