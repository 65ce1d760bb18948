//! Whirlpool on AVX2: the substitution by its mini-boxes, 16 bytes per shuffle, with the states of the key schedule
//! and of the block in the two halves of the same registers.
//!
//! A state is stored by columns, two per half: the cyclic shift of a column then stays within its eight bytes,
//! and a row's diffusion uses whole columns from other registers.

use std::arch::x86_64::*;

use super::{E, INVERSE, PADDING, R, ROUNDS, Whirlpool, multiply};
use crate::pbkdf2::wide::State;
use crate::pbkdf2::{Blocks, Kernel, Keys};

/// A state by columns, two per register.
type Columns = [__m128i; 4];

pub(super) fn kernel() -> Kernel<Whirlpool> {
    Kernel { name: "avx2-x1", lanes: 1, cost: 530, run: iterate }
}

/// The contribution of the high (`shift` 4) or low (0) half of a substituted byte to a multiple of that byte.
const fn times(table: [u8; 16], shift: u32, coefficient: u8) -> [u8; 16] {
    let mut products = [0; 16];
    let mut i = 0;
    while i < 16 {
        products[i] = multiply(table[i] << shift, coefficient);
        i += 1;
    }
    products
}

/// The halves of a substituted byte, multiplied by 1, 2, 4 and 8.
const PRODUCTS: [[[u8; 16]; 2]; 4] = [
    [times(E, 4, 1), times(INVERSE, 0, 1)],
    [times(E, 4, 2), times(INVERSE, 0, 2)],
    [times(E, 4, 4), times(INVERSE, 0, 4)],
    [times(E, 4, 8), times(INVERSE, 0, 8)],
];

/// Source bytes of the cyclic shifts: column `j` moves down by `j` rows.
const SHIFTS: [[u8; 16]; 4] = {
    let mut shifts = [[0; 16]; 4];
    let mut column = 0;
    while column < 8 {
        let mut row = 0;
        while row < 8 {
            let half = 8 * (column % 2);
            shifts[column / 2][half + row] = (half + (row + 8 - column) % 8) as u8;
            row += 1;
        }
        column += 1;
    }
    shifts
};

/// The round constants, by columns.
static CONSTANTS: [State; 10] = {
    let mut constants = [[0; 8]; 10];
    let mut i = 0;
    while i < 80 {
        constants[i / 8][i % 8] = ROUNDS[i / 8].to_le_bytes()[i % 8] as u64;
        i += 1;
    }
    constants
};

/// The tables of a round.
struct Layers {
    shifts: [__m256i; 4],
    e: __m256i,
    inverse: __m256i,
    r: __m256i,
    products: [[__m256i; 2]; 4],
}

/// # Safety
/// The CPU must have AVX2.
#[target_feature(enable = "avx2")]
unsafe fn iterate(keys: &Keys<Whirlpool>, blocks: Blocks<'_, Whirlpool>, iterations: u32) {
    let layers = Layers {
        shifts: SHIFTS.map(|bytes| twice(bytes)),
        e: twice(E),
        inverse: twice(INVERSE),
        r: twice(R),
        products: PRODUCTS.map(|halves| halves.map(|bytes| twice(bytes))),
    };
    let (inner, outer, padding) = (load(&keys.inner), load(&keys.outer), load(&PADDING));
    for (to_last, to_sum) in blocks.last.iter_mut().zip(blocks.sum) {
        let (mut last, mut sum) = (load(to_last), load(to_sum));
        for _ in 0..iterations {
            for mid in [inner, outer] {
                last = compress(&layers, compress(&layers, mid, last), padding);
            }
            sum = xor(sum, last);
        }
        (*to_last, *to_sum) = (store(last), store(sum));
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn compress(layers: &Layers, state: Columns, message: Columns) -> Columns {
    let fed = xor(state, message);
    // The key schedule is in the low halves, the block in the high halves.
    let mut both: [__m256i; 4] = std::array::from_fn(|i| _mm256_set_m128i(fed[i], state[i]));
    for constants in &CONSTANTS {
        both = round(layers, both);
        for i in 0..4 {
            let constant = _mm_set_epi64x(constants[2 * i + 1] as i64, constants[2 * i] as i64);
            // XORs the new key, and thereby the constant, into the block.
            let key = _mm256_permute2x128_si256::<0x08>(both[i], both[i]);
            both[i] = _mm256_xor_si256(both[i], _mm256_broadcastsi128_si256(constant));
            both[i] = _mm256_xor_si256(both[i], key);
        }
    }
    xor(fed, both.map(|both| _mm256_extracti128_si256::<1>(both)))
}

/// Substitution, cyclic shifts and diffusion of the rows.
#[inline]
#[target_feature(enable = "avx2")]
fn round(layers: &Layers, state: [__m256i; 4]) -> [__m256i; 4] {
    let zero = _mm256_setzero_si256();
    // Substituted bytes times 1, 2, 4 and 8.
    let mut x = [[zero; 4]; 4];
    for i in 0..4 {
        let shifted = _mm256_shuffle_epi8(state[i], layers.shifts[i]);
        let nibble = _mm256_set1_epi8(15);
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(shifted), nibble);
        let high = _mm256_shuffle_epi8(layers.e, high);
        let low = _mm256_shuffle_epi8(layers.inverse, _mm256_and_si256(shifted, nibble));
        let mixed = _mm256_shuffle_epi8(layers.r, _mm256_xor_si256(high, low));
        let (high, low) = (_mm256_xor_si256(high, mixed), _mm256_xor_si256(low, mixed));
        for (x, [of_high, of_low]) in x.iter_mut().zip(layers.products) {
            let of_high = _mm256_shuffle_epi8(of_high, high);
            x[i] = _mm256_xor_si256(of_high, _mm256_shuffle_epi8(of_low, low));
        }
    }
    let [one, two, four, eight] = x;
    // The columns shifted left by one, for the odd distances.
    let odd = |x: [__m256i; 4]| -> [__m256i; 4] {
        std::array::from_fn(|i| _mm256_alignr_epi8::<8>(x[i], x[(i + 3) % 4]))
    };
    let (odd_one, odd_four, odd_eight) = (odd(one), odd(four), odd(eight));
    // The coefficient is 1 at distance 0 and at all odd distances.
    let all = xor2(xor2(odd_one[0], odd_one[1]), xor2(odd_one[2], odd_one[3]));
    std::array::from_fn(|i| {
        let of = |x: &[__m256i; 4], distance: usize| x[(i + 4 - distance / 2) % 4];
        let first = xor2(xor2(of(&one, 0), all), xor2(of(&four, 2), of(&eight, 4)));
        let second = xor2(xor2(of(&odd_four, 5), of(&two, 6)), of(&odd_eight, 7));
        xor2(first, second)
    })
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor2(a: __m256i, b: __m256i) -> __m256i {
    _mm256_xor_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor(a: Columns, b: Columns) -> Columns {
    std::array::from_fn(|i| _mm_xor_si128(a[i], b[i]))
}

/// A register with the given bytes in both halves.
#[inline]
#[target_feature(enable = "avx2")]
fn twice(bytes: [u8; 16]) -> __m256i {
    // SAFETY: sixteen bytes fill one unaligned vector.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(state: &State) -> Columns {
    let columns = transposed(state);
    std::array::from_fn(|i| _mm_set_epi64x(columns[2 * i + 1] as i64, columns[2 * i] as i64))
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(columns: Columns) -> State {
    let mut words = [0; 8];
    for (i, column) in columns.into_iter().enumerate() {
        words[2 * i] = _mm_cvtsi128_si64(column) as u64;
        words[2 * i + 1] = _mm_extract_epi64::<1>(column) as u64;
    }
    transposed(&words)
}

/// Rows for columns.
fn transposed(words: &State) -> State {
    let bytes = words.map(u64::to_le_bytes);
    std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|j| bytes[j][i])))
}
