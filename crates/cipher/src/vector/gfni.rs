//! Bit matrices for bytes, with GFNI.

use std::arch::x86_64::*;

use super::{V256, V512, Vector};

/// A vector whose bytes can be multiplied by bit matrices.
///
/// # Safety
/// As for [`Vector`], with GFNI.
pub(crate) trait Gfni: Vector {
    /// Each byte times a matrix.
    unsafe fn affine(self, matrix: u64) -> Self;
    /// The inverse of each byte in the field of AES, multiplied by a matrix.
    unsafe fn affine_inverse(self, matrix: u64) -> Self;
}

macro_rules! gfni {
    ($vector:ident, $affine:ident, $affine_inverse:ident, $splat:ident) => {
        impl Gfni for $vector {
            #[inline(always)]
            unsafe fn affine(self, matrix: u64) -> Self {
                // SAFETY: the trait's contract.
                Self(unsafe { $affine::<0>(self.0, $splat(matrix.cast_signed())) })
            }

            #[inline(always)]
            unsafe fn affine_inverse(self, matrix: u64) -> Self {
                // SAFETY: the trait's contract.
                Self(unsafe { $affine_inverse::<0>(self.0, $splat(matrix.cast_signed())) })
            }
        }
    };
}

#[rustfmt::skip]
gfni!(V256, _mm256_gf2p8affine_epi64_epi8, _mm256_gf2p8affineinv_epi64_epi8, _mm256_set1_epi64x);
#[rustfmt::skip]
gfni!(V512, _mm512_gf2p8affine_epi64_epi8, _mm512_gf2p8affineinv_epi64_epi8, _mm512_set1_epi64);

/// Converts a linear map of bytes, given by the image of each bit, starting with the lowest, to the form that the
/// instructions need: byte `7 - i` selects the bits whose sum is bit `i`.
pub(crate) const fn matrix(images: [u8; 8]) -> u64 {
    let mut matrix = 0;
    let mut column = 0;
    while column < 8 {
        let mut row = 0;
        while row < 8 {
            matrix |= ((images[column] >> row & 1) as u64) << (8 * (7 - row) + column);
            row += 1;
        }
        column += 1;
    }
    matrix
}
