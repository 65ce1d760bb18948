//! The substitution and the linear recurrence of GOST R 34.12-2015 (RFC 7801, 4.1 and 4.2).

use crate::kernel::{BLOCK, Block};

/// The substitution Pi (RFC 7801, 4.1.1).
#[rustfmt::skip]
pub(super) const PI: [u8; 256] = [
    252, 238, 221,  17, 207, 110,  49,  22, 251, 196, 250, 218,  35, 197,   4,  77,
    233, 119, 240, 219, 147,  46, 153, 186,  23,  54, 241, 187,  20, 205,  95, 193,
    249,  24, 101,  90, 226,  92, 239,  33, 129,  28,  60,  66, 139,   1, 142,  79,
      5, 132,   2, 174, 227, 106, 143, 160,   6,  11, 237, 152, 127, 212, 211,  31,
    235,  52,  44,  81, 234, 200,  72, 171, 242,  42, 104, 162, 253,  58, 206, 204,
    181, 112,  14,  86,   8,  12, 118,  18, 191, 114,  19,  71, 156, 183,  93, 135,
     21, 161, 150,  41,  16, 123, 154, 199, 243, 145, 120, 111, 157, 158, 178, 177,
     50, 117,  25,  61, 255,  53, 138, 126, 109,  84, 198, 128, 195, 189,  13,  87,
    223, 245,  36, 169,  62, 168,  67, 201, 215, 121, 214, 246, 124,  34, 185,   3,
    224,  15, 236, 222, 122, 148, 176, 188, 220, 232,  40,  80,  78,  51,  10,  74,
    167, 151,  96, 115,  30,   0,  98,  68,  26, 184,  56, 130, 100, 159,  38,  65,
    173,  69,  70, 146,  39,  94,  85,  47, 140, 163, 165, 125, 105, 213, 149,  59,
      7,  88, 179,  64, 134, 172,  29, 247,  48,  55, 107, 228, 136, 217, 231, 137,
    225,  27, 131,  73,  76,  63, 248, 254, 141,  83, 170, 144, 202, 216, 133,  97,
     32, 113, 103, 164,  45,  43,   9,  91, 203, 155,  37, 208, 190, 229, 108,  82,
     89, 166, 116, 210, 230, 244, 180, 192, 209, 102, 175, 194,  57,  75,  99, 182,
];

/// The inverse of [`PI`].
pub(super) const PI_INVERSE: [u8; 256] = inverse(&PI);

/// Coefficients of the recurrence `s[n + 16] = sum of TAPS[i] s[n + i]`: the coefficients of the function l (RFC 7801,
/// 4.1.2), from a_0 to a_15. Except for the first, they form a palindrome, so the recurrence also works backwards.
pub(super) const TAPS: [u8; BLOCK] =
    [1, 148, 32, 133, 16, 194, 192, 1, 251, 1, 192, 194, 16, 133, 32, 148];

/// The inverse of a permutation of bytes.
pub(super) const fn inverse(map: &[u8; 256]) -> [u8; 256] {
    let mut inverse = [0; 256];
    let mut x = 0;
    while x < 256 {
        inverse[map[x] as usize] = x as u8;
        x += 1;
    }
    inverse
}

/// The product in GF(2^8) mod x^8 + x^7 + x^6 + x + 1, without branches on the factors.
pub(super) const fn mul(a: u8, b: u8) -> u8 {
    let (mut a, mut product, mut bit) = (a, 0, 0);
    while bit < 8 {
        product ^= a & (b >> bit & 1).wrapping_neg();
        a = (a << 1) ^ (0xc3 & (a >> 7).wrapping_neg());
        bit += 1;
    }
    product
}

/// The linear transformation L (RFC 7801, 4.2).
pub(super) fn l(block: &Block) -> Block {
    // a_0, the first element of the sequence, is the last byte of the block.
    let mut reversed = *block;
    reversed.reverse();
    let mut result = recurrence(&reversed);
    result.reverse();
    result
}

/// The inverse of [`l`]: the same recurrence, started at the other end.
pub(super) fn l_inverse(block: &Block) -> Block {
    recurrence(block)
}

/// The sixteen elements of the sequence that follow `first`.
fn recurrence(first: &Block) -> Block {
    let mut sequence = [0; 2 * BLOCK];
    sequence[..BLOCK].copy_from_slice(first);
    for n in 0..BLOCK {
        for (i, tap) in TAPS.into_iter().enumerate() {
            sequence[BLOCK + n] ^= mul(tap, sequence[n + i]);
        }
    }
    std::array::from_fn(|n| sequence[BLOCK + n])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7801, 5.3: each line is L of the one before.
    #[test]
    fn l_is_that_of_rfc_7801() {
        let chain: [u128; 5] = [
            0x64a59400_00000000_00000000_00000000,
            0xd456584d_d0e3e84c_c3166e4b_7fa2890d,
            0x79d26221_b87b584c_d42fbc4f_fea5de9a,
            0x0e93691a_0cfc6040_8b7b68f6_6b513c13,
            0xe6a8094f_ee0aa204_fd97bcb0_b44b8580,
        ];
        for pair in chain.windows(2) {
            let (from, to) = (pair[0].to_be_bytes(), pair[1].to_be_bytes());
            assert_eq!(l(&from), to);
            assert_eq!(l_inverse(&to), from);
        }
    }

    #[test]
    fn pi_is_a_permutation() {
        for x in 0..=255u8 {
            assert_eq!(PI_INVERSE[usize::from(PI[usize::from(x)])], x);
        }
    }
}
