//! Whirlpool with one state per register: the circulant diffusion needs one multiplication per distance.

use std::arch::x86_64::*;

use super::{BOX, PADDING, ROUNDS, ROW, Whirlpool, multiply};
use crate::pbkdf2::wide::State;
use crate::pbkdf2::wide::gfni::{Substitution, load, matrix, store, xor3};
use crate::pbkdf2::{Blocks, Kernel, Keys};

/// Kernels for 1 to 3 streams.
pub(super) fn kernels() -> Vec<Kernel<Whirlpool>> {
    vec![
        Kernel { name: "gfni-avx512-x1", lanes: 1, cost: 533, run: iterate::<1> },
        Kernel { name: "gfni-avx512-x2", lanes: 2, cost: 841, run: iterate::<2> },
        Kernel { name: "gfni-avx512-x3", lanes: 3, cost: 1233, run: iterate::<3> },
    ]
}

/// Multiplication of every byte by a coefficient.
const fn times(coefficient: u8) -> u64 {
    let mut images = [0; 8];
    let mut bit = 0;
    while bit < 8 {
        images[bit] = multiply(1 << bit, coefficient);
        bit += 1;
    }
    matrix(images)
}

/// The source index of each byte: the column shift, then `distance` columns along the row.
const fn source(distance: usize) -> State {
    let mut words = [0; 8];
    let mut row = 0;
    while row < 8 {
        let mut bytes = [0; 8];
        let mut column = 0;
        while column < 8 {
            let from = (column + 8 - distance) % 8;
            bytes[column] = (8 * ((row + 8 - from) % 8) + from) as u8;
            column += 1;
        }
        words[row] = u64::from_le_bytes(bytes);
        row += 1;
    }
    words
}

static SOURCES: [State; 8] =
    [source(0), source(1), source(2), source(3), source(4), source(5), source(6), source(7)];

/// The constants of a round, in registers.
#[derive(Clone, Copy)]
struct Layers {
    substitution: Substitution,
    sources: [__m512i; 8],
}

/// # Safety
/// The CPU must support AVX-512 F, BW and VBMI, and GFNI.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
unsafe fn iterate<const L: usize>(
    keys: &Keys<Whirlpool>,
    blocks: Blocks<'_, Whirlpool>,
    iterations: u32,
) {
    let layers = Layers {
        substitution: Substitution::new(&BOX),
        sources: SOURCES.each_ref().map(|source| load(source)),
    };
    let (inner, outer) = (load(&keys.inner), load(&keys.outer));
    let padding = [load(&PADDING); L];
    // Streams without a block repeat the first block.
    let stream = |i: usize| if i < blocks.last.len() { i } else { 0 };
    let mut last: [__m512i; L] = std::array::from_fn(|i| load(&blocks.last[stream(i)]));
    let mut sum: [__m512i; L] = std::array::from_fn(|i| load(&blocks.sum[stream(i)]));
    for _ in 0..iterations {
        for mid in [inner, outer] {
            last = compress(layers, compress(layers, [mid; L], last), padding);
        }
        for i in 0..L {
            sum[i] = _mm512_xor_si512(sum[i], last[i]);
        }
    }
    for (i, (to_last, to_sum)) in blocks.last.iter_mut().zip(blocks.sum).enumerate() {
        store(last[i], to_last);
        store(sum[i], to_sum);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
fn compress<const L: usize>(
    layers: Layers,
    state: [__m512i; L],
    message: [__m512i; L],
) -> [__m512i; L] {
    let mut key = state;
    let mut block: [__m512i; L] = std::array::from_fn(|i| _mm512_xor_si512(state[i], message[i]));
    for constant in ROUNDS {
        let constant = _mm512_zextsi128_si512(_mm_cvtsi64_si128(constant as i64));
        for i in 0..L {
            key[i] = round(layers, key[i], constant);
            block[i] = round(layers, block[i], key[i]);
        }
    }
    std::array::from_fn(|i| xor3(state[i], message[i], block[i]))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
fn round(layers: Layers, state: __m512i, key: __m512i) -> __m512i {
    let x = layers.substitution.apply(state);
    macro_rules! part {
        ($distance:literal) => {{
            const COEFFICIENT: u8 = ROW[$distance];
            let moved = _mm512_permutexvar_epi8(layers.sources[$distance], x);
            if COEFFICIENT == 1 {
                moved
            } else {
                const MATRIX: u64 = times(COEFFICIENT);
                _mm512_gf2p8affine_epi64_epi8::<0>(moved, _mm512_set1_epi64(MATRIX as i64))
            }
        }};
    }
    let first = xor3(part!(0), part!(1), part!(3));
    let second = xor3(part!(2), part!(4), part!(5));
    let third = xor3(part!(6), part!(7), key);
    xor3(first, second, third)
}
