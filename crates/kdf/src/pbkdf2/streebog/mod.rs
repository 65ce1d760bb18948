//! Streebog-512 (GOST R 34.11-2012, RFC 6986).

#[cfg(target_arch = "x86_64")]
mod avx2;
mod constants;
#[cfg(target_arch = "x86_64")]
mod gfni;
#[cfg(target_arch = "x86_64")]
mod pi;

use zeroize::Zeroize;

#[cfg(target_arch = "x86_64")]
use super::Kernel;
use super::wide::{State, Wide};
use constants::{PI, ROUNDS, image};

/// Streebog-512 as a PRF's hash.
pub(crate) enum Streebog {}

/// The state after one absorbed block.
#[derive(Clone, Copy, Zeroize)]
pub(crate) struct Mid {
    /// The chaining value.
    h: State,
    /// Round keys for the next block; they are the same in every iteration.
    keys: [State; SCHEDULE],
    /// The sum of the message blocks, modulo 2^512.
    sigma: State,
}

/// Keys of a compression.
const SCHEDULE: usize = ROUNDS.len() + 1;

/// Substitution and linear transformation of a byte at each position in its word.
static TABLES: [[u64; 256]; 8] = {
    let mut tables = [[0; 256]; 8];
    let mut place = 0;
    while place < 8 {
        let mut x = 0;
        while x < 256 {
            tables[place][x] = image(place, PI[x]);
            x += 1;
        }
        place += 1;
    }
    tables
};

/// Number of bits hashed after HMAC's key block, and after the digest as well, as 512-bit numbers.
const LENGTHS: [State; 2] = [[512, 0, 0, 0, 0, 0, 0, 0], [1024, 0, 0, 0, 0, 0, 0, 0]];
/// The padding of an empty last block.
const PADDING: State = [1, 0, 0, 0, 0, 0, 0, 0];
const ZERO: State = [0; 8];

impl Wide for Streebog {
    type Digest = streebog::Streebog512;
    type Mid = Mid;
    const COST: u32 = 3020;

    fn absorb(block: &State) -> Mid {
        let h = compress(&ZERO, &ZERO, block);
        Mid { h, keys: schedule(&h, &LENGTHS[0]), sigma: *block }
    }

    fn finish(mid: &Mid, digest: &State) -> State {
        let mut h = first(mid, digest);
        h = compress(&h, &LENGTHS[1], &PADDING);
        h = compress(&h, &ZERO, &LENGTHS[1]);
        compress(&h, &ZERO, &sigma(mid, digest))
    }

    #[cfg(target_arch = "x86_64")]
    fn gfni() -> Vec<Kernel<Self>> {
        gfni::kernels()
    }

    #[cfg(target_arch = "x86_64")]
    fn avx2() -> Kernel<Self> {
        avx2::kernel()
    }
}

/// The sum of all blocks: the absorbed block, the digest, and the padding.
#[inline(always)]
fn sigma(mid: &Mid, digest: &State) -> State {
    let mut sum = [0; 8];
    let (mut carry, mut padding) = (0, 1);
    for i in 0..8 {
        let word = u128::from(mid.sigma[i]) + u128::from(digest[i]) + carry + padding;
        padding = 0;
        sum[i] = word as u64;
        carry = word >> 64;
    }
    sum
}

/// The keys of g_N(h, m).
fn schedule(h: &State, n: &State) -> [State; SCHEDULE] {
    let mut keys = [lps(&xor(h, n), &ZERO); SCHEDULE];
    for (i, constant) in ROUNDS.iter().enumerate() {
        keys[i + 1] = lps(&xor(&keys[i], constant), &ZERO);
    }
    keys
}

/// The compression after a midstate.
fn first(mid: &Mid, m: &State) -> State {
    let [whitening, keys @ ..] = &mid.keys;
    let block = keys.iter().fold(xor(m, whitening), |block, key| lps(&block, key));
    xor(&xor(&mid.h, m), &block)
}

/// The compression function g_N(h, m).
fn compress(h: &State, n: &State, m: &State) -> State {
    let mut key = lps(&xor(h, n), &ZERO);
    let mut block = xor(m, &key);
    for constant in &ROUNDS {
        key = lps(&xor(&key, constant), &ZERO);
        block = lps(&block, &key);
    }
    xor(&xor(h, m), &block)
}

fn xor(a: &State, b: &State) -> State {
    std::array::from_fn(|i| a[i] ^ b[i])
}

/// S, P and L, then X with the next key, which is the initial value of the sums: word `i` of the result is derived
/// from byte `i` of every word. Each sum is a separate variable, so that it stays in a register.
#[inline(always)]
fn lps(x: &State, key: &State) -> State {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *key;
    for (table, &word) in TABLES.iter().zip(x) {
        a ^= table[usize::from(word as u8)];
        b ^= table[usize::from((word >> 8) as u8)];
        c ^= table[usize::from((word >> 16) as u8)];
        d ^= table[usize::from((word >> 24) as u8)];
        e ^= table[usize::from((word >> 32) as u8)];
        f ^= table[usize::from((word >> 40) as u8)];
        g ^= table[usize::from((word >> 48) as u8)];
        h ^= table[usize::from((word >> 56) as u8)];
    }
    [a, b, c, d, e, f, g, h]
}
