//! The table of PRFs: one line for each hash with which PBKDF2 can be used.

use blake2::digest::consts::{U16, U20, U28, U32, U48, U64};
use blake2::{Blake2b, Blake2s as Blake2sOf};
use digest::Digest;
use digest::block_api::BlockSizeUser;
use md5::Md5;
use sha2::{Sha224, Sha384, Sha512_224, Sha512_256};
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};
use sm3::Sm3;
use streebog::Streebog256;
use zeroize::Zeroize as _;

use crate::effort::Effort;
use crate::error::KdfError;
use crate::pbkdf2::blake2s::Blake2s;
use crate::pbkdf2::ripemd160::Ripemd160;
use crate::pbkdf2::sha1::Sha1;
use crate::pbkdf2::sha256::Sha256;
use crate::pbkdf2::sha512::Sha512;
use crate::pbkdf2::streebog::Streebog;
use crate::pbkdf2::whirlpool::Whirlpool;
use crate::pbkdf2::{self, Hash, Target, plain};

type Derive = fn(&[u8], u32, &mut [Target<'_>], Effort<'_>) -> Result<(), KdfError>;

/// A PRF in the registry: HMAC with a hash.
#[derive(Debug)]
pub struct Prf {
    /// Name on the command line and in records, such as `sha-512`.
    pub name: &'static str,
    /// Users' name for its hash, such as `SHA-512`.
    pub label: &'static str,
    /// Output length in bytes. A longer key consists of several independent blocks of this size.
    pub output_bytes: usize,
    derive: Derive,
    kernel: fn(usize, Effort<'_>) -> String,
    digest: fn(&[&[u8]], &mut [u8]),
}

static PRFS: &[Prf] = &[
    Prf::new::<Sha512>("sha-512", "SHA-512"),
    Prf::new::<Sha256>("sha-256", "SHA-256"),
    Prf::new::<Blake2s>("blake2s-256", "BLAKE2s-256"),
    Prf::new::<Whirlpool>("whirlpool", "Whirlpool"),
    Prf::new::<Streebog>("streebog-512", "Streebog-512"),
    Prf::new::<Ripemd160>("ripemd-160", "RIPEMD-160"),
    Prf::new::<Sha1>("sha-1", "SHA-1"),
];

/// PRFs that only LUKS uses, with hashes for which this crate has no kernels.
static OTHERS: &[Prf] = &[
    Prf::plain::<Sha224>("sha-224", "SHA-224"),
    Prf::plain::<Sha384>("sha-384", "SHA-384"),
    Prf::plain::<Sha512_224>("sha-512-224", "SHA-512/224"),
    Prf::plain::<Sha512_256>("sha-512-256", "SHA-512/256"),
    Prf::plain::<Sha3_224>("sha3-224", "SHA3-224"),
    Prf::plain::<Sha3_256>("sha3-256", "SHA3-256"),
    Prf::plain::<Sha3_384>("sha3-384", "SHA3-384"),
    Prf::plain::<Sha3_512>("sha3-512", "SHA3-512"),
    Prf::plain::<Blake2b<U20>>("blake2b-160", "BLAKE2b-160"),
    Prf::plain::<Blake2b<U32>>("blake2b-256", "BLAKE2b-256"),
    Prf::plain::<Blake2b<U48>>("blake2b-384", "BLAKE2b-384"),
    Prf::plain::<Blake2b<U64>>("blake2b-512", "BLAKE2b-512"),
    Prf::plain::<Blake2sOf<U16>>("blake2s-128", "BLAKE2s-128"),
    Prf::plain::<Blake2sOf<U20>>("blake2s-160", "BLAKE2s-160"),
    Prf::plain::<Blake2sOf<U28>>("blake2s-224", "BLAKE2s-224"),
    Prf::plain::<Sm3>("sm3", "SM3"),
    Prf::plain::<Md5>("md5", "MD5"),
    Prf::plain::<Streebog256>("streebog-256", "Streebog-256"),
];

/// Every PRF of VeraCrypt and TrueCrypt, in display order: VeraCrypt's default comes first.
pub fn prfs() -> &'static [Prf] {
    PRFS
}

/// The PRFs that only LUKS uses.
pub fn others() -> &'static [Prf] {
    OTHERS
}

/// The PRF with this name, which is case-sensitive.
///
/// # Errors
/// [`KdfError::Unknown`], which lists the known names.
pub fn find(name: &str) -> Result<&'static Prf, KdfError> {
    let mut every = prfs().iter().chain(others());
    every.find(|prf| prf.name == name).ok_or_else(|| KdfError::Unknown {
        name: name.to_owned(),
        known: prfs().iter().chain(others()).map(|prf| prf.name).collect(),
    })
}

impl Prf {
    const fn new<H: Hash>(name: &'static str, label: &'static str) -> Self {
        Self {
            name,
            label,
            output_bytes: H::DIGEST,
            derive: pbkdf2::derive::<H>,
            kernel: pbkdf2::kernel_names::<H>,
            digest: digest::<H::Digest>,
        }
    }

    const fn plain<D: Digest + BlockSizeUser + Clone + Send + Sync>(
        name: &'static str,
        label: &'static str,
    ) -> Self {
        Self {
            name,
            label,
            output_bytes: <D::OutputSize as digest::typenum::Unsigned>::USIZE,
            derive: plain::derive::<D>,
            kernel: |_, _| plain::KERNEL.to_owned(),
            digest: digest::<D>,
        }
    }

    /// Fills `out` with the start of the hash of the concatenated `parts`, without HMAC. `out` is at most
    /// [`output_bytes`](Self::output_bytes) long.
    pub fn hash(&self, parts: &[&[u8]], out: &mut [u8]) {
        (self.digest)(parts, out);
    }

    /// PBKDF2 with this PRF (RFC 8018, section 5.2): fills `out`, whose length can be any number including 0.
    ///
    /// # Errors
    /// [`KdfError::NoIterations`], [`KdfError::TooLong`], [`KdfError::Stopped`]; `out` is then
    /// unchanged.
    pub fn pbkdf2(
        &self,
        password: &[u8],
        salt: &[u8],
        iterations: u32,
        out: &mut [u8],
        effort: Effort<'_>,
    ) -> Result<(), KdfError> {
        self.pbkdf2_each(password, iterations, &mut [Target { salt, out }], effort)
    }

    /// PBKDF2 of one password with several salts, whose blocks share vectors and threads. Deriving the keys of an outer
    /// and a hidden volume together takes only slightly longer than deriving the keys of one volume.
    ///
    /// # Errors
    /// As for [`Prf::pbkdf2`].
    pub fn pbkdf2_each(
        &self,
        password: &[u8],
        iterations: u32,
        targets: &mut [Target<'_>],
        effort: Effort<'_>,
    ) -> Result<(), KdfError> {
        let _timed = effort.start();
        (self.derive)(password, iterations, targets, effort)
    }

    /// The kernels that derive a key of `key_bytes` bytes, such as `avx512vl-x4`, or several joined by `+`.
    pub fn kernel(&self, key_bytes: usize, effort: Effort<'_>) -> String {
        (self.kernel)(key_bytes.div_ceil(self.output_bytes), effort)
    }
}

fn digest<D: Digest>(parts: &[&[u8]], out: &mut [u8]) {
    let mut hasher = D::new();
    for part in parts {
        hasher.update(part);
    }
    let mut digest = hasher.finalize();
    out.copy_from_slice(&digest[..out.len()]);
    digest.as_mut_slice().zeroize();
}
