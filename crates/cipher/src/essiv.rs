//! The hashes from which the key of ESSIV is derived, by their Linux names.

use blake2::digest::consts::{U16, U20, U28, U32, U48, U64};
use blake2::{Blake2b, Blake2s};
use md5::Md5;
use ripemd::Ripemd160;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};
use sm3::Sm3;
use streebog::{Streebog256, Streebog512};
use whirlpool::Whirlpool;
use zeroize::{Zeroize, Zeroizing};

use crate::error::CipherError;

/// A hash of the volume key, whose digest is the key for the IVs.
pub(crate) struct Hash {
    pub(crate) name: &'static str,
    /// Bytes of the digest.
    pub(crate) bytes: usize,
    digest: fn(&[u8]) -> Zeroizing<Vec<u8>>,
}

const fn hash<D: Digest>(name: &'static str, bytes: usize) -> Hash {
    Hash { name, bytes, digest: digest::<D> }
}

/// Linux's `wp256` and `wp384` are truncations of Whirlpool's digest. Linux's `rmd160` is `ripemd160` in cryptsetup,
/// and `wp512` is `whirlpool`.
static HASHES: [Hash; 29] = [
    hash::<Sha1>("sha1", 20),
    hash::<Sha224>("sha224", 28),
    hash::<Sha256>("sha256", 32),
    hash::<Sha384>("sha384", 48),
    hash::<Sha512>("sha512", 64),
    hash::<Sha3_224>("sha3-224", 28),
    hash::<Sha3_256>("sha3-256", 32),
    hash::<Sha3_384>("sha3-384", 48),
    hash::<Sha3_512>("sha3-512", 64),
    hash::<Blake2b<U20>>("blake2b-160", 20),
    hash::<Blake2b<U32>>("blake2b-256", 32),
    hash::<Blake2b<U48>>("blake2b-384", 48),
    hash::<Blake2b<U64>>("blake2b-512", 64),
    hash::<Blake2s<U16>>("blake2s-128", 16),
    hash::<Blake2s<U20>>("blake2s-160", 20),
    hash::<Blake2s<U28>>("blake2s-224", 28),
    hash::<Blake2s<U32>>("blake2s-256", 32),
    hash::<Sm3>("sm3", 32),
    hash::<Md5>("md5", 16),
    hash::<Streebog256>("streebog256", 32),
    hash::<Streebog512>("streebog512", 64),
    hash::<Streebog256>("stribog256", 32),
    hash::<Streebog512>("stribog512", 64),
    hash::<Whirlpool>("wp256", 32),
    hash::<Whirlpool>("wp384", 48),
    hash::<Whirlpool>("wp512", 64),
    hash::<Whirlpool>("whirlpool", 64),
    hash::<Ripemd160>("rmd160", 20),
    hash::<Ripemd160>("ripemd160", 20),
];

/// The hashes with which ESSIV can be used, by their names in Linux's crypto API. Not every cipher accepts a key as
/// long as the digest.
pub fn essiv_hashes() -> impl Iterator<Item = &'static str> {
    HASHES.iter().map(|hash| hash.name)
}

impl Hash {
    pub(crate) fn find(name: &str) -> Result<&'static Self, CipherError> {
        HASHES.iter().find(|hash| hash.name == name).ok_or_else(|| CipherError::EssivHash {
            name: name.to_owned(),
            known: HASHES.iter().map(|hash| hash.name).collect(),
        })
    }

    /// The key for the IVs: the hash of the whole volume key, which in XTS means both halves (Linux, crypto/essiv.c).
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
