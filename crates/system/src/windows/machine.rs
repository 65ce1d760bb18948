//! What systems require on this machine: nothing, because a run on Windows does not set up any system.

use std::path::PathBuf;

use cryptbench_catalog::Remedy;

use crate::Availability;

/// File systems cannot be created on Windows.
pub fn lacks_ntfs() -> Option<(String, Remedy)> {
    Some((
        "cryptbench cannot create file systems on Windows".to_owned(),
        "use Windows' own tools".into(),
    ))
}

/// This machine.
#[derive(Clone)]
pub(crate) struct Machine;

impl Machine {
    pub(crate) fn this() -> Self {
        Self
    }

    /// Whether a program is installed: always false, because no program is used.
    pub(crate) fn has(&self, _program: &str) -> bool {
        false
    }

    pub(crate) fn lacks_ntfs(&self) -> Option<(String, Remedy)> {
        lacks_ntfs()
    }

    pub(crate) fn dm_crypt(&self) -> PathBuf {
        PathBuf::new()
    }

    pub(crate) fn dm_crypt_parameters(&self) -> Vec<String> {
        Vec::new()
    }

    pub(crate) fn has_inline_crypto(&self) -> bool {
        false
    }

    pub(crate) fn lacks_ublk(&self) -> Option<(String, Remedy)> {
        Some(("ublk exists only on Linux".to_owned(), "measure on Linux".into()))
    }

    pub(crate) fn lacks_fuse_uring(&self) -> Option<(String, Remedy)> {
        Some(("FUSE is used only on Linux".to_owned(), "measure on Linux".into()))
    }

    pub(crate) fn lacks_fuse(&self) -> Option<Availability> {
        Some(Availability::without("FUSE is used only on Linux", "use a Windows program"))
    }

    pub(crate) fn lacks_disks(&self) -> Option<Availability> {
        Some(Availability::without("loop devices exist only on Linux", "attach a VHD in Windows"))
    }

    pub(crate) fn lacks_device_mapper(&self) -> Option<Availability> {
        Some(Availability::without("the device mapper exists only on Linux", "use BitLocker"))
    }
}
