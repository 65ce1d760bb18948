//! The state of the machine for a run: directories, and facts that Windows does not report.

#[path = "../provision/dm_crypt.rs"]
mod dm_crypt;
#[path = "../provision/file_system_kind.rs"]
mod file_system_kind;
#[path = "../provision/mountinfo.rs"]
pub mod mountinfo;
#[path = "../provision/recognised.rs"]
mod recognised;

use std::env;
use std::path::{Path, PathBuf};

use cryptbench_os::dirs;

pub use dm_crypt::CryptTable;
pub use recognised::Signature;

use crate::SystemError;

/// A directory of this program in the local part of the user's profile.
fn below(name: &str) -> Option<PathBuf> {
    let local = env::var_os("LOCALAPPDATA").map(PathBuf::from).filter(|dir| dir.is_absolute());
    Some(local?.join("cryptbench").join(name))
}

/// The directory that holds journals: `%LOCALAPPDATA%\\cryptbench\\state`.
pub fn state_directories() -> Vec<PathBuf> {
    below("state").into_iter().collect()
}

/// The same, if it exists.
pub fn trusted_state_directories() -> Vec<PathBuf> {
    state_directories().into_iter().filter(|dir| dir.is_dir()).collect()
}

/// The directory for records: `%LOCALAPPDATA%\\cryptbench\\data`.
pub fn data_directory() -> Option<PathBuf> {
    below("data").filter(|directory| make_private(directory))
}

/// A private directory for temporary data of a run: `%LOCALAPPDATA%\\cryptbench\\run`.
pub fn runtime_directory() -> Option<PathBuf> {
    below("run").filter(|directory| make_private(directory))
}

/// Creates `dir`, which inherits its permissions from the profile.
pub(crate) fn make_private(dir: &Path) -> bool {
    dirs::create_private(dir).is_ok() && dir.is_dir()
}

/// Always unknown, because ZFS does not exist on Windows.
pub fn zfs_encryption(_dataset: &str) -> Option<String> {
    None
}

/// Always unknown.
pub fn zfs_compression(_dataset: &str) -> Option<String> {
    None
}

pub(crate) fn zfs_driver(_dataset: &str) -> Option<String> {
    None
}

/// Contents that this program recognises in the file at `path`.
///
/// # Errors
/// [`SystemError::Io`] if `path` cannot be read.
pub fn signatures(path: &Path) -> Result<Vec<Signature>, SystemError> {
    Ok(recognised::recognised(path)?.into_iter().collect())
}

/// # Errors
/// [`SystemError::Unavailable`]: dm-crypt exists only on Linux.
pub fn crypt_table(name: &str) -> Result<CryptTable, SystemError> {
    Err(SystemError::Unavailable {
        name: name.to_owned(),
        reason: format!("{} exists only on Linux", cryptbench_catalog::DM_CRYPT.name),
        remedy: "on Windows: cryptbench run --pair PLAIN ENCRYPTED".into(),
    })
}

pub mod filesystem {
    //! File systems: Windows creates and unmounts its own.

    use std::path::Path;
    use std::time::Duration;

    pub use super::file_system_kind::FileSystemKind;
    use crate::SystemError;

    /// Retries `act` for up to two seconds, because a virus scanner that examines each new file releases it
    /// after a moment.
    pub(crate) fn once_let_go(
        mut act: impl FnMut() -> Result<(), SystemError>,
    ) -> Result<(), SystemError> {
        const ATTEMPTS: u32 = 200;
        const SHARING_VIOLATION: i32 = 32;
        for _ in 1..ATTEMPTS {
            match act() {
                Err(SystemError::Io { source, .. })
                    if source.raw_os_error() == Some(SHARING_VIOLATION) =>
                {
                    std::thread::sleep(Duration::from_millis(10));
                }
                other => return other,
            }
        }
        act()
    }

    fn refusal(path: &Path) -> SystemError {
        let problem = "cryptbench cannot create or mount file systems on Windows".to_owned();
        SystemError::Target { path: path.to_owned(), problem }
    }

    /// # Errors
    /// [`SystemError::Target`]: not possible here.
    pub fn make(_: FileSystemKind, device: &Path) -> Result<(), SystemError> {
        Err(refusal(device))
    }

    /// # Errors
    /// [`SystemError::Target`]: not possible here.
    pub fn make_settled(device: &Path) -> Result<(), SystemError> {
        Err(refusal(device))
    }

    /// # Errors
    /// [`SystemError::Target`]: nothing is mounted here.
    pub fn unmount(directory: &Path) -> Result<(), SystemError> {
        Err(refusal(directory))
    }

    /// # Errors
    /// [`SystemError::Target`]: nothing is mounted here.
    pub fn is_in_use(directory: &Path) -> Result<bool, SystemError> {
        Err(refusal(directory))
    }
}
