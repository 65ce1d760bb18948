//! Converts between blocks and byte positions: a 16 x 16 transposition in each 128 bits.

use std::arch::x86_64::*;

/// Defines a transposition of 16 registers: byte b of register r becomes byte r of register b.
///
/// Each of the four steps moves registers `i` and `i + 8` to `2 i` and `2 i + 1`, which rotates the
/// eight bits of the address (register, byte) by one.
macro_rules! transposition {
    ($name:ident, $step:ident, $vector:ty, $features:literal, $low:ident, $high:ident) => {
        #[inline]
        #[target_feature(enable = $features)]
        fn $step(x: [$vector; 16]) -> [$vector; 16] {
            let [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7] = x;
            // Unrolled by hand: the compiler might keep a loop, whose registers would then lie in
            // memory.
            [
                $low(a0, b0),
                $high(a0, b0),
                $low(a1, b1),
                $high(a1, b1),
                $low(a2, b2),
                $high(a2, b2),
                $low(a3, b3),
                $high(a3, b3),
                $low(a4, b4),
                $high(a4, b4),
                $low(a5, b5),
                $high(a5, b5),
                $low(a6, b6),
                $high(a6, b6),
                $low(a7, b7),
                $high(a7, b7),
            ]
        }

        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn $name(x: [$vector; 16]) -> [$vector; 16] {
            $step($step($step($step(x))))
        }
    };
}

transposition!(
    transpose_256,
    step_256,
    __m256i,
    "avx2",
    _mm256_unpacklo_epi8,
    _mm256_unpackhi_epi8
);
transposition!(
    transpose_512,
    step_512,
    __m512i,
    "avx512f,avx512bw",
    _mm512_unpacklo_epi8,
    _mm512_unpackhi_epi8
);
