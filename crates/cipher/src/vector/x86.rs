//! The vectors of x86: the same operations with the 128 bits of SSE2, the 256 bits of AVX2 and the 512 bits of
//! AVX-512.

use std::arch::x86_64::*;
use std::convert::identity;

use super::{Bytes, Table, Vector, Words, instructions, operators};
use crate::kernel::Block;

/// Defines a vector by its instructions. The instructions for rotations and sums of three, which differ most between
/// vectors, come last.
macro_rules! vector {
    (
        $(#[$doc:meta])+ $vector:ident: $register:ty, $lanes:literal,
        $load:ident, $store:ident, $broadcast:ident, $splat:ident, $xor:ident, $and:ident, $or:ident, $and_not:ident, $add:ident,
        words $low:ident, $high:ident, pairs $low_pair:ident, $high_pair:ident, bytes $low_byte:ident, $high_byte:ident,
        { $($rest:tt)+ }
    ) => {
        $(#[$doc])+
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub(crate) struct $vector(pub(crate) $register);

        operators!($vector, $xor, $and, $or);

        impl Words for $vector {
            #[inline(always)]
            fn and_not(self, other: Self) -> Self {
                // SAFETY: the values prove that the instruction set is available.
                Self(unsafe { $and_not(other.0, self.0) })
            }

            instructions! {
                add = $add;
            }

            $($rest)+
        }

        impl Vector for $vector {
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn load(from: *const u8) -> Self {
                // SAFETY: the trait's contract.
                Self(unsafe { $load(from.cast()) })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut u8) {
                // SAFETY: the trait's contract.
                unsafe { $store(to.cast(), self.0) }
            }

            #[inline(always)]
            unsafe fn lanes(block: &Block) -> Self {
                // SAFETY: the trait's contract.
                Self(unsafe { $broadcast(_mm_loadu_si128(block.as_ptr().cast())) })
            }

            #[inline(always)]
            unsafe fn splat(word: u32) -> Self {
                // SAFETY: the trait's contract.
                Self(unsafe { $splat(word.cast_signed()) })
            }

            #[inline(always)]
            fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
                // SAFETY: the values prove that the instruction set is available.
                unsafe {
                    let (ab_low, ab_high) = ($low(a.0, b.0), $high(a.0, b.0));
                    let (cd_low, cd_high) = ($low(c.0, d.0), $high(c.0, d.0));
                    [
                        Self($low_pair(ab_low, cd_low)),
                        Self($high_pair(ab_low, cd_low)),
                        Self($low_pair(ab_high, cd_high)),
                        Self($high_pair(ab_high, cd_high)),
                    ]
                }
            }

            instructions! {
                interleave_low = $low_byte;
                interleave_high = $high_byte;
            }
        }
    };
}

vector! {
    /// 16 bytes of SSE2.
    V128: __m128i, 1,
    _mm_loadu_si128, _mm_storeu_si128, identity, _mm_set1_epi32, _mm_xor_si128, _mm_and_si128, _mm_or_si128, _mm_andnot_si128,
    _mm_add_epi32, words _mm_unpacklo_epi32, _mm_unpackhi_epi32, pairs _mm_unpacklo_epi64, _mm_unpackhi_epi64,
    bytes _mm_unpacklo_epi8, _mm_unpackhi_epi8,
    {
        #[inline(always)]
        fn shift_left<const BITS: i32>(self) -> Self {
            // SAFETY: SSE2 is in the baseline.
            Self(unsafe { _mm_slli_epi32::<BITS>(self.0) })
        }

        #[inline(always)]
        fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
            // SAFETY: SSE2 is in the baseline.
            Self(unsafe {
                if LEFT == 16 {
                    _mm_shufflehi_epi16::<0b10_11_00_01>(_mm_shufflelo_epi16::<0b10_11_00_01>(self.0))
                } else {
                    _mm_or_si128(_mm_slli_epi32::<LEFT>(self.0), _mm_srli_epi32::<RIGHT>(self.0))
                }
            })
        }
    }
}

vector! {
    /// 32 bytes of AVX2.
    V256: __m256i, 2,
    _mm256_loadu_si256, _mm256_storeu_si256, _mm256_broadcastsi128_si256, _mm256_set1_epi32, _mm256_xor_si256,
    _mm256_and_si256, _mm256_or_si256, _mm256_andnot_si256, _mm256_add_epi32,
    words _mm256_unpacklo_epi32, _mm256_unpackhi_epi32, pairs _mm256_unpacklo_epi64, _mm256_unpackhi_epi64,
    bytes _mm256_unpacklo_epi8, _mm256_unpackhi_epi8,
    {
        #[inline(always)]
        fn shift_left<const BITS: i32>(self) -> Self {
            // SAFETY: the value proves that the instruction set is available.
            Self(unsafe { _mm256_slli_epi32::<BITS>(self.0) })
        }

        #[inline(always)]
        fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
            // SAFETY: the value proves that the instruction set is available.
            Self(unsafe {
                match LEFT {
                    // Rotations by whole bytes take only one instruction.
                    16 => _mm256_shuffle_epi8(self.0, order([2, 3, 0, 1])),
                    8 => _mm256_shuffle_epi8(self.0, order([3, 0, 1, 2])),
                    _ => _mm256_or_si256(
                        _mm256_slli_epi32::<LEFT>(self.0),
                        _mm256_srli_epi32::<RIGHT>(self.0),
                    ),
                }
            })
        }
    }
}

vector! {
    /// 64 bytes of AVX-512.
    V512: __m512i, 4,
    _mm512_loadu_si512, _mm512_storeu_si512, _mm512_broadcast_i32x4, _mm512_set1_epi32, _mm512_xor_si512,
    _mm512_and_si512, _mm512_or_si512, _mm512_andnot_si512, _mm512_add_epi32,
    words _mm512_unpacklo_epi32, _mm512_unpackhi_epi32, pairs _mm512_unpacklo_epi64, _mm512_unpackhi_epi64,
    bytes _mm512_unpacklo_epi8, _mm512_unpackhi_epi8,
    {
        #[inline(always)]
        fn shift_left<const BITS: i32>(self) -> Self {
            // SAFETY: the value proves that the instruction set is available. The intrinsic with a constant requires a
            // different integer type.
            Self(unsafe { _mm512_sllv_epi32(self.0, _mm512_set1_epi32(BITS)) })
        }

        #[inline(always)]
        fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
            // SAFETY: the value proves that the instruction set is available.
            Self(unsafe { _mm512_rol_epi32::<LEFT>(self.0) })
        }

        #[inline(always)]
        fn xor3(self, b: Self, c: Self) -> Self {
            // SAFETY: the values prove that the instruction set is available.
            Self(unsafe { _mm512_ternarylogic_epi32::<0x96>(self.0, b.0, c.0) })
        }
    }
}

/// The shuffle that sets byte `i` of each word to its byte `order[i]`.
///
/// # Safety
/// The CPU must support AVX2.
#[inline(always)]
unsafe fn order(order: [u8; 4]) -> __m256i {
    let order: [u8; 32] = std::array::from_fn(|i| (i as u8 & 12) + order[i % 4]);
    // SAFETY: the array has 32 bytes.
    unsafe { _mm256_loadu_si256(order.as_ptr().cast()) }
}

impl Bytes for V256 {
    #[inline(always)]
    unsafe fn table(table: &Table) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_load_si256(table.0.as_ptr().cast()) })
    }

    #[inline(always)]
    unsafe fn splat_byte(byte: u8) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_set1_epi8(byte.cast_signed()) })
    }

    #[inline(always)]
    fn split(self) -> [Self; 2] {
        // SAFETY: the value proves that the instruction set is available.
        unsafe {
            let nibble = _mm256_set1_epi8(15);
            let high = _mm256_srli_epi16::<4>(self.0);
            [Self(_mm256_and_si256(self.0, nibble)), Self(_mm256_and_si256(high, nibble))]
        }
    }

    #[inline(always)]
    fn look_up(self, table: Self) -> Self {
        // SAFETY: the values prove that the instruction set is available.
        Self(unsafe { _mm256_shuffle_epi8(table.0, self.0) })
    }

    instructions! {
        add_bytes = _mm256_add_epi8;
        add_saturating = _mm256_adds_epu8;
        sub_bytes = _mm256_sub_epi8;
        min = _mm256_min_epu8;
    }
}
