//! The whitening that TrueCrypt up to 4.0 applies to the output of CBC.

use zeroize::Zeroizing;

/// The value that is XORed with each eight bytes of ciphertext.
pub(crate) enum Whitening {
    /// No whitening: standard CBC.
    None,
    /// In the data area: a value per sector, derived from these 16 secret bytes. Both halves are XORed with the
    /// sector's number, and the CRC-32s of the four words are combined into eight bytes.
    Sector(Zeroizing<[u8; 16]>),
    /// In a volume header: always the same eight bytes.
    Fixed(Zeroizing<[u8; 8]>),
}

impl Whitening {
    /// The eight whitening bytes for data unit `number`, if there are any.
    pub(crate) fn of(&self, number: u64) -> Option<[u8; 8]> {
        match self {
            Self::None => None,
            Self::Fixed(value) => Some(**value),
            Self::Sector(secret) => {
                let words = [0, 1, 2, 3].map(|i| {
                    let half = if i % 2 == 0 { number as u32 } else { (number >> 32) as u32 };
                    let word = u32::from_le_bytes(secret.as_chunks::<4>().0[i]);
                    crc32((word ^ half).to_le_bytes())
                });
                let low = u64::from(words[0] ^ words[3]);
                let high = u64::from(words[1] ^ words[2]);
                Some((low | high << 32).to_le_bytes())
            }
        }
    }
}

/// CRC-32 (ISO 3309, as in zip) of four bytes, computed bit by bit so that secrets are never used as table indices.
fn crc32(bytes: [u8; 4]) -> u32 {
    let mut crc = !u32::from_le_bytes(bytes);
    for _ in 0..32 {
        let carry = (crc & 1).wrapping_neg();
        crc = crc >> 1 ^ carry & 0xedb8_8320;
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_of_known_words() {
        // zlib's crc32 of "abcd" and of four zeros.
        assert_eq!(crc32(*b"abcd"), 0xed82_cd11);
        assert_eq!(crc32([0; 4]), 0x2144_df1c);
    }

    #[test]
    fn the_number_goes_into_both_halves() {
        let secret = Zeroizing::new(0x0123_4567_89ab_cdef_fedc_ba98_7654_3210_u128.to_le_bytes());
        let number = 0x0f1e_2d3c_4b5a_6978;
        let changed =
            u128::from_le_bytes(*secret) ^ (u128::from(number) | u128::from(number) << 64);
        let changed = Zeroizing::new(changed.to_le_bytes());
        assert_eq!(Whitening::Sector(secret).of(number), Whitening::Sector(changed).of(0));
    }
}
