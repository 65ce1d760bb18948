//! Streebog-512 on AVX2 without byte tables: 16 bytes per shuffle, with the states of the key schedule and of the
//! block in the same registers.
//!
//! Both states are multiplied by the same matrix, so their bytes alternate: the key uses the low bytes of the 16-bit
//! elements, the block the high bytes. Half a register contains a word of each state, and one shuffle multiplies all of
//! its bytes by an element of the matrix.

#[cfg(test)]
mod tests;

use std::arch::x86_64::*;
use std::hint::black_box;

use super::constants::ROUNDS;
use super::pi::{self, Halves, Table};
use super::{LENGTHS, Mid, PADDING, SCHEDULE, Streebog, sigma};
use crate::pbkdf2::wide::State;
use crate::pbkdf2::{Blocks, Kernel, Keys};

/// Key and block, or one of the two and zeros: words `i` and `i + 4` in register `i`.
type Pair = [__m256i; 4];

pub(super) fn kernel() -> Kernel<Streebog> {
    Kernel { name: "avx2-x1", lanes: 1, cost: 2440, run: iterate }
}

/// A constant state, in the low bytes.
type Known = [Halves; 4];

const fn known(state: &State) -> Known {
    let words = pi::into(state);
    let mut known = [Halves([[0; 16]; 2]); 4];
    let mut i = 0;
    while i < 64 {
        known[i / 8 % 4].0[i / 32][2 * (i % 8)] = words[i / 8].to_le_bytes()[i % 8];
        i += 1;
    }
    known
}

static CONSTANTS: [Known; 12] = {
    let mut constants = [known(&[0; 8]); 12];
    let mut i = 0;
    while i < 12 {
        constants[i] = known(&ROUNDS[i]);
        i += 1;
    }
    constants
};
static LENGTH: Known = known(&LENGTHS[1]);
static PADDED: Known = known(&PADDING);

/// # Safety
/// The CPU must have AVX2.
#[target_feature(enable = "avx2")]
unsafe fn iterate(keys: &Keys<Streebog>, blocks: Blocks<'_, Streebog>, iterations: u32) {
    let mids = [&keys.inner, &keys.outer].map(|mid| (mid, schedule(mid)));
    let (length, padded) = (constant(&LENGTH), constant(&PADDED));
    for (to_last, to_sum) in blocks.last.iter_mut().zip(blocks.sum) {
        let (mut last, mut sum) = (load(to_last), load(to_sum));
        for _ in 0..iterations {
            for (mid, schedule) in &mids {
                let sigma = sigma(mid, &store(last));
                let mut h = first(schedule, last);
                h = compress(h, xor(h, length), padded);
                h = compress(h, h, length);
                last = compress(h, h, load(&sigma));
            }
            sum = xor(sum, last);
        }
        (*to_last, *to_sum) = (store(last), store(sum));
    }
}

/// The round keys of the first compression, in the high bytes; `h` is added to the last round key.
#[inline]
#[target_feature(enable = "avx2")]
fn schedule(mid: &Mid) -> [Pair; SCHEDULE] {
    let mut schedule = mid.keys.each_ref().map(|key| load(key));
    schedule[SCHEDULE - 1] = xor(schedule[SCHEDULE - 1], load(&mid.h));
    schedule.map(|key| up(key))
}

/// The compression with known keys.
#[inline]
#[target_feature(enable = "avx2")]
fn first(schedule: &[Pair; SCHEDULE], message: Pair) -> Pair {
    let [whitening, keys @ ..] = schedule;
    let mut block = xor(up(message), *whitening);
    for key in rolled(keys) {
        block = xor(lps(block), *key);
    }
    xor(down(block), message)
}

/// The compression function g_N(h, m), for `key` = `h` ^ N.
#[inline]
#[target_feature(enable = "avx2")]
fn compress(h: Pair, key: Pair, message: Pair) -> Pair {
    let mut both = xor(low(lps(key)), up(message));
    for known in rolled(&CONSTANTS) {
        // XORs the key into the block, then the constant into the key.
        both = lps(xor(xor(both, up(both)), constant(known)));
    }
    xor(xor(down(both), low(both)), xor(h, message))
}

/// The number of rounds is hidden from the compiler, so that it does not unroll the loop: the unrolled rounds exceed
/// the cache of decoded instructions, which costs 10 % of the time.
#[inline(always)]
fn rolled<T>(rounds: &[T]) -> &[T] {
    black_box(rounds)
}

/// S, P and L.
#[inline]
#[target_feature(enable = "avx2")]
fn lps(x: Pair) -> Pair {
    // Byte `k` of the results, as two summands, one in each half.
    let mut sums = [_mm256_setzero_si256(); 8];
    for (x, products) in x.into_iter().zip(&pi::PRODUCTS) {
        let [t, u] = indices(x);
        for (sum, [of_t, of_u]) in sums.iter_mut().zip(products) {
            *sum = _mm256_xor_si256(*sum, _mm256_shuffle_epi8(halves(of_t), t));
            *sum = _mm256_xor_si256(*sum, _mm256_shuffle_epi8(halves(of_u), u));
        }
    }
    // The transposition: each level moves one bit of `k` into the element index, and one bit of the word index out of
    // it.
    let [a, b, c, d, e, f, g, h] = sums;
    let [a, b, c, d] = [(a, e), (b, f), (c, g), (d, h)].map(|(a, b)| {
        let (low, high) = unpack(a, b);
        let swapped = _mm256_permute2x128_si256::<0x21>(low, high);
        _mm256_xor_si256(_mm256_blend_epi32::<0xf0>(low, high), swapped)
    });
    let ((a, c), (b, d)) = (unpack(a, c), unpack(b, d));
    let ((a, b), (c, d)) = (unpack(a, b), unpack(c, d));
    [a, b, c, d]
}

/// The indices t and u for every byte; see [`pi`].
#[inline]
#[target_feature(enable = "avx2")]
fn indices(x: __m256i) -> [__m256i; 2] {
    let [r, l] = split(x);
    let right = look_up(&pi::RIGHT, r);
    let ratio = reduce(_mm256_add_epi8(look_up(&pi::LEFT, l), right));
    let alone = look_up(&pi::ALONE, _mm256_xor_si256(l, right));
    let log_r = _mm256_sub_epi8(_mm256_set1_epi8(pi::LOG_R as i8), right);
    let product = _mm256_add_epi8(log_r, look_up(&pi::OFFSET, ratio));
    [_mm256_xor_si256(ratio, alone), reduce(product)]
}

/// Reduces sums modulo 15: sums below 30 to their remainder, and 30 to 15. Sums of 0x90 or more keep the top bit.
#[inline]
#[target_feature(enable = "avx2")]
fn reduce(x: __m256i) -> __m256i {
    _mm256_min_epu8(x, _mm256_sub_epi8(x, _mm256_set1_epi8(15)))
}

/// The low and the high nibbles.
#[inline]
#[target_feature(enable = "avx2")]
fn split(x: __m256i) -> [__m256i; 2] {
    let nibble = _mm256_set1_epi8(15);
    [x, _mm256_srli_epi16::<4>(x)].map(|x| _mm256_and_si256(x, nibble))
}

#[inline]
#[target_feature(enable = "avx2")]
fn look_up(table: &Table, x: __m256i) -> __m256i {
    // SAFETY: sixteen bytes fill one unaligned vector.
    let table = unsafe { _mm_loadu_si128(table.as_ptr().cast()) };
    _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), x)
}

#[inline]
#[target_feature(enable = "avx2")]
fn halves(halves: &Halves) -> __m256i {
    // SAFETY: two times sixteen bytes fill one unaligned vector.
    unsafe { _mm256_loadu_si256(halves.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn constant(known: &Known) -> Pair {
    known.each_ref().map(|known| halves(known))
}

#[inline]
#[target_feature(enable = "avx2")]
fn unpack(a: __m256i, b: __m256i) -> (__m256i, __m256i) {
    (_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b))
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor(a: Pair, b: Pair) -> Pair {
    std::array::from_fn(|i| _mm256_xor_si256(a[i], b[i]))
}

/// Only the low bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn low(x: Pair) -> Pair {
    x.map(|x| _mm256_and_si256(x, _mm256_set1_epi16(0xff)))
}

/// The low bytes, moved to the high positions.
#[inline]
#[target_feature(enable = "avx2")]
fn up(x: Pair) -> Pair {
    x.map(|x| _mm256_slli_epi16::<8>(x))
}

/// The high bytes, moved to the low positions.
#[inline]
#[target_feature(enable = "avx2")]
fn down(x: Pair) -> Pair {
    x.map(|x| _mm256_srli_epi16::<8>(x))
}

/// Applies a linear map to every byte.
#[inline]
#[target_feature(enable = "avx2")]
fn change(map: &[Table; 2], x: __m256i) -> __m256i {
    let [low, high] = split(x);
    _mm256_xor_si256(look_up(&map[0], low), look_up(&map[1], high))
}

/// A state, converted to the representation, in the low bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn load(state: &State) -> Pair {
    // SAFETY: a state fills two unaligned vectors.
    let [a, b] = [0, 4].map(|i| unsafe { _mm256_loadu_si256(state.as_ptr().add(i).cast()) });
    let (a, b) = exchange(change(&pi::INTO, a), change(&pi::INTO, b));
    let zero = _mm256_setzero_si256();
    [
        _mm256_unpacklo_epi8(a, zero),
        _mm256_unpackhi_epi8(a, zero),
        _mm256_unpacklo_epi8(b, zero),
        _mm256_unpackhi_epi8(b, zero),
    ]
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(low: Pair) -> State {
    let [a, b, c, d] = low;
    let (a, b) = exchange(_mm256_packus_epi16(a, b), _mm256_packus_epi16(c, d));
    let mut state = [0; 8];
    // SAFETY: a state fills two unaligned vectors.
    unsafe {
        _mm256_storeu_si256(state.as_mut_ptr().cast(), change(&pi::OUT, a));
        _mm256_storeu_si256(state.as_mut_ptr().add(4).cast(), change(&pi::OUT, b));
    }
    state
}

/// The low halves, then the high halves.
#[inline]
#[target_feature(enable = "avx2")]
fn exchange(a: __m256i, b: __m256i) -> (__m256i, __m256i) {
    (_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b))
}
