//! The active range: the part of a target that receives the requests of all arms (SNIA PTS,
//! ActiveRange).
#![expect(
    clippy::disallowed_methods,
    reason = "targets that it claims, checked once they are open"
)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::{Extent, IoMode, IoTarget};
use cryptbench_os::Details;
use cryptbench_os::files::Opening;
use cryptbench_system::SystemError;
use cryptbench_system::resource::{Journal, Scratch};
use cryptbench_text::chain;

use super::existing::{self, Overwritten};
use super::partitioned;
use crate::RunError;
use crate::decide::storage::Target;

/// A scratch file that is removed afterwards, the start of storage that is overwritten, or a device that is
/// only read.
pub(crate) enum ActiveRange {
    Made(Scratch),
    Overwritten(Overwritten),
    Read(OnlyRead),
}

/// A device in use, open for reading.
pub(crate) struct OnlyRead {
    file: Arc<File>,
    /// The whole part that may be read.
    all: Extent,
    /// Bytes of it that an arm reads in a block.
    stretch: u64,
}

impl ActiveRange {
    /// Claims `len` bytes of `target` without filling them. A scratch file is created in `inside`, without
    /// allocating it, for comparison with the file `beside`. Storage to be overwritten is checked again. Only
    /// a table of `partitions` of these lengths is written to it, if there are any.
    ///
    /// # Errors
    /// [`RunError::Target`] if it may no longer be used; [`RunError::System`] if the file cannot be
    /// created.
    pub(super) fn claim(
        target: &Target,
        inside: &Path,
        len: u64,
        buffered: bool,
        beside: Option<&Scratch>,
        partitions: &[u64],
        journal: &Journal,
    ) -> Result<Self, RunError> {
        if let Some(all) = target.only_read {
            let file = Arc::new(open_to_read(target)?);
            return Ok(Self::Read(OnlyRead { file, all, stretch: len }));
        }
        if let Some(existing) = &target.existing {
            if !partitions.is_empty() {
                let claimed = partitioned::claim(existing, partitions, buffered, journal)?;
                return Ok(Self::Overwritten(claimed));
            }
            let refuse = |why| RunError::Target { path: target.path.clone(), problem: chain(&why) };
            let claimed = existing::claim(existing, len, buffered).map_err(refuse)?;
            return Ok(Self::Overwritten(claimed));
        }
        let mut scratch =
            Scratch::create_empty(&inside.join(&target.scratch), len, beside, journal)?;
        if buffered {
            scratch.go_buffered()?;
        }
        Ok(Self::Made(scratch))
    }

    /// The scratch file, if one was created.
    pub(super) fn made(&self) -> Option<&Scratch> {
        match self {
            Self::Made(scratch) => Some(scratch),
            Self::Overwritten(_) | Self::Read(_) => None,
        }
    }

    /// The partitions for arms, with the claims on them.
    pub(super) fn take_partitions(&mut self) -> Vec<(PathBuf, File)> {
        match self {
            Self::Overwritten(extent) => extent.take_partitions(),
            Self::Made(_) | Self::Read(_) => Vec::new(),
        }
    }

    pub(crate) fn io_target(&self) -> IoTarget {
        match self {
            Self::Made(scratch) => scratch.io_target(),
            Self::Overwritten(extent) => extent.io_target(),
            Self::Read(read) => IoTarget {
                file: Arc::clone(&read.file),
                extent: read.all,
                mode: IoMode::Direct,
                transform: None,
            },
        }
    }

    /// Bytes that an arm reads in a block, if the storage is only read and each arm reads a different part of it.
    pub(crate) fn stretch(&self) -> Option<u64> {
        match self {
            Self::Read(read) => Some(read.stretch).filter(|len| *len < read.all.len),
            Self::Made(_) | Self::Overwritten(_) => None,
        }
    }

    /// Size in bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Made(scratch) => scratch.len(),
            Self::Overwritten(extent) => extent.len(),
            Self::Read(read) => read.stretch,
        }
    }

    /// Minimum size in bytes: a signature in the middle must be overwritten together with the data that it
    /// describes.
    pub(crate) fn least(&self) -> u64 {
        match self {
            Self::Made(_) | Self::Read(_) => 0,
            Self::Overwritten(extent) => extent.least(),
        }
    }

    pub(crate) fn mode(&self) -> IoMode {
        match self {
            Self::Made(scratch) => scratch.mode(),
            Self::Overwritten(extent) => extent.mode(),
            Self::Read(_) => IoMode::Direct,
        }
    }

    /// Truncates the range, for devices that are too slow to fill it.
    pub(crate) fn shrink(&mut self, len: u64) -> Result<(), SystemError> {
        match self {
            Self::Made(scratch) => scratch.shrink(len),
            Self::Overwritten(extent) => {
                extent.shrink(len);
                Ok(())
            }
            Self::Read(_) => Ok(()),
        }
    }

    /// Removes a created file; closes existing storage.
    pub(crate) fn end(self) -> Result<(), SystemError> {
        match self {
            Self::Made(scratch) => scratch.remove(),
            Self::Overwritten(extent) => extent.release(),
            Self::Read(_) => Ok(()),
        }
    }
}

/// Opens storage that is only read; it is never opened for writing.
fn open_to_read(target: &Target) -> Result<File, RunError> {
    let refuse = |problem: String| RunError::Target { path: target.path.clone(), problem };
    let opened = Opening::to_read().direct(true).open(&target.path);
    let file = opened.map_err(|e| refuse(format!("cannot be read ({e}): run as root")))?;
    let found = file.metadata().map_err(|e| refuse(e.to_string()))?;
    match Details::of(&found).device == target.ground.number {
        true => Ok(file),
        false => Err(refuse("was replaced after it was checked: try again".to_owned())),
    }
}
