//! The active range: the part of a target that the requests of all arms go to (SNIA PTS, ActiveRange).

use std::path::Path;

use cryptbench_blockdev::{IoMode, IoTarget};
use cryptbench_system::SystemError;
use cryptbench_system::resource::{Journal, Scratch};

use crate::RunError;
use crate::plan::storage::{Overwritten, Target};

/// A scratch file that is removed afterwards, or the beginning of something that is overwritten.
pub(crate) enum ActiveRange {
    Made(Scratch),
    Overwritten(Overwritten),
}

impl ActiveRange {
    /// `len` bytes of `target`, not yet filled; a file that is made for it lies in `inside`. What is to be overwritten is
    /// checked once more; nothing is written to it here.
    ///
    /// # Errors
    /// [`RunError::Target`] if it may not be used any more; [`RunError::System`] if the file cannot be made.
    pub(super) fn claim(
        target: &Target,
        inside: &Path,
        len: u64,
        buffered: bool,
        journal: &Journal,
    ) -> Result<Self, RunError> {
        if let Some(claimed) = target.claim(len, buffered)? {
            return Ok(Self::Overwritten(claimed));
        }
        let mut scratch = Scratch::create(&inside.join(&target.scratch), len, journal)?;
        if buffered {
            scratch.go_buffered()?;
        }
        Ok(Self::Made(scratch))
    }

    pub(crate) fn io_target(&self) -> IoTarget {
        match self {
            Self::Made(scratch) => scratch.io_target(),
            Self::Overwritten(extent) => extent.io_target(),
        }
    }

    /// Bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Made(scratch) => scratch.len(),
            Self::Overwritten(extent) => extent.len(),
        }
    }

    /// Bytes below which it cannot be cut: a signature in the middle must go with what it describes.
    pub(crate) fn least(&self) -> u64 {
        match self {
            Self::Made(_) => 0,
            Self::Overwritten(extent) => extent.least(),
        }
    }

    pub(crate) fn mode(&self) -> IoMode {
        match self {
            Self::Made(scratch) => scratch.mode(),
            Self::Overwritten(extent) => extent.mode(),
        }
    }

    /// Cuts it, for devices too slow to fill it.
    pub(crate) fn shrink(&mut self, len: u64) -> Result<(), SystemError> {
        match self {
            Self::Made(scratch) => scratch.shrink(len),
            Self::Overwritten(extent) => {
                extent.shrink(len);
                Ok(())
            }
        }
    }

    /// Removes what was made, lets go of what was there.
    pub(crate) fn end(self) -> Result<(), SystemError> {
        match self {
            Self::Made(scratch) => scratch.remove(),
            Self::Overwritten(extent) => extent.release(),
        }
    }
}
