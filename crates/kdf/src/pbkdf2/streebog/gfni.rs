//! Streebog-512 with one state per register: the 64 × 64 bit matrix is split into 8 × 8 matrices, one per pair of
//! bytes, and applied one diagonal at a time.

use std::arch::x86_64::*;

use super::constants::{PI, ROUNDS, ROWS};
use super::{LENGTHS, PADDING, Streebog, sigma};
use crate::pbkdf2::wide::State;
use crate::pbkdf2::wide::gfni::{Substitution, load, matrix, store, xor3};
use crate::pbkdf2::{Blocks, Kernel, Keys};

/// Kernels for 1 to 3 streams.
pub(super) fn kernels() -> Vec<Kernel<Streebog>> {
    vec![
        Kernel { name: "gfni-avx512-x1", lanes: 1, cost: 1750, run: iterate::<1> },
        Kernel { name: "gfni-avx512-x2", lanes: 2, cost: 2460, run: iterate::<2> },
        Kernel { name: "gfni-avx512-x3", lanes: 3, cost: 3488, run: iterate::<3> },
    ]
}

/// For distance `d`: word `j` maps byte `j` of a word to byte `j + d` of the word's image.
static DIAGONALS: [State; 8] = {
    let mut diagonals = [[0; 8]; 8];
    let mut distance = 0;
    while distance < 8 {
        let mut from = 0;
        while from < 8 {
            let to = (from + distance) % 8;
            let mut images = [0; 8];
            let mut bit = 0;
            while bit < 8 {
                images[bit] = (ROWS[8 * from + bit] >> (8 * to)) as u8;
                bit += 1;
            }
            diagonals[distance][from] = matrix(images);
            from += 1;
        }
        distance += 1;
    }
    diagonals
};

/// The transposition of the bytes.
static TRANSPOSED: State = {
    let mut words = [0; 8];
    let mut row = 0;
    while row < 8 {
        let mut bytes = [0; 8];
        let mut column = 0;
        while column < 8 {
            bytes[column] = (8 * column + row) as u8;
            column += 1;
        }
        words[row] = u64::from_le_bytes(bytes);
        row += 1;
    }
    words
};

/// The constants of the layers, in registers.
#[derive(Clone, Copy)]
struct Layers {
    substitution: Substitution,
    diagonals: [__m512i; 8],
    transposed: __m512i,
}

/// # Safety
/// The CPU must support AVX-512 F, BW and VBMI, and GFNI.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
unsafe fn iterate<const L: usize>(
    keys: &Keys<Streebog>,
    blocks: Blocks<'_, Streebog>,
    iterations: u32,
) {
    let layers = Layers {
        substitution: Substitution::new(&PI),
        diagonals: DIAGONALS.each_ref().map(|diagonal| load(diagonal)),
        transposed: load(&TRANSPOSED),
    };
    let lengths = LENGTHS.map(|length| load(&length));
    let padding = [load(&PADDING); L];
    // Streams without a block repeat the first block.
    let stream = |i: usize| if i < blocks.last.len() { i } else { 0 };
    let mut last: [State; L] = std::array::from_fn(|i| blocks.last[stream(i)]);
    let mut sum: [__m512i; L] = std::array::from_fn(|i| load(&blocks.sum[stream(i)]));
    for _ in 0..iterations {
        for mid in [&keys.inner, &keys.outer] {
            let sums: [State; L] = std::array::from_fn(|i| sigma(mid, &last[i]));
            let zero = _mm512_setzero_si512();
            let mut h = [load(&mid.h); L];
            h = compress(layers, h, lengths[0], last.map(|last| load(&last)));
            h = compress(layers, h, lengths[1], padding);
            h = compress(layers, h, zero, [lengths[1]; L]);
            h = compress(layers, h, zero, sums.map(|sum| load(&sum)));
            for i in 0..L {
                store(h[i], &mut last[i]);
            }
        }
        for i in 0..L {
            sum[i] = _mm512_xor_si512(sum[i], load(&last[i]));
        }
    }
    for (i, (to_last, to_sum)) in blocks.last.iter_mut().zip(blocks.sum).enumerate() {
        *to_last = last[i];
        store(sum[i], to_sum);
    }
}

/// The compression function g_N(h, m).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
fn compress<const L: usize>(
    layers: Layers,
    h: [__m512i; L],
    n: __m512i,
    m: [__m512i; L],
) -> [__m512i; L] {
    let mut key: [__m512i; L] = std::array::from_fn(|i| lps(layers, _mm512_xor_si512(h[i], n)));
    let mut block = m;
    for constant in &ROUNDS {
        let constant = load(constant);
        for i in 0..L {
            block[i] = lps(layers, _mm512_xor_si512(block[i], key[i]));
            key[i] = lps(layers, _mm512_xor_si512(key[i], constant));
        }
    }
    std::array::from_fn(|i| _mm512_xor_si512(xor3(h[i], m[i], block[i]), key[i]))
}

/// S, P and L.
///
/// After P, word `j` of the substituted state contains byte `j` of every word. The products of a diagonal, moved up
/// by its distance, are bytes with the same index in every image. A final transposition turns them into words.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
fn lps(layers: Layers, x: __m512i) -> __m512i {
    let x = layers.substitution.apply(x);
    macro_rules! part {
        ($distance:literal) => {{
            let product = _mm512_gf2p8affine_epi64_epi8::<0>(x, layers.diagonals[$distance]);
            _mm512_alignr_epi64::<{ (8 - $distance) % 8 }>(product, product)
        }};
    }
    let first = xor3(part!(0), part!(1), part!(2));
    let second = xor3(part!(3), part!(4), part!(5));
    let third = xor3(part!(6), part!(7), first);
    _mm512_permutexvar_epi8(layers.transposed, _mm512_xor_si512(second, third))
}
