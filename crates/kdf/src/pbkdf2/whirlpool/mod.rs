//! Whirlpool in its final version (Barreto, Rijmen: "The Whirlpool hashing function", 2003; ISO/IEC 10118-3).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod gfni;

use std::hint::black_box;

#[cfg(target_arch = "x86_64")]
use super::Kernel;
use super::wide::{State, Wide};

/// Whirlpool as a PRF's hash.
pub(crate) enum Whirlpool {}

/// The mini-boxes E and R, of which the substitution is composed.
const E: [u8; 16] = [1, 11, 9, 12, 13, 6, 15, 3, 14, 8, 7, 4, 10, 2, 5, 0];
const R: [u8; 16] = [7, 12, 11, 13, 14, 4, 9, 15, 6, 3, 8, 10, 2, 5, 1, 0];

/// The first row of the circulant diffusion matrix.
const ROW: [u8; 8] = [1, 1, 4, 1, 8, 5, 2, 9];

/// The inverse of E.
const INVERSE: [u8; 16] = {
    let mut inverse = [0; 16];
    let mut i = 0;
    while i < 16 {
        inverse[E[i] as usize] = i as u8;
        i += 1;
    }
    inverse
};

const BOX: [u8; 256] = {
    let mut table = [0; 256];
    let mut x = 0;
    while x < 256 {
        let high = E[x >> 4];
        let low = INVERSE[x & 15];
        let mixed = R[(high ^ low) as usize];
        table[x] = E[(high ^ mixed) as usize] << 4 | INVERSE[(low ^ mixed) as usize];
        x += 1;
    }
    table
};

/// `x * y` in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1.
const fn multiply(mut x: u8, mut y: u8) -> u8 {
    let mut product = 0;
    while y != 0 {
        if y & 1 != 0 {
            product ^= x;
        }
        x = x << 1 ^ if x & 0x80 != 0 { 0x1d } else { 0 };
        y >>= 1;
    }
    product
}

/// Substitution and diffusion of a byte, for each column of its row.
static TABLES: [[u64; 256]; 8] = {
    let mut tables = [[0; 256]; 8];
    let mut x = 0;
    while x < 256 {
        let mut row = [0; 8];
        let mut i = 0;
        while i < 8 {
            row[i] = multiply(BOX[x], ROW[i]);
            i += 1;
        }
        let row = u64::from_le_bytes(row);
        let mut column = 0;
        while column < 8 {
            tables[column][x] = row.rotate_left(8 * column as u32);
            column += 1;
        }
        x += 1;
    }
    tables
};

/// The first rows of the round constants; the other rows are zero.
const ROUNDS: [u64; 10] = {
    let mut rounds = [0; 10];
    let mut round = 0;
    while round < 10 {
        let mut bytes = [0; 8];
        let mut i = 0;
        while i < 8 {
            bytes[i] = BOX[8 * round + i];
            i += 1;
        }
        rounds[round] = u64::from_le_bytes(bytes);
        round += 1;
    }
    rounds
};

/// The block after HMAC's key block and a digest: padding, and a length of 1024 bits, big-endian.
const PADDING: State = [0x80, 0, 0, 0, 0, 0, 0, 1024u64.to_be()];

impl Wide for Whirlpool {
    type Digest = whirlpool::Whirlpool;
    type Mid = State;
    const COST: u32 = 1343;

    fn absorb(block: &State) -> State {
        compress(&[0; 8], block)
    }

    fn finish(mid: &State, digest: &State) -> State {
        compress(&compress(mid, digest), &PADDING)
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

fn compress(state: &State, message: &State) -> State {
    let mut key = *state;
    let mut block: State = std::array::from_fn(|i| state[i] ^ message[i]);
    for constant in ROUNDS {
        key = round(&key);
        key[0] ^= constant;
        let mixed = round(&block);
        block = std::array::from_fn(|i| mixed[i] ^ key[i]);
    }
    std::array::from_fn(|i| state[i] ^ message[i] ^ block[i])
}

/// Substitution, cyclic shift of column `j` by `j` rows, and diffusion of the rows.
#[inline(always)]
fn round(state: &State) -> State {
    let bytes = in_memory(state);
    std::array::from_fn(|row| {
        let mut mixed = 0;
        for column in 0..8 {
            mixed ^= TABLES[column][usize::from(bytes[(row + 8 - column) % 8][column])];
        }
        mixed
    })
}

/// The bytes of each word, forced into memory. Loading a byte is cheaper than shifting it out of a register, as the
/// compiler would otherwise do, and saves 20 % of the time.
#[inline(always)]
fn in_memory(state: &State) -> [[u8; 8]; 8] {
    black_box(state.map(u64::to_le_bytes))
}
