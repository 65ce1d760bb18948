//! Storage with almost no cost: a file in RAM, and a loop device over such a file.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};

use super::fill;

/// A file on a RAM file system.
pub(super) struct RamFile {
    pub(super) path: PathBuf,
    _directory: tempfile::TempDir,
}

impl RamFile {
    pub(super) fn new(mib: u64) -> anyhow::Result<Self> {
        let directory =
            tempfile::tempdir_in("/dev/shm").context("no RAM file system at /dev/shm")?;
        let path = directory.path().join("scratch");
        fill(&path, mib)?;
        Ok(Self { path, _directory: directory })
    }
}

/// A loop device over a file in RAM.
pub(in crate::bench) struct LoopOverRam {
    pub(in crate::bench) device: PathBuf,
    _file: RamFile,
}

impl LoopOverRam {
    pub(in crate::bench) fn attach(mib: u64) -> anyhow::Result<Self> {
        let file = RamFile::new(mib)?;
        let out = Command::new("losetup").args(["--find", "--show"]).arg(&file.path).output()?;
        if !out.status.success() {
            bail!("losetup: {}", String::from_utf8_lossy(&out.stderr).trim());
        }
        let device = PathBuf::from(String::from_utf8(out.stdout)?.trim());
        Ok(Self { device, _file: file })
    }
}

impl Drop for LoopOverRam {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}
