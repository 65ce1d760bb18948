//! The table of PRFs: one line for each hash that PBKDF2 runs over.

use crate::effort::Effort;
use crate::error::KdfError;
use crate::pbkdf2::blake2s::Blake2s;
use crate::pbkdf2::ripemd160::Ripemd160;
use crate::pbkdf2::sha1::Sha1;
use crate::pbkdf2::sha256::Sha256;
use crate::pbkdf2::sha512::Sha512;
use crate::pbkdf2::streebog::Streebog;
use crate::pbkdf2::whirlpool::Whirlpool;
use crate::pbkdf2::{self, Hash, Target};

type Derive = fn(&[u8], u32, &mut [Target<'_>], Effort<'_>) -> Result<(), KdfError>;

/// A PRF of the registry: HMAC with a hash.
#[derive(Debug)]
pub struct Prf {
    /// Name on the command line and in records, such as `sha-512`.
    pub name: &'static str,
    /// Name for users, such as `HMAC-SHA-512`.
    pub label: &'static str,
    /// Bytes of its output. A longer key consists of several independent blocks of this size.
    pub output_bytes: usize,
    derive: Derive,
    kernel: fn(usize, Effort<'_>) -> String,
}

static PRFS: &[Prf] = &[
    Prf::new::<Sha512>("sha-512", "HMAC-SHA-512"),
    Prf::new::<Sha256>("sha-256", "HMAC-SHA-256"),
    Prf::new::<Blake2s>("blake2s-256", "HMAC-BLAKE2s-256"),
    Prf::new::<Whirlpool>("whirlpool", "HMAC-Whirlpool"),
    Prf::new::<Streebog>("streebog-512", "HMAC-Streebog-512"),
    Prf::new::<Ripemd160>("ripemd-160", "HMAC-RIPEMD-160"),
    Prf::new::<Sha1>("sha-1", "HMAC-SHA-1"),
];

/// Every PRF, in display order: VeraCrypt's default comes first.
#[must_use]
pub fn prfs() -> &'static [Prf] {
    PRFS
}

/// The PRF called `name`, case-sensitively.
///
/// # Errors
/// [`KdfError::Unknown`], which lists the known names.
pub fn find(name: &str) -> Result<&'static Prf, KdfError> {
    prfs().iter().find(|prf| prf.name == name).ok_or_else(|| KdfError::Unknown {
        name: name.to_owned(),
        known: prfs().iter().map(|prf| prf.name).collect(),
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
        }
    }

    /// PBKDF2 with this PRF (RFC 8018, section 5.2): fills `out`, which may have any length
    /// including 0.
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

    /// PBKDF2 of one password with several salts, whose blocks share vectors and threads. The
    /// headers of an outer and a hidden volume together take hardly longer than one of them.
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

    /// The kernels that derive a key of `key_bytes`, such as `avx512vl-x4`, or several joined by
    /// `+`.
    #[must_use]
    pub fn kernel(&self, key_bytes: usize, effort: Effort<'_>) -> String {
        (self.kernel)(key_bytes.div_ceil(self.output_bytes), effort)
    }
}
