//! A new file for one trial.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use cryptbench_blockdev::{Extent, IoMode, IoTarget};
use cryptbench_os::files;
use cryptbench_system::PreparedArm;

use crate::RunError;

/// An empty file that grows to a size, removed when it is dropped. It lies in a directory that goes as a
/// whole, should the process be killed.
pub(super) struct FreshFile {
    pub(super) io_target: IoTarget,
    path: PathBuf,
}

impl FreshFile {
    /// A file for `len` bytes where the prepared's new files go, through its inline layer.
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
        // What stays goes with its directory.
        let _ = fs::remove_file(&self.path);
    }
}
