//! The hashes that LUKS headers name: for PBKDF2, the splitter and the header checksum.

use cryptbench_kdf::Prf;
use sha1::digest::{Digest, Output};
use zeroize::Zeroize;

/// Bytes of the longest digest in the table.
pub(super) const MOST_DIGEST: usize = 64;

/// A hash and its name in LUKS headers.
pub(super) struct Hash {
    /// Name in headers.
    pub name: &'static str,
    /// Bytes of the digest.
    pub bytes: usize,
    prf: &'static str,
    digest: fn(&[&[u8]], &mut [u8]),
}

static HASHES: [Hash; 5] = [
    Hash { name: "sha1", bytes: 20, prf: "sha-1", digest: digest::<sha1::Sha1> },
    Hash { name: "sha256", bytes: 32, prf: "sha-256", digest: digest::<sha2::Sha256> },
    Hash { name: "sha512", bytes: 64, prf: "sha-512", digest: digest::<sha2::Sha512> },
    Hash { name: "ripemd160", bytes: 20, prf: "ripemd-160", digest: digest::<ripemd::Ripemd160> },
    Hash { name: "whirlpool", bytes: 64, prf: "whirlpool", digest: digest::<whirlpool::Whirlpool> },
];

impl Hash {
    /// The hash called `name`; case does not matter, as in cryptsetup.
    ///
    /// # Errors
    /// A message that names the missing hash.
    pub(super) fn find(name: &str) -> Result<&'static Self, String> {
        HASHES
            .iter()
            .find(|hash| hash.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| format!("the hash {name:?} is not supported"))
    }

    /// The hash of a PRF, whose name goes into a header.
    pub(super) fn of_prf(prf: &Prf) -> Option<&'static Self> {
        HASHES.iter().find(|hash| hash.prf == prf.name)
    }

    /// HMAC with this hash.
    pub(super) fn prf(&self) -> Result<&'static Prf, String> {
        cryptbench_kdf::find(self.prf).map_err(|error| error.to_string())
    }

    /// Fills `out` with the start of the digest of `parts`; `out` holds at most
    /// [`bytes`](Self::bytes).
    pub(super) fn digest(&self, parts: &[&[u8]], out: &mut [u8]) {
        (self.digest)(parts, out);
    }
}

fn digest<D: Digest>(parts: &[&[u8]], out: &mut [u8]) {
    let mut hasher = D::new();
    for part in parts {
        hasher.update(part);
    }
    let mut digest: Output<D> = hasher.finalize();
    out.copy_from_slice(&digest[..out.len()]);
    digest.as_mut_slice().zeroize();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_agree_with_the_prfs_and_the_longest_is_known() {
        for hash in &HASHES {
            assert_eq!(hash.prf().unwrap().output_bytes, hash.bytes, "{}", hash.name);
            assert!(hash.bytes <= MOST_DIGEST);
            let mut out = vec![0; hash.bytes];
            hash.digest(&[b"ab", b"c"], &mut out);
            let mut whole = vec![0; hash.bytes];
            hash.digest(&[b"abc"], &mut whole);
            assert_eq!(out, whole);
        }
        assert!(Hash::find("SHA256").is_ok());
        assert!(Hash::find("md5").is_err());
    }
}
