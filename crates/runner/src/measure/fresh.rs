//! A new file for one trial.
#![expect(clippy::disallowed_methods, reason = "files of a run in an arm")]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use cryptbench_blockdev::{Extent, IoMode, IoTarget};
use cryptbench_os::files;
use cryptbench_system::PreparedArm;

use crate::RunError;

/// An empty file that grows to a given size and is removed when dropped. If the process is killed,
/// its directory is removed as a whole.
pub(super) struct FreshFile {
    pub(super) io_target: IoTarget,
    path: PathBuf,
}

impl FreshFile {
    /// Creates a file for `len` bytes among the arm's new files, accessed through its inline layer.
    pub(super) fn create(arm: &PreparedArm, len: u64, number: u64) -> Result<Self, RunError> {
        let path = arm.directory.join(format!("fresh-{number}"));
        let mode = arm.io_target.mode;
        let file = files::create_own(&path, mode == IoMode::Direct)
            .map_err(|source| RunError::Storage { act: "create a new file", source })?;
        let io_target = IoTarget {
            file: Arc::new(file),
            extent: Extent { offset: 0, len },
            mode,
            transform: arm.io_target.transform.clone(),
        };
        Ok(Self { io_target, path })
    }
}

impl Drop for FreshFile {
    fn drop(&mut self) {
        // A remaining file is removed with its directory.
        let _ = fs::remove_file(&self.path);
    }
}
