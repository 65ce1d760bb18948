//! The hashes that LUKS headers specify: for PBKDF2, the splitter and the header checksum.

use cryptbench_kdf::Prf;

use crate::VolumeError;

/// Size of the longest digest in the table, in bytes.
pub(super) const MOST_DIGEST: usize = 64;

/// Size in bytes of the shortest digest that cryptsetup accepts (its `LUKS_DIGESTSIZE`).
const LEAST_DIGEST: usize = 20;

/// Refuses to write a header with a hash that cryptsetup does not accept.
pub(super) fn refuse_short(name: &str, bytes: usize) -> Result<(), VolumeError> {
    if bytes >= LEAST_DIGEST {
        return Ok(());
    }
    let reason =
        format!("LUKS needs hashes of at least {LEAST_DIGEST} bytes, but {name} has {bytes}");
    Err(VolumeError::Invalid(reason))
}

/// A hash and its names in LUKS headers.
pub(super) struct Hash {
    /// Name in headers that this program writes.
    pub name: &'static str,
    /// Bytes of the digest.
    pub bytes: usize,
    prf: &'static str,
    /// Other names, from the libraries with which cryptsetup can be built and from the kernel.
    aliases: &'static [&'static str],
}

const fn hash(
    name: &'static str,
    bytes: usize,
    prf: &'static str,
    aliases: &'static [&'static str],
) -> Hash {
    Hash { name, bytes, prf, aliases }
}

static HASHES: [Hash; 25] = [
    hash("sha1", 20, "sha-1", &["sha-1"]),
    hash("sha224", 28, "sha-224", &["sha-224", "sha2-224"]),
    hash("sha256", 32, "sha-256", &["sha-256", "sha2-256"]),
    hash("sha384", 48, "sha-384", &["sha-384", "sha2-384"]),
    hash("sha512", 64, "sha-512", &["sha-512", "sha2-512"]),
    hash("sha512-224", 28, "sha-512-224", &["sha512_224", "sha-512/224", "sha2-512/224"]),
    hash("sha512-256", 32, "sha-512-256", &["sha512_256", "sha-512/256", "sha2-512/256"]),
    hash("sha3-224", 28, "sha3-224", &[]),
    hash("sha3-256", 32, "sha3-256", &[]),
    hash("sha3-384", 48, "sha3-384", &[]),
    hash("sha3-512", 64, "sha3-512", &[]),
    hash("blake2b-160", 20, "blake2b-160", &["blake2b_160"]),
    hash("blake2b-256", 32, "blake2b-256", &["blake2b_256"]),
    hash("blake2b-384", 48, "blake2b-384", &["blake2b_384"]),
    hash("blake2b-512", 64, "blake2b-512", &["blake2b_512", "blake2b512"]),
    hash("blake2s-128", 16, "blake2s-128", &["blake2s_128"]),
    hash("blake2s-160", 20, "blake2s-160", &["blake2s_160"]),
    hash("blake2s-224", 28, "blake2s-224", &["blake2s_224"]),
    hash("blake2s-256", 32, "blake2s-256", &["blake2s_256", "blake2s256"]),
    hash("sm3", 32, "sm3", &[]),
    hash("md5", 16, "md5", &[]),
    hash("ripemd160", 20, "ripemd-160", &["rmd160", "ripemd-160", "ripemd"]),
    hash("whirlpool", 64, "whirlpool", &["wp512"]),
    hash("stribog256", 32, "streebog-256", &["streebog256"]),
    hash("stribog512", 64, "streebog-512", &["streebog512"]),
];

impl Hash {
    /// Every hash.
    pub(super) fn all() -> &'static [Self] {
        &HASHES
    }

    /// The hash called `name`; case does not matter, as in cryptsetup.
    ///
    /// # Errors
    /// A message with the name of the unknown hash.
    pub(super) fn find(name: &str) -> Result<&'static Self, String> {
        HASHES
            .iter()
            .find(|hash| {
                [hash.name].iter().chain(hash.aliases).any(|known| known.eq_ignore_ascii_case(name))
            })
            .ok_or_else(|| format!("the hash {name:?} is unknown"))
    }

    /// The hash of a PRF, for its name in headers.
    pub(super) fn of_prf(prf: &Prf) -> Option<&'static Self> {
        HASHES.iter().find(|hash| hash.prf == prf.name)
    }

    /// HMAC with this hash.
    pub(super) fn prf(&self) -> Result<&'static Prf, String> {
        cryptbench_kdf::find(self.prf).map_err(|error| error.to_string())
    }

    /// Fills `out` with the start of the digest of `parts`. The digest has only [`bytes`](Self::bytes), so
    /// `out` must not be longer.
    pub(super) fn digest(&self, parts: &[&[u8]], out: &mut [u8]) {
        match self.prf() {
            Ok(prf) => prf.hash(parts, out),
            Err(_) => debug_assert!(false, "a test finds every PRF of the table"),
        }
    }
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
        for (alias, name) in
            [("RMD160", "ripemd160"), ("sha-256", "sha256"), ("wp512", "whirlpool")]
        {
            assert_eq!(Hash::find(alias).unwrap().name, name);
        }
        assert!(Hash::find("tiger").is_err());
    }
}
