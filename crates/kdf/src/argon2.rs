//! Argon2i and Argon2id (RFC 9106), as LUKS2 and VeraCrypt derive keys with them.

use std::fmt;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use zeroize::Zeroize;

use crate::effort::Effort;
use crate::error::KdfError;

/// Which addresses depend on the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Argon2Kind {
    /// None: Argon2i.
    I,
    /// Those after half of the first pass: Argon2id.
    Id,
}

impl Argon2Kind {
    /// Name in records and in LUKS2 metadata: `argon2i` or `argon2id`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::I => "argon2i",
            Self::Id => "argon2id",
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
    /// Memory in KiB, at least 8 for each lane.
    pub memory_kib: u32,
    /// Passes over the memory, at least 1.
    pub passes: u32,
    /// Independent lanes, 1 to 2^24 - 1: another number is another key.
    pub lanes: u32,
}

/// Derives a key of 4 bytes or more with Argon2 version 1.3, lanes on as many threads as `effort` allows.
///
/// The memory is given back unwiped, but for the blocks that the key comes from: wiping a GiB takes a
/// tenth of a second, and the system zeroes it before anyone else gets it. `effort`'s tier is no ceiling
/// here: the `argon2` crate uses AVX2 where the CPU has it. A stop is obeyed only before the start.
///
/// # Errors
/// [`KdfError::Parameters`] for a cost, a salt below 8 bytes or a key length that Argon2 does not allow;
/// [`KdfError::Memory`]; [`KdfError::Stopped`].
pub fn argon2(
    kind: Argon2Kind,
    password: &[u8],
    salt: &[u8],
    params: Argon2Params,
    out: &mut [u8],
    effort: Effort<'_>,
) -> Result<(), KdfError> {
    let function = kind.as_str();
    let refuse =
        |error: &dyn fmt::Display| KdfError::Parameters { function, reason: error.to_string() };
    effort.check()?;
    let _timed = effort.start();
    let algorithm = match kind {
        Argon2Kind::I => Algorithm::Argon2i,
        Argon2Kind::Id => Algorithm::Argon2id,
    };
    let Argon2Params { memory_kib, passes, lanes } = params;
    let checked =
        Params::new(memory_kib, passes, lanes, Some(out.len())).map_err(|error| refuse(&error))?;
    let count = checked.block_count();
    let mut blocks = Vec::new();
    blocks
        .try_reserve_exact(count)
        .map_err(|_| KdfError::Memory { function, kib: memory_kib.into() })?;
    blocks.resize(count, Block::new());
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(effort.threads().min(lanes as usize))
        .build()
        .map_err(|error| refuse(&error))?;
    let argon2 = Argon2::new(algorithm, Version::V0x13, checked);
    let result =
        pool.install(|| argon2.hash_password_into_with_memory(password, salt, out, &mut blocks));
    for lane in blocks.chunks_mut(count / lanes as usize) {
        if let Some(last) = lane.last_mut() {
            last.zeroize();
        }
    }
    result.map_err(|error| refuse(&error))
}
