//! The common parts of Anubis and Khazad (Barreto and Rijmen, NESSIE, 2001): the S-box, and products in GF(2^8).

/// The two 4-bit tables from which the S-box is built, according to the tweaked versions of both papers.
const P: [u8; 16] = [3, 15, 14, 0, 5, 4, 11, 12, 13, 10, 9, 6, 7, 8, 2, 1];
const Q: [u8; 16] = [9, 14, 5, 6, 10, 2, 3, 12, 15, 0, 4, 13, 7, 11, 1, 8];

/// The S-box, its own inverse.
pub(super) static SBOX: [u8; 256] = sbox();

const fn sbox() -> [u8; 256] {
    let mut made = [0; 256];
    let mut x = 0;
    while x < 256 {
        let (high, low) = exchanged(P[x >> 4], Q[x & 15]);
        let (high, low) = exchanged(Q[high], P[low]);
        made[x] = P[high] << 4 | Q[low];
        x += 1;
    }
    made
}

/// Swaps the low half of the first nibble with the high half of the second nibble.
const fn exchanged(high: u8, low: u8) -> (usize, usize) {
    ((high & 12 | low >> 2) as usize, ((high & 3) << 2 | low & 3) as usize)
}

/// `a * b` modulo x^8 + x^4 + x^3 + x^2 + 1.
pub(super) const fn product(a: u8, b: u8) -> u8 {
    let (mut a, mut b, mut sum) = (a as u16, b, 0);
    while b != 0 {
        if b & 1 == 1 {
            sum ^= a;
        }
        a <<= 1;
        if a > 0xff {
            a ^= 0x11d;
        }
        b >>= 1;
    }
    sum as u8
}
