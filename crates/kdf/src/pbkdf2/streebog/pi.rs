//! Pi and the matrix after it as 4-bit look-ups: the decomposition by Biryukov, Perrin and Udovenko, in logarithms.
//!
//! "Reverse-Engineering the S-Box of Streebog, Kuznyechik and STRIBOBr1" (EUROCRYPT 2016) finds linear maps alpha and omega
//! and 4-bit functions such that, with (l, r) the nibbles of alpha(x) and products in GF(2^4) mod x^4 + x^3 + 1,
//!
//! ```text
//! m = nu_1(l / r), or nu_0(l) if r = 0
//! Pi(x) = omega(m, sigma(r phi(m)))
//! ```
//!
//! Products become sums of logarithms modulo 15: t is the logarithm of l / r, and u that of r phi(m). Pi(x), and thus
//! each of its products with the matrix, is a function of t plus a function of u. A state byte is represented as
//! alpha(x) throughout, so the tables of these functions absorb all linear maps. Look-ups return zero for indices with
//! the top bit set, and cases in which a value is zero use such indices.

use super::constants::{PI, image};
use crate::pbkdf2::wide::State;

/// A function of a nibble.
pub(super) type Table = [u8; 16];

/// The rows of alpha, starting with the row for the top bit of the result.
const ALPHA: [u8; 8] = [0x08, 0x41, 0x43, 0xef, 0x8a, 0x44, 0x1a, 0x20];
const NU_1: Table = [7, 6, 12, 9, 0, 15, 8, 1, 4, 5, 11, 14, 13, 2, 3, 10];
const PHI: Table = [11, 2, 11, 8, 12, 4, 1, 12, 6, 3, 5, 8, 14, 3, 6, 11];

/// Powers of a generator of GF(2^4).
const POWER: [u8; 15] = {
    let mut powers = [1; 15];
    let mut i = 1;
    while i < 15 {
        let double = powers[i - 1] << 1;
        powers[i] = if double > 15 { double ^ 0x19 } else { double };
        i += 1;
    }
    powers
};

/// Logarithms; zero has none.
const LOG: Table = {
    let mut logarithms = [0; 16];
    let mut i = 0;
    while i < 15 {
        logarithms[POWER[i] as usize] = i as u8;
        i += 1;
    }
    logarithms
};

const ALPHA_MAP: [u8; 256] = {
    let mut map = [0; 256];
    let mut x = 0;
    while x < 256 {
        let mut row = 0;
        while row < 8 {
            let bit = (ALPHA[row] & x as u8).count_ones() as u8 & 1;
            map[x] |= bit << (7 - row);
            row += 1;
        }
        x += 1;
    }
    map
};

const ALPHA_INVERSE: [u8; 256] = {
    let mut inverse = [0; 256];
    let mut x = 0;
    while x < 256 {
        inverse[ALPHA_MAP[x] as usize] = x as u8;
        x += 1;
    }
    inverse
};

/// Tables that convert a byte into the representation: the XOR of one look-up by the low nibble and one by the high
/// nibble.
pub(super) static INTO: [Table; 2] = nibbles(&ALPHA_MAP);
/// Tables that convert the representation back, in the same way.
pub(super) static OUT: [Table; 2] = nibbles(&ALPHA_INVERSE);

const fn nibbles(map: &[u8; 256]) -> [Table; 2] {
    let mut tables = [[0; 16]; 2];
    let mut nibble = 0;
    while nibble < 16 {
        tables[0][nibble] = map[nibble];
        tables[1][nibble] = map[nibble << 4];
        nibble += 1;
    }
    tables
}

/// The representation of a state.
pub(super) const fn into(state: &State) -> State {
    let mut words = [0; 8];
    let mut i = 0;
    while i < 64 {
        let byte = ALPHA_MAP[(state[i / 8] >> (8 * (i % 8))) as u8 as usize];
        words[i / 8] |= (byte as u64) << (8 * (i % 8));
        i += 1;
    }
    words
}

/// 0x80 + log l. Modulo 256, the sum with [`RIGHT`] is t + 15; it is at least 0x90 if l or r is zero.
pub(super) static LEFT: Table = {
    let mut table = [0x20; 16];
    let mut x = 1;
    while x < 16 {
        table[x] = 0x80 + LOG[x];
        x += 1;
    }
    table
};

/// [`LOG_R`] - log r, with the top bit set. If r is zero: [`LOG_R`] - 30, with the top bit clear.
pub(super) static RIGHT: Table = {
    let mut table = [RIGHT_OF_ZERO; 16];
    let mut x = 1;
    while x < 16 {
        table[x] = LOG_R - LOG[x];
        x += 1;
    }
    table
};
pub(super) const LOG_R: u8 = 0x8f;
const RIGHT_OF_ZERO: u8 = LOG_R - 30;

/// Indexed by t: log phi(m), relative to the value for l = 0.
pub(super) static OFFSET: Table = OFFSETS;
const OFFSETS: Table = {
    let log_0 = LOG[PHI[NU_1[0] as usize] as usize];
    let mut table = [0; 16];
    let mut t = 0;
    while t < 15 {
        let log = LOG[PHI[NU_1[POWER[t] as usize] as usize] as usize];
        table[t] = (log + 15 - log_0) % 15;
        t += 1;
    }
    table
};

/// Pi of the byte that two nibbles represent.
const fn pi(l: u8, r: u8) -> u8 {
    PI[ALPHA_INVERSE[(l << 4 | r) as usize] as usize]
}

/// Pi for l = 0, indexed by u = log r plus the [`OFFSET`]. The entry at 15 is Pi for l = r = 0.
const OF_U: Table = {
    let mut table = [pi(0, 0); 16];
    let mut u = 0;
    while u < 15 {
        table[u] = pi(0, POWER[u]);
        u += 1;
    }
    table
};

/// Indexed by t: the contribution of Pi to [`OF_U`].
const OF_T: Table = {
    let mut table = [0; 16];
    let mut t = 0;
    while t < 15 {
        table[t] = pi(POWER[t], 1) ^ OF_U[OFFSETS[t] as usize];
        t += 1;
    }
    table
};

/// Indexed by l and [`RIGHT`], if r is zero: the correction that turns the reduced sum into the value of t with the
/// same m.
pub(super) static ALONE: Table = {
    let mut table = [0; 16];
    let mut l = 1;
    while l < 16 {
        let mut t = 0;
        while OF_T[t] != pi(l, 0) ^ pi(0, 0) {
            t += 1;
        }
        let reduced = 0x80 + LOG[l as usize] + RIGHT_OF_ZERO - 15;
        table[((l ^ RIGHT_OF_ZERO) & 15) as usize] = reduced ^ t as u8;
        l += 1;
    }
    table
};

/// Tables or words for both halves of a register.
#[repr(align(32))]
#[derive(Clone, Copy)]
pub(super) struct Halves(pub(super) [[u8; 16]; 2]);

/// Element `[i][k]` is the contribution of words `i` and `i + 4` to byte `k` of the results, by t and by u.
pub(super) static PRODUCTS: [[[Halves; 2]; 8]; 4] = {
    let mut products = [[[Halves([[0; 16]; 2]); 2]; 8]; 4];
    let mut at = 0;
    while at < 8 * 16 {
        let (word, index) = (at / 16, at % 16);
        let of_t = image(word, OF_T[index]).to_le_bytes();
        let of_u = image(word, OF_U[index]).to_le_bytes();
        let mut k = 0;
        while k < 8 {
            let [t, u] = &mut products[word % 4][k];
            t.0[word / 4][index] = ALPHA_MAP[of_t[k] as usize];
            u.0[word / 4][index] = ALPHA_MAP[of_u[k] as usize];
            k += 1;
        }
        at += 1;
    }
    products
};
