//! Poly1305 without its mask (Bernstein, 2005): a polynomial over 16-byte blocks, modulo 2^130 - 5.
//!
//! A tweak is hashed as at most three blocks, and each KiB of data as two blocks. A crate that computes powers of the
//! key for every message would spend more time on the powers than on the message.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// The point at which polynomials are evaluated.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
pub(super) struct Poly1305 {
    /// The number r, with the less significant half first. The two lowest bits of the upper half are zero.
    r: [u64; 2],
    /// 5/4 of the upper half: the product of the upper half and 2^128, modulo 2^130 - 5.
    folded: u64,
}

impl Poly1305 {
    /// Sets the point to a 16-byte number, of which 22 bits are ignored.
    pub(super) fn set(&mut self, bytes: &[u8]) {
        let (halves, _) = bytes.as_chunks::<8>();
        let [low, high] = [0, 1].map(|i| u64::from_le_bytes(halves[i]));
        self.r = [low & 0x0fff_fffc_0fff_ffff, high & 0x0fff_fffc_0fff_fffc];
        self.folded = self.r[1] + (self.r[1] >> 2);
    }
}

/// The polynomial so far: less than 2^131, least significant word first.
#[derive(Default)]
pub(super) struct Sum([u64; 3]);

impl Sum {
    /// Processes a 16-byte block, given as two 64-bit numbers.
    #[inline]
    pub(super) fn block(&mut self, key: &Poly1305, low: u64, high: u64) {
        self.number(key, low, high, 1);
    }

    /// Processes any number of bytes; the last block may be shorter.
    pub(super) fn bytes(&mut self, key: &Poly1305, bytes: &[u8]) {
        for part in bytes.chunks(16) {
            let mut block = [0; 17];
            block[..part.len()].copy_from_slice(part);
            block[part.len()] = 1;
            let (words, top) = block.as_chunks::<8>();
            let [low, high] = [0, 1].map(|i| u64::from_le_bytes(words[i]));
            self.number(key, low, high, u64::from(top[0]));
        }
    }

    /// Adds a number and multiplies by r.
    #[inline]
    fn number(&mut self, key: &Poly1305, low: u64, high: u64, top: u64) {
        let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let [r0, r1] = key.r;
        let (h0, carry) = self.0[0].overflowing_add(low);
        let h1 = u128::from(self.0[1]) + u128::from(high) + u128::from(carry);
        let h2 = self.0[2] + top + (h1 >> 64) as u64;
        let h1 = h1 as u64;
        // Products of the upper halves are multiples of 2^130, because r1 is a multiple of 4. The sums cannot
        // overflow, because r has 124 bits and h2 at most 3.
        let d0 = wide(h0, r0) + wide(h1, key.folded);
        let d1 = wide(h0, r1) + wide(h1, r0) + wide(h2, key.folded) + (d0 >> 64);
        let d2 = h2 * r0 + (d1 >> 64) as u64;
        // The part above 2^130 is multiplied by 5.
        let above = (d2 >> 2) + (d2 & !3);
        let low = u128::from(d0 as u64) + u128::from(above);
        let middle = u128::from(d1 as u64) + (low >> 64);
        self.0 = [low as u64, middle as u64, (d2 & 3) + (middle >> 64) as u64];
    }

    /// The lower 128 bits of the value reduced modulo 2^130 - 5.
    pub(super) fn finish(self) -> u128 {
        let [h0, h1, h2] = self.0;
        let sum = u128::from(h1) << 64 | u128::from(h0);
        // The value is less than twice the modulus. Adding 5 carries into bit 130 exactly if the value is not less
        // than the modulus.
        let (reduced, carry) = sum.overflowing_add(5);
        let over = (h2 + u64::from(carry)) >> 2;
        let mask = u128::from(over & 1).wrapping_neg();
        sum ^ (mask & (sum ^ reduced))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::hex;

    /// RFC 8439, 2.5.2: the result before the mask `s` is added.
    #[test]
    fn rfc_8439() {
        let mut key = Poly1305::default();
        key.set(&hex("85d6be7857556d337f4452fe42d506a8"));
        let mut sum = Sum::default();
        sum.bytes(&key, b"Cryptographic Forum Research Group");
        let s =
            u128::from_le_bytes(*hex("0103808afb0db2fd4abff6af4149f51b").first_chunk().unwrap());
        let tag = sum.finish().wrapping_add(s);
        assert_eq!(tag.to_le_bytes().to_vec(), hex("a8061dc1305136c6c22b8baf0c0127a9"));
    }

    /// RFC 8439, appendix A.3, vectors 7 to 11: values at and above the modulus.
    #[test]
    fn values_around_the_modulus() {
        let ff = "ff".repeat(16);
        for (r, message, expected) in [
            ("02000000000000000000000000000000", ff.clone(), "03000000000000000000000000000000"),
            (
                "01000000000000000000000000000000",
                format!("{ff}f0ffffffffffffffffffffffffffffff11000000000000000000000000000000"),
                "05000000000000000000000000000000",
            ),
            (
                "01000000000000000000000000000000",
                format!("{ff}fbfefefefefefefefefefefefefefefe01010101010101010101010101010101"),
                "00000000000000000000000000000000",
            ),
            (
                "02000000000000000000000000000000",
                "fdffffffffffffffffffffffffffffff".to_owned(),
                "faffffffffffffffffffffffffffffff",
            ),
        ] {
            let mut key = Poly1305::default();
            key.set(&hex(r));
            let mut sum = Sum::default();
            sum.bytes(&key, &hex(&message));
            assert_eq!(sum.finish().to_le_bytes().to_vec(), hex(expected), "{message}");
        }
    }
}
