//! Pi as 4-bit look-ups: the decomposition by Biryukov, Perrin and Udovenko, in logarithms.
//!
//! "Reverse-Engineering the S-Box of Streebog, Kuznyechik and STRIBOBr1" (EUROCRYPT 2016) finds linear
//! maps alpha and omega and 4-bit functions such that, with (l, r) the nibbles of alpha(x) and products
//! in GF(2^4) mod x^4 + x^3 + 1,
//!
//! ```text
//! m = nu_1(l / r), or nu_0(l) if r = 0
//! Pi(x) = omega(m, sigma(r phi(m)))
//! ```
//!
//! Products become sums of logarithms modulo 15. A state byte is represented as alpha(x) throughout encryption, and
//! as the inverse of omega throughout decryption, so the tables absorb both linear maps. Look-ups return zero for
//! indices with the top bit set, and cases in which a value is zero use such indices.

use super::algebra::{inverse, mul};
use super::keys::Linear;
use crate::vector::Table;

/// The rows of alpha, starting with the row for the top bit of the result.
const ALPHA: [u8; 8] = [0x08, 0x41, 0x43, 0xef, 0x8a, 0x44, 0x1a, 0x20];
/// Rows of omega, likewise.
const OMEGA: [u8; 8] = [0x0a, 0x04, 0x20, 0x9a, 0x08, 0x44, 0x82, 0x01];
const NU_0: [u8; 16] = [2, 5, 3, 11, 6, 9, 14, 10, 0, 4, 15, 1, 8, 13, 12, 7];
const NU_1: [u8; 16] = [7, 6, 12, 9, 0, 15, 8, 1, 4, 5, 11, 14, 13, 2, 3, 10];
const PHI: [u8; 16] = [11, 2, 11, 8, 12, 4, 1, 12, 6, 3, 5, 8, 14, 3, 6, 11];
const SIGMA: [u8; 16] = [12, 13, 0, 4, 8, 11, 10, 14, 3, 9, 5, 2, 15, 1, 6, 7];

/// Powers of a generator of GF(2^4).
const POWER: [u8; 15] = powers();
/// Logarithms; zero has none.
const LOG: [u8; 16] = logarithms();

const ALPHA_MAP: [u8; 256] = tabulate(&ALPHA);
const OMEGA_MAP: [u8; 256] = tabulate(&OMEGA);
const ALPHA_INVERSE: [u8; 256] = inverse(&ALPHA_MAP);
const OMEGA_INVERSE: [u8; 256] = inverse(&OMEGA_MAP);
const IDENTITY_MAP: [u8; 256] = tabulate(&[128, 64, 32, 16, 8, 4, 2, 1]);

/// A change of representation as two nibble tables, the table for the low nibble first.
pub(super) struct Change(pub(super) [Table; 2]);

/// The representation of a state byte in encryption.
pub(super) const ENCRYPT_LINEAR: Linear = images(&ALPHA_MAP);
/// The representation of a state byte in decryption.
pub(super) const DECRYPT_LINEAR: Linear = images(&OMEGA_INVERSE);

/// Into the representation of encryption.
pub(super) static ENCRYPT_IN: Change = Change(halves(&ALPHA_MAP));
/// From the representation of encryption.
pub(super) static ENCRYPT_OUT: Change = Change(halves(&ALPHA_INVERSE));
/// The conversion into the representation for decryption; no table is needed for the conversion back.
pub(super) static DECRYPT_IN: Change = Change(halves(&OMEGA_INVERSE));

/// The factors of a step of the recurrence, in the order in which kernels use them.
pub(super) const FACTORS: [u8; 6] = [133, 16, 32, 194, 192, 251];

/// Multiplication by the factors in the representation for encryption.
pub(super) static ENCRYPT_PRODUCTS: [[Table; 2]; 6] = products(&ALPHA_MAP, &ALPHA_INVERSE);
/// Multiplication by the factors in the representation for decryption.
pub(super) static DECRYPT_PRODUCTS: [[Table; 2]; 6] = products(&OMEGA_INVERSE, &OMEGA_MAP);

/// Tables of Pi on alpha(x), to alpha(Pi(x)).
pub(super) struct Forward {
    /// log l. If l is zero, the entry makes sums saturate.
    pub(super) left: Table,
    /// -log r in 1..16. If r is zero, the entry raises sums to at least 0x90.
    pub(super) right_inverse: Table,
    /// Indexed by t = log l - log r: the part of the result that depends on m, relative to the part for l = 0.
    pub(super) left_part: Table,
    /// Indexed by t: log phi(m), relative to the value for l = 0.
    pub(super) left_log: Table,
    /// log r plus log phi(m) for l = 0. If r is zero, the sum reduces to 15.
    pub(super) right: Table,
    /// The rest of the result for l = 0, indexed by the log of r phi(m). The entry at 15 is for l = r = 0.
    pub(super) right_part: Table,
    /// Indexed by log l + 1: the part of the result that depends on m if r is zero, relative to the part for l = 0.
    pub(super) left_alone: Table,
}

/// [`Forward`] for encryption.
pub(super) static FORWARD: Forward = {
    let log_0 = LOG[PHI[NU_1[0] as usize] as usize];
    let mut f = Forward {
        left: EMPTY,
        right_inverse: EMPTY,
        left_part: EMPTY,
        left_log: EMPTY,
        right: EMPTY,
        right_part: EMPTY,
        left_alone: EMPTY,
    };
    f.left = set(f.left, 0, 0xff);
    f.right_inverse = set(f.right_inverse, 0, 0x90);
    f.right = set(f.right, 0, 30);
    let mut log = 0;
    while log < 15 {
        let x = POWER[log] as usize;
        let m = NU_1[x];
        f.left = set(f.left, x, log as u8);
        f.right_inverse = set(f.right_inverse, x, 15 - log as u8);
        f.left_part = set(f.left_part, log, forward(m ^ NU_1[0], 0));
        f.left_log = set(f.left_log, log, (LOG[PHI[m as usize] as usize] + 15 - log_0) % 15);
        f.right = set(f.right, x, (log as u8 + log_0) % 15);
        f.right_part = set(f.right_part, log, forward(NU_1[0], SIGMA[x]));
        f.left_alone = set(f.left_alone, log + 1, forward(NU_0[x] ^ NU_0[0], 0));
        log += 1;
    }
    f.right_part = set(f.right_part, 15, forward(NU_0[0], SIGMA[0]));
    f
};

/// Tables of inverse Pi for the inverse of omega (y), whose nibbles are (m, s).
pub(super) struct Backward {
    /// The log of r phi(m) plus 0x40, indexed by s; zero if r is zero.
    pub(super) right: Table,
    /// -log phi(m) minus 0x40, modulo 15 and 256.
    pub(super) left_inverse: Table,
    /// Indexed by log r: the part of the result that depends on r.
    pub(super) right_part: Table,
    /// log (l / r) if r is not zero. If l is zero, the entry makes sums saturate.
    pub(super) left: Table,
    /// Indexed by log l: the part of the result that depends on l.
    pub(super) left_part: Table,
    /// Indexed by m: the result if r is zero.
    pub(super) left_alone: Table,
}

/// [`Backward`] for all rounds except the last, with results as the inverse of omega.
pub(super) static BACKWARD: Backward = backward(&OMEGA_INVERSE);
/// [`Backward`] for the last round, with results as plain bytes.
pub(super) static BACKWARD_LAST: Backward = backward(&IDENTITY_MAP);

const EMPTY: Table = Table::new([0; 16]);

const fn backward(representation: &[u8; 256]) -> Backward {
    let mut b = Backward {
        right: EMPTY,
        left_inverse: EMPTY,
        right_part: EMPTY,
        left: EMPTY,
        left_part: EMPTY,
        left_alone: EMPTY,
    };
    let mut x = 0;
    while x < 16 {
        let (m, s) = (NU_1[x] as usize, SIGMA[x] as usize);
        b.right = set(b.right, s, if x == 0 { 0 } else { 0x40 + LOG[x] });
        b.left = set(b.left, m, if x == 0 { 0xff } else { LOG[x] });
        b.left_inverse = set(b.left_inverse, m, 0xc0 + (15 - LOG[PHI[m] as usize]) % 15);
        let alone = ALPHA_INVERSE[x << 4];
        b.left_alone = set(b.left_alone, NU_0[x] as usize, representation[alone as usize]);
        if x < 15 {
            let right = ALPHA_INVERSE[POWER[x] as usize];
            b.right_part = set(b.right_part, x, representation[right as usize]);
            let left = ALPHA_INVERSE[(POWER[x] as usize) << 4];
            b.left_part = set(b.left_part, x, representation[left as usize]);
        }
        x += 1;
    }
    b
}

/// alpha(omega(m, s)): the representation for encryption of the decomposition's final nibbles.
const fn forward(m: u8, s: u8) -> u8 {
    ALPHA_MAP[OMEGA_MAP[(m << 4 | s) as usize] as usize]
}

const fn set(mut table: Table, index: usize, value: u8) -> Table {
    table.0[0][index] = value;
    table.0[1][index] = value;
    table
}

const fn powers() -> [u8; 15] {
    let mut powers = [1; 15];
    let mut i = 1;
    while i < 15 {
        let double = powers[i - 1] << 1;
        powers[i] = if double > 15 { double ^ 0x19 } else { double };
        i += 1;
    }
    powers
}

const fn logarithms() -> [u8; 16] {
    let mut logarithms = [0; 16];
    let mut i = 0;
    while i < 15 {
        logarithms[POWER[i] as usize] = i as u8;
        i += 1;
    }
    logarithms
}

/// Applies a matrix, given by its rows, to every byte.
const fn tabulate(rows: &[u8; 8]) -> [u8; 256] {
    let mut map = [0; 256];
    let mut x = 0;
    while x < 256 {
        let mut row = 0;
        while row < 8 {
            let bit = (rows[row] & x as u8).count_ones() as u8 & 1;
            map[x] |= bit << (7 - row);
            row += 1;
        }
        x += 1;
    }
    map
}

const fn images(map: &[u8; 256]) -> Linear {
    let mut images = [0; 8];
    let mut bit = 0;
    while bit < 8 {
        images[bit] = map[1 << bit];
        bit += 1;
    }
    images
}

/// A linear map as the sum of two look-ups: one for the low and one for the high nibble.
const fn halves(map: &[u8; 256]) -> [Table; 2] {
    let mut halves = [EMPTY; 2];
    let mut nibble = 0;
    while nibble < 16 {
        halves[0] = set(halves[0], nibble, map[nibble]);
        halves[1] = set(halves[1], nibble, map[nibble << 4]);
        nibble += 1;
    }
    halves
}

const fn products(into: &[u8; 256], out: &[u8; 256]) -> [[Table; 2]; 6] {
    let mut tables = [[EMPTY; 2]; 6];
    let mut factor = 0;
    while factor < 6 {
        let mut map = [0; 256];
        let mut x = 0;
        while x < 256 {
            map[x] = into[mul(FACTORS[factor], out[x]) as usize];
            x += 1;
        }
        tables[factor] = halves(&map);
        factor += 1;
    }
    tables
}
