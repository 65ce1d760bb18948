//! Argon2i and Argon2id (RFC 9106), as used by LUKS2 and VeraCrypt.
//!
//! This crate has its own implementation because an untrusted header can demand minutes of work: this implementation
//! checks the stop flags while it fills the memory, and frees the memory when it is stopped.

mod block;
mod fill;
mod hash;

use std::fmt;

use zeroize::{Zeroize as _, Zeroizing};

use self::block::{Block, Compress};
use self::fill::{Job, Matrix};
use crate::effort::Effort;
use crate::error::KdfError;

/// The variant, which determines which addresses depend on the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Argon2Kind {
    /// None: Argon2i.
    I,
    /// Argon2id: addresses after the first half of the first pass depend on the password.
    Id,
}

impl Argon2Kind {
    /// Name in records and in LUKS2 metadata: `argon2i` or `argon2id`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::I => "argon2i",
            Self::Id => "argon2id",
        }
    }

    /// The type `y` (RFC 9106, section 3.2).
    fn number(self) -> u32 {
        match self {
            Self::I => 1,
            Self::Id => 2,
        }
    }
}

impl fmt::Display for Argon2Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The cost of Argon2 (RFC 9106, section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Argon2Params {
    /// Memory in KiB, at least 8 per lane.
    pub memory_kib: u32,
    /// Number of passes over memory, at least 1.
    pub passes: u32,
    /// Number of independent lanes, 1 to 2^24 - 1. The number affects the key.
    pub lanes: u32,
}

impl Argon2Params {
    /// Checks the limits of RFC 9106, section 3.1.
    ///
    /// # Errors
    /// A message that states the violated limit.
    fn check(self, password: &[u8], salt: &[u8], out: &[u8]) -> Result<(), &'static str> {
        let too_long = |bytes: &[u8]| u32::try_from(bytes.len()).is_err();
        match self {
            Self { passes: 0, .. } => Err("it needs at least 1 pass"),
            Self { lanes: 0 | 0x100_0000.., .. } => Err("the lanes must be 1 to 2^24 - 1"),
            Self { memory_kib, lanes, .. } if memory_kib < 8 * lanes => {
                Err("it needs at least 8 KiB of memory for each lane")
            }
            _ if salt.len() < 8 => Err("the salt must have at least 8 bytes"),
            _ if out.len() < 4 => Err("the key must have at least 4 bytes"),
            _ if too_long(password) || too_long(salt) || too_long(out) => {
                Err("password, salt and key must be shorter than 4 GiB")
            }
            _ => Ok(()),
        }
    }
}

/// The kernel that [`argon2`] runs with `effort`, such as `avx2`.
pub fn argon2_kernel(effort: Effort<'_>) -> &'static str {
    Compress::best(effort.tier()).name()
}

/// Derives a key of at least 4 bytes with Argon2 version 1.3, with the lanes distributed over as many threads as
/// `effort` allows.
///
/// The memory is freed without wiping, except for the blocks from which the key is computed: wiping one GiB takes a
/// tenth of a second, and the operating system zeroes memory before another process gets it. A stop takes effect within
/// milliseconds and also frees the memory.
///
/// # Errors
/// [`KdfError::Parameters`] for a cost or a key length that Argon2 does not allow, or a salt of less than 8 bytes;
/// [`KdfError::Memory`] if the memory is not available to this process; [`KdfError::Stopped`].
pub fn argon2(
    kind: Argon2Kind,
    password: &[u8],
    salt: &[u8],
    params: Argon2Params,
    out: &mut [u8],
    effort: Effort<'_>,
) -> Result<(), KdfError> {
    let function = kind.as_str();
    params
        .check(password, salt, out)
        .map_err(|reason| KdfError::Parameters { function, reason: reason.to_owned() })?;
    effort.check()?;
    crate::memory::ask(function, params.memory_kib.into())?;
    let _timed = effort.start();
    let memory = || KdfError::Memory { function, kib: params.memory_kib.into(), free: None };
    let mut matrix = Matrix::new(params).ok_or_else(memory)?;
    let mut first = hash::first(kind, password, salt, params, out.len() as u32);
    matrix.begin(&first);
    first.zeroize();
    let job = Job { kind, params, compress: Compress::best(effort.tier()), effort };
    job.fill(&mut matrix)?;
    let mut sum = Zeroizing::new(Block::ZERO);
    for last in matrix.last_blocks() {
        sum.xor(last);
        last.zeroize();
    }
    hash::long(&[&*Zeroizing::new(sum.bytes())], out);
    Ok(())
}
