//! The hashes from which ESSIV derives its key, under their Linux names.

use ripemd::Ripemd160;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use whirlpool::Whirlpool;
use zeroize::{Zeroize, Zeroizing};

use crate::error::CipherError;

/// A hash of the volume key; its digest keys the IVs.
pub(crate) struct Hash {
    pub(crate) name: &'static str,
    /// Bytes of the digest.
    pub(crate) bytes: usize,
    digest: fn(&[u8]) -> Zeroizing<Vec<u8>>,
}

/// Linux's `wp256` is the start of Whirlpool's digest; cryptsetup calls Linux's `rmd160`
/// `ripemd160`.
static HASHES: [Hash; 7] = [
    Hash { name: "sha1", bytes: 20, digest: digest::<Sha1> },
    Hash { name: "sha256", bytes: 32, digest: digest::<Sha256> },
    Hash { name: "sha512", bytes: 64, digest: digest::<Sha512> },
    Hash { name: "wp256", bytes: 32, digest: digest::<Whirlpool> },
    Hash { name: "wp512", bytes: 64, digest: digest::<Whirlpool> },
    Hash { name: "rmd160", bytes: 20, digest: digest::<Ripemd160> },
    Hash { name: "ripemd160", bytes: 20, digest: digest::<Ripemd160> },
];

impl Hash {
    pub(crate) fn find(name: &str) -> Result<&'static Self, CipherError> {
        HASHES.iter().find(|hash| hash.name == name).ok_or_else(|| CipherError::EssivHash {
            name: name.to_owned(),
            known: HASHES.iter().map(|hash| hash.name).collect(),
        })
    }

    /// The key of the IVs: the hash of the whole volume key, which in XTS means both halves (Linux,
    /// crypto/essiv.c).
    pub(crate) fn key(&self, volume_key: &[u8]) -> Zeroizing<Vec<u8>> {
        let mut key = (self.digest)(volume_key);
        key.truncate(self.bytes);
        key
    }
}

fn digest<D: Digest>(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut digest = D::digest(bytes);
    let key = Zeroizing::new(digest.to_vec());
    digest.as_mut_slice().zeroize();
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_have_the_length_that_the_table_says() {
        for hash in &HASHES {
            assert_eq!(hash.key(b"key").len(), hash.bytes, "{}", hash.name);
        }
        // ISO 10118-3 test vector of Whirlpool: the empty string.
        let wp256 = Hash::find("wp256").unwrap().key(b"");
        assert_eq!(wp256[..4], [0x19, 0xfa, 0x61, 0xd7]);
    }
}
