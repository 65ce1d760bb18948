//! AES-CCM (NIST SP 800-38C) for a few short secrets, with the 12-byte nonce and 16-byte tag of BitLocker's
//! metadata, and no associated data.

use crate::algorithm::aes;
use crate::cpu::Tier;
use crate::error::CipherError;
use crate::kernel::{BLOCK, Block, BlockKernel};

/// Bytes of a nonce.
const NONCE: usize = 12;
/// Total size in bytes of the message length and the block counter.
const COUNTER: usize = 15 - NONCE;

/// AES-CCM under one key.
pub struct AesCcm(Box<dyn BlockKernel<BLOCK>>);

impl AesCcm {
    /// Keys the cipher, with the best kernel that the CPU supports and `tier` allows.
    ///
    /// # Errors
    /// [`CipherError::KeyLength`] unless the key is 32 bytes long.
    pub fn new(key: &[u8], tier: Tier) -> Result<Self, CipherError> {
        const BYTES: usize = 32;
        if key.len() != BYTES {
            let actual = key.len();
            return Err(CipherError::KeyLength { cipher: "aes-256-ccm", expected: BYTES, actual });
        }
        Ok(Self(aes::blocks(key, tier)))
    }

    /// Encrypts `data` in place and returns its tag.
    ///
    /// # Panics
    /// If `data` is 16 MiB or longer, which exceeds the counter.
    pub fn seal(&self, nonce: &[u8; NONCE], data: &mut [u8]) -> [u8; BLOCK] {
        let tag = self.authenticate(nonce, data);
        let mask = self.mask(nonce, data);
        u128::to_le_bytes(u128::from_le_bytes(tag) ^ u128::from_le_bytes(mask))
    }

    /// Decrypts `data` in place and checks its tag. If this returns false, `data` is wiped.
    ///
    /// # Panics
    /// As for [`seal`](Self::seal).
    pub fn open(&self, nonce: &[u8; NONCE], tag: &[u8; BLOCK], data: &mut [u8]) -> bool {
        let mask = self.mask(nonce, data);
        let expected = self.authenticate(nonce, data);
        let stored = u128::from_le_bytes(*tag) ^ u128::from_le_bytes(mask);
        // Compares all bytes, so that the time does not reveal how many bytes match.
        let right = stored == u128::from_le_bytes(expected);
        if !right {
            data.fill(0);
        }
        right
    }

    /// CBC-MAC of the message.
    fn authenticate(&self, nonce: &[u8; NONCE], data: &[u8]) -> Block {
        assert!(data.len() < 1 << (8 * COUNTER), "the length has {COUNTER} bytes");
        let flags = ((BLOCK as u8 - 2) / 2) << 3 | (COUNTER as u8 - 1);
        let mut chain = [counter(flags, nonce, data.len() as u32)];
        self.0.encrypt(&mut chain);
        for piece in data.chunks(BLOCK) {
            chain[0].iter_mut().zip(piece).for_each(|(byte, other)| *byte ^= other);
            self.0.encrypt(&mut chain);
        }
        chain[0]
    }

    /// XORs the keystream with `data`, and returns the part of the keystream for the tag.
    fn mask(&self, nonce: &[u8; NONCE], data: &mut [u8]) -> Block {
        assert!(data.len() < 1 << (8 * COUNTER), "the counter has {COUNTER} bytes");
        let stream = |number: u32| {
            let mut block = [counter(COUNTER as u8 - 1, nonce, number)];
            self.0.encrypt(&mut block);
            block[0]
        };
        for (number, piece) in (1..).zip(data.chunks_mut(BLOCK)) {
            piece.iter_mut().zip(stream(number)).for_each(|(byte, other)| *byte ^= other);
        }
        stream(0)
    }
}

/// Flags, nonce, and a big-endian number.
fn counter(flags: u8, nonce: &[u8; NONCE], number: u32) -> Block {
    let mut block = [0; BLOCK];
    block[0] = flags;
    block[1..=NONCE].copy_from_slice(nonce);
    block[1 + NONCE..].copy_from_slice(&number.to_be_bytes()[4 - COUNTER..]);
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::hex;

    /// Computed with OpenSSL 4.0.0: key 00 01 .. 1f, nonce a0 a1 .. ab, message bytes i * 7.
    #[test]
    fn openssl_agrees_on_every_tier() {
        let key: Vec<u8> = (0..32).collect();
        let nonce: [u8; NONCE] = std::array::from_fn(|i| 0xa0 + i as u8);
        for line in VECTORS {
            let expected = hex(line);
            let (cipher, tag) = expected.split_at(expected.len() - BLOCK);
            let plain: Vec<u8> = (0..cipher.len()).map(|i| (i * 7) as u8).collect();
            for tier in Tier::available() {
                let ccm = AesCcm::new(&key, tier).unwrap();
                let mut data = plain.clone();
                assert_eq!(ccm.seal(&nonce, &mut data), *tag);
                assert_eq!(data, cipher);
                assert!(ccm.open(&nonce, tag.try_into().unwrap(), &mut data));
                assert_eq!(data, plain);
            }
        }
    }

    #[test]
    fn one_wrong_bit_opens_nothing() {
        let ccm = AesCcm::new(&[7; 32], Tier::Soft).unwrap();
        let mut sealed = [1; 44];
        let tag = ccm.seal(&[3; NONCE], &mut sealed);
        for bit in 0..8 * BLOCK {
            let mut wrong = tag;
            wrong[bit / 8] ^= 1 << (bit % 8);
            let mut data = sealed;
            assert!(!ccm.open(&[3; NONCE], &wrong, &mut data));
            assert_eq!(data, [0; 44], "nothing unauthenticated is left");
        }
        for at in 0..sealed.len() {
            let mut data = sealed;
            data[at] ^= 0x80;
            assert!(!ccm.open(&[3; NONCE], &tag, &mut data));
        }
        assert!(AesCcm::new(&[0; 16], Tier::Soft).is_err());
    }

    const VECTORS: [&str; 4] = [
        "39d4a035dff87f331a09ab3a8aa998dd",
        "6f934c458cdfcc5572676e6f33d4d0b8542e027b86a0f4f34731df9e5efbf03b",
        "6f934c458cdfcc5572676e6f33d4d0b844b3cdc0322de2e9570d733b7e1c48d20e594715726cc701\
         5293259782e507c4f1c4f4a00c79fe036b731dfd",
        "6f934c458cdfcc5572676e6f33d4d0b844b3cdc0322de2e9570d733b7e1c48d20e594715726cc701\
         5293259747d79f1ebed211fabaf4b082944357712d40993f7e225225a728f09ce39fb298a805cdbf\
         0f8d644210902eab5f4b1613",
    ];
}
