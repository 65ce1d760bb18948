//! Camellia's functions (RFC 3713, 2.4) for 64-bit words, in constant time and fast enough for key set-up.
//!
//! Each S-box is an inversion between two affine maps, as in AES. The vector kernels rely on this, so this module
//! defines the S-boxes in the same way, in the field of AES: `s1(x) = OUTPUT(1 / INPUT(x + c5)) + 6e`. The two maps
//! are h and f of the cipher's specification (Aoki et al., "Camellia: A 128-Bit Block Cipher Suitable for Multiple
//! Platforms", 2000, section 5.4), combined with the isomorphism between its tower field and the field of AES.

use super::linear::Linear;

/// The map from a byte to the inversion's input, without [`INPUT_CONSTANT`].
pub(super) const INPUT: Linear = Linear([0xb8, 0x03, 0xd9, 0x17, 0x0d, 0x59, 0x84, 0xee]);

/// Added before [`INPUT`].
pub(super) const INPUT_CONSTANT: u8 = 0xc5;

/// The map from the inverse to the result, without [`OUTPUT_CONSTANT`].
pub(super) const OUTPUT: Linear = Linear([0x14, 0x46, 0xfc, 0x7e, 0x66, 0x22, 0x25, 0x3b]);

/// Added after [`OUTPUT`].
pub(super) const OUTPUT_CONSTANT: u8 = 0x6e;

/// The map that follows s1 in the S-box of each byte, starting with the most significant byte.
pub(super) const TURNS: [Linear; 8] = [
    Linear::IDENTITY,
    Linear::ROTATE_LEFT,
    Linear::ROTATE_RIGHT,
    Linear::IDENTITY,
    Linear::ROTATE_LEFT,
    Linear::ROTATE_RIGHT,
    Linear::IDENTITY,
    Linear::IDENTITY,
];

/// Whether a byte's S-box is s4(x) = s1(x <<< 1).
pub(super) const TURNED_INPUT: [bool; 8] = [false, false, false, true, false, false, true, false];

/// The value 1 in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Products in the field of AES, for each byte.
const fn multiply(mut a: u64, b: u64) -> u64 {
    let mut product = 0;
    let mut bit = 0;
    while bit < 8 {
        product ^= a & ((b >> bit & ONES) * 0xff);
        a = ((a & (ONES * 0x7f)) << 1) ^ ((a >> 7 & ONES) * 0x1b);
        bit += 1;
    }
    product
}

/// s1 applied to each byte.
pub(super) const fn s1(x: u64) -> u64 {
    let x = INPUT.of_each(x ^ (ONES * INPUT_CONSTANT as u64));
    // 1 / x = x^254 = x^2 x^4 ... x^128.
    let mut square = multiply(x, x);
    let mut inverse = square;
    let mut i = 0;
    while i < 6 {
        square = multiply(square, square);
        inverse = multiply(inverse, square);
        i += 1;
    }
    OUTPUT.of_each(inverse) ^ (ONES * OUTPUT_CONSTANT as u64)
}

/// S: applies each byte's S-box.
fn substitute(x: u64) -> u64 {
    let turned = mask(TURNED_INPUT);
    let y = s1(x & !turned | Linear::ROTATE_LEFT.of_each(x) & turned);
    each_byte(y, TURNS)
}

/// Sets all bits of the bytes for which `bytes` is true.
fn mask(bytes: [bool; 8]) -> u64 {
    u64::from_be_bytes(bytes.map(|byte| if byte { 0xff } else { 0 }))
}

/// Applies each byte's own map.
pub(super) fn each_byte(x: u64, maps: [Linear; 8]) -> u64 {
    let bytes = x.to_be_bytes();
    u64::from_be_bytes(std::array::from_fn(|i| maps[i].of(bytes[i])))
}

/// P: sums of bytes.
pub(super) const fn diffuse(z: u64) -> u64 {
    let mut z = z.to_be_bytes();
    let mut i = 0;
    while i < 16 {
        let (to, from) = STEPS[i];
        z[to] ^= z[from];
        i += 1;
    }
    u64::from_be_bytes(z).rotate_left(32)
}

/// The inverse of [`diffuse`].
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn undiffuse(z: u64) -> u64 {
    let mut z = z.rotate_left(32).to_be_bytes();
    for (to, from) in STEPS.into_iter().rev() {
        z[to] ^= z[from];
    }
    u64::from_be_bytes(z)
}

/// P as 16 additions of one byte to another; afterwards the halves are swapped.
const STEPS: [(usize, usize); 16] = [
    (0, 5),
    (1, 6),
    (2, 7),
    (3, 4),
    (4, 2),
    (5, 3),
    (6, 0),
    (7, 1),
    (0, 7),
    (1, 4),
    (2, 5),
    (3, 6),
    (4, 3),
    (5, 0),
    (6, 1),
    (7, 2),
];

/// F, applied to a half and a round key.
pub(super) fn f(x: u64, key: u64) -> u64 {
    diffuse(substitute(x ^ key))
}

/// FL, applied to a half and its key.
pub(super) fn fl(x: u64, key: u64) -> u64 {
    let (mut left, mut right) = ((x >> 32) as u32, x as u32);
    let (key_left, key_right) = ((key >> 32) as u32, key as u32);
    right ^= (left & key_left).rotate_left(1);
    left ^= right | key_right;
    u64::from(left) << 32 | u64::from(right)
}

/// The inverse of [`fl`].
pub(super) fn fl_inverse(x: u64, key: u64) -> u64 {
    let (mut left, mut right) = ((x >> 32) as u32, x as u32);
    let (key_left, key_right) = ((key >> 32) as u32, key as u32);
    left ^= right | key_right;
    right ^= (left & key_left).rotate_left(1);
    u64::from(left) << 32 | u64::from(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_s_box_begins_and_ends_as_published() {
        // RFC 3713, 2.4.3: first and last row of SBOX1.
        let first = [112, 130, 44, 236, 179, 39, 192, 229, 228, 133, 87, 53, 234, 12, 174, 65];
        let last = [64, 40, 211, 123, 187, 201, 67, 193, 21, 227, 173, 244, 119, 199, 128, 158];
        for i in 0..16 {
            assert_eq!(s1(i), first[i as usize] | s1(0) & !0xff);
            assert_eq!(s1(240 + i) & 0xff, last[i as usize]);
        }
    }

    #[test]
    fn p_has_the_published_rows() {
        // RFC 3713, 2.4.1: the bytes that make up each result, from 1.
        let rows: [&[u32]; 8] = [
            &[1, 3, 4, 6, 7, 8],
            &[1, 2, 4, 5, 7, 8],
            &[1, 2, 3, 5, 6, 8],
            &[2, 3, 4, 5, 6, 7],
            &[1, 2, 6, 7, 8],
            &[2, 3, 5, 7, 8],
            &[3, 4, 5, 6, 8],
            &[1, 4, 5, 6, 7],
        ];
        for byte in 1..=8 {
            let out = diffuse(1 << (64 - 8 * byte)).to_be_bytes();
            assert_eq!(out.map(|b| b == 1), rows.map(|row| row.contains(&byte)));
        }
    }

    #[test]
    fn inverses_undo() {
        let (mut x, mut key) = (0x0123_4567_89ab_cdef_u64, 0xfedc_ba98_7654_3210_u64);
        for _ in 0..100 {
            x = f(x, key);
            key = key.rotate_left(3) ^ x;
            assert_eq!(fl_inverse(fl(x, key), key), x);
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            assert_eq!(undiffuse(diffuse(x)), x);
        }
    }
}
