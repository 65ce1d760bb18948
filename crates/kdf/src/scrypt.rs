//! scrypt (RFC 7914), as used by gocryptfs.

use std::hint::black_box;

use scrypt::Params;

use crate::effort::Effort;
use crate::error::KdfError;

/// The cost of scrypt (RFC 7914, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScryptParams {
    /// Binary logarithm of N, the CPU and memory cost.
    pub log_n: u8,
    /// Block size r, in units of 128 bytes.
    pub r: u32,
    /// Parallelization p.
    pub p: u32,
}

/// Derives a key of at least 1 byte with scrypt, which needs `128 * r * N` bytes of memory.
///
/// It runs on one thread with SSE2, regardless of `effort`, and checks for a stop only before it starts.
///
/// # Errors
/// [`KdfError::Parameters`] for a cost or a key length that scrypt does not allow;
/// [`KdfError::Memory`]; [`KdfError::Stopped`].
pub fn scrypt(
    password: &[u8],
    salt: &[u8],
    params: ScryptParams,
    out: &mut [u8],
    effort: Effort<'_>,
) -> Result<(), KdfError> {
    const FUNCTION: &str = "scrypt";
    let refuse = |reason: String| KdfError::Parameters { function: FUNCTION, reason };
    effort.check()?;
    let _timed = effort.start();
    // Values that the external crate wrongly accepts, or that overflow in it (RFC 7914, section 2).
    if params.log_n == 0 {
        return Err(refuse("N must be larger than 1".to_owned()));
    }
    if u64::from(params.r) * u64::from(params.p) >= 1 << 30 {
        return Err(refuse("r * p must be less than 2^30".to_owned()));
    }
    if out.is_empty() {
        return Err(refuse("the key must have at least 1 byte".to_owned()));
    }
    let checked =
        Params::new(params.log_n, params.r, params.p).map_err(|error| refuse(error.to_string()))?;
    // Without enough memory, the external crate would abort the process, so the memory is allocated first as a test.
    let blocks = checked.n().checked_add(u64::from(params.p) + 1);
    let bytes = blocks.and_then(|blocks| blocks.checked_mul(128 * u64::from(params.r)));
    let room = bytes.and_then(|bytes| usize::try_from(bytes).ok());
    // The compiler may assume that an unused allocation succeeds.
    let mut memory = black_box(Vec::<u8>::new());
    let enough = room.is_some_and(|bytes| memory.try_reserve_exact(bytes).is_ok());
    drop(black_box(memory));
    if !enough {
        let kib = bytes.unwrap_or(u64::MAX) / 1024;
        return Err(KdfError::Memory { function: FUNCTION, kib, free: None });
    }
    scrypt::scrypt(password, salt, &checked, out).map_err(|error| refuse(error.to_string()))
}
