//! Twofish as defined in its paper: the permutations q, the matrices MDS and RS, the function h.
//!
//! Schneier, Kelsey, Whiting, Wagner, Hall, Ferguson, "Twofish: A 128-Bit Block Cipher", 1998, section 4. This module
//! does not use tables in memory, so key set-up takes the same time for all keys.

use zeroize::{Zeroize, Zeroizing};

/// The nibble permutations t0 .. t3 of q0 and q1 (4.3.5), entry n in bits `4 n`.
const NIBBLES: [[u64; 4]; 2] = [
    [0x4ACE_95B0_23F6_D718, 0xD907_6A4F_5321_8BCE, 0x1742_3F8C_09D6_E5AB, 0xAC58_03B9_E621_4F7D],
    [0x5CA0_4913_E67F_DB82, 0x809F_5AD6_73C4_B2E1, 0xF3B2_8DE0_A961_57C4, 0xA802_F746_ED3C_159B],
];

/// The modulus v(x) of the MDS matrix (4.3.1) without x^8.
const MDS_MODULUS: u8 = 0x69;

/// The modulus w(x) of the RS matrix (4.3) without x^8.
const RS_MODULUS: u8 = 0x4D;

/// The MDS matrix, row by row.
pub(super) const MDS: [[u8; 4]; 4] = [
    [0x01, 0xEF, 0x5B, 0x5B],
    [0x5B, 0xEF, 0xEF, 0x01],
    [0xEF, 0x5B, 0x01, 0xEF],
    [0xEF, 0x01, 0xEF, 0x5B],
];

/// The RS matrix, row by row.
const RS: [[u8; 8]; 4] = [
    [0x01, 0xA4, 0x55, 0x87, 0x5A, 0x58, 0xDB, 0x9E],
    [0xA4, 0x56, 0x82, 0xF3, 0x1E, 0xC6, 0x68, 0xE5],
    [0x02, 0xA1, 0xFC, 0xC1, 0x47, 0xAE, 0x3D, 0x19],
    [0xA4, 0x55, 0x87, 0x5A, 0x58, 0xDB, 0x9E, 0x03],
];

/// The q permutations that h applies to each byte, in order, if there are four key words (4.3.2, figure 2). With
/// fewer key words, h starts later in the chain.
const CHAIN: [[usize; 5]; 4] = [[1, 1, 0, 0, 1], [0, 1, 1, 0, 0], [0, 0, 0, 1, 1], [1, 0, 1, 1, 0]];

/// A list of two to four key words for h, as bytes; h uses the last word first.
#[derive(Clone, Copy, Default, Zeroize)]
pub(super) struct KeyWords {
    words: [[u8; 4]; 4],
    count: usize,
}

/// The fixed permutation q0 or q1, applied to a byte (4.3.5).
const fn q(which: usize, x: u8) -> u8 {
    let t = &NIBBLES[which];
    let (mut a, mut b) = (x >> 4, x & 15);
    let mut pair = 0;
    while pair < 4 {
        let sum = a ^ b;
        let mixed = (a ^ (b >> 1) ^ (b << 3) ^ (a << 3)) & 15;
        a = ((t[pair] >> (4 * sum)) & 15) as u8;
        b = ((t[pair + 1] >> (4 * mixed)) & 15) as u8;
        pair += 2;
    }
    (b << 4) | a
}

/// `a * b` in GF(2^8) modulo x^8 + `modulus`.
const fn multiply(mut a: u8, b: u8, modulus: u8) -> u8 {
    let mut product = 0;
    let mut bit = 0;
    while bit < 8 {
        product ^= a * ((b >> bit) & 1);
        a = (a << 1) ^ (modulus * (a >> 7));
        bit += 1;
    }
    product
}

/// `a * b` in the field of the MDS matrix.
pub(super) const fn multiply_mds(a: u8, b: u8) -> u8 {
    multiply(a, b, MDS_MODULUS)
}

/// Byte `lane` of the input of the MDS matrix in h: the chain of q permutations with the key words.
pub(super) fn substitute(lane: usize, x: u8, words: &KeyWords) -> u8 {
    let chain = &CHAIN[lane];
    let keyed = (0..words.count).rev().fold(x, |y, i| q(chain[3 - i], y) ^ words.words[i][lane]);
    q(chain[4], keyed)
}

/// Column `lane` of the MDS matrix times `y`, as a little-endian word.
pub(super) fn mds_column(lane: usize, y: u8) -> u32 {
    u32::from_le_bytes(MDS.map(|row| multiply_mds(row[lane], y)))
}

/// h, applied to the word whose bytes are all `x`.
fn h(x: u8, words: &KeyWords) -> u32 {
    (0..4).fold(0, |sum, lane| sum ^ mds_column(lane, substitute(lane, x, words)))
}

/// The 40 expanded key words K (4.3.3) for a 16-, 24- or 32-byte key.
pub(super) fn round_keys(key: &[u8]) -> [u32; 40] {
    let even = Zeroizing::new(from_words(key, |i| word(key, 2 * i)));
    let odd = Zeroizing::new(from_words(key, |i| word(key, 2 * i + 1)));
    let mut keys = [0; 40];
    for (i, [first, second]) in keys.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let a = h(2 * i as u8, &even);
        let b = h(2 * i as u8 + 1, &odd).rotate_left(8);
        *first = a.wrapping_add(b);
        *second = first.wrapping_add(b).rotate_left(9);
    }
    keys
}

/// The key words S of g (4.3, 4.3.4) for a 16-, 24- or 32-byte key, in the order in which h uses them.
pub(super) fn sbox_words(key: &[u8]) -> KeyWords {
    let last = key.len() / 8 - 1;
    from_words(key, |i| {
        let eight = &key[8 * (last - i)..][..8];
        let product = |m: &[u8; 8]| {
            let terms = m.iter().zip(eight).map(|(&m, &key)| multiply(key, m, RS_MODULUS));
            terms.fold(0, |sum, term| sum ^ term)
        };
        [product(&RS[0]), product(&RS[1]), product(&RS[2]), product(&RS[3])]
    })
}

/// Builds one word for each pair of key words.
fn from_words(key: &[u8], word: impl Fn(usize) -> [u8; 4]) -> KeyWords {
    assert!(matches!(key.len(), 16 | 24 | 32), "Twofish key length");
    let count = key.len() / 8;
    KeyWords { words: std::array::from_fn(|i| if i < count { word(i) } else { [0; 4] }), count }
}

fn word(key: &[u8], index: usize) -> [u8; 4] {
    std::array::from_fn(|byte| key[4 * index + byte])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_is_the_paper_s_permutation() {
        // The first entries of the q0 and q1 tables in the submission's code.
        let first = |which| [0, 1, 2, 3, 4, 5, 6, 7].map(|x| q(which, x));
        assert_eq!(first(0), [0xA9, 0x67, 0xB3, 0xE8, 0x04, 0xFD, 0xA3, 0x76]);
        assert_eq!(first(1), [0x75, 0xF3, 0xC6, 0xF4, 0xDB, 0x7B, 0xFB, 0xC8]);
        for which in 0..2 {
            let mut seen = [false; 256];
            (0..=255).for_each(|x| seen[usize::from(q(which, x))] = true);
            assert!(seen.iter().all(|&hit| hit));
        }
    }
}
