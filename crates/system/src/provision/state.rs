//! Where ledgers and records live (XDG Base Directory Specification).

use std::env;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Directories that may hold ledgers, the preferred one first.
///
/// `$XDG_STATE_HOME/cryptbench`, `~/.local/state/cryptbench`, and a private directory in the
/// temporary directory for users without a writable home.
pub fn state_directories() -> Vec<PathBuf> {
    candidates("XDG_STATE_HOME", ".local/state")
}

/// The directory for records: `$XDG_DATA_HOME/cryptbench` or its fallbacks, the first writable one.
pub fn data_directory() -> Option<PathBuf> {
    candidates("XDG_DATA_HOME", ".local/share").into_iter().find(|d| make_private(d))
}

/// A private directory that does not outlive a reboot, for mounts: below `/run` for root,
/// `$XDG_RUNTIME_DIR` for others, the temporary directory where neither is there.
pub fn runtime_directory() -> Option<PathBuf> {
    let root = rustix::process::geteuid().is_root().then(|| PathBuf::from("/run/cryptbench"));
    let user = env::var_os("XDG_RUNTIME_DIR").map(|d| PathBuf::from(d).join("cryptbench"));
    let uid = rustix::process::getuid().as_raw();
    let of_user = user.filter(|d| d.is_absolute() && d.parent().is_some_and(Path::is_dir));
    let found = [root, of_user].into_iter().flatten().find(|d| make_private(d));
    // Both levels are checked: whoever may write the parent may replace the child.
    let shared = env::temp_dir().join(format!("cryptbench-{uid}"));
    let last = shared.join("run");
    found.or_else(|| (make_private(&shared) && make_private(&last)).then_some(last))
}

fn candidates(variable: &str, below_home: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    // The specification: a relative path in the variable is to be ignored.
    if let Some(base) = env::var_os(variable).map(PathBuf::from).filter(|p| p.is_absolute()) {
        found.push(base.join("cryptbench"));
    } else if let Some(home) = env::home_dir().filter(|p| p.is_absolute()) {
        found.push(home.join(below_home).join("cryptbench"));
    }
    let uid = rustix::process::getuid().as_raw();
    found.push(env::temp_dir().join(format!("cryptbench-{uid}")));
    found
}

/// Creates `dir` for this user alone, or accepts it when it is this user's and writable.
///
/// Ownership matters in the shared temporary directory: a ledger that somebody else could write
/// would make cleanup delete files of their choice.
pub(crate) fn make_private(dir: &Path) -> bool {
    if fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).is_err() {
        return false;
    }
    trusted(dir) && rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Whether `dir` is a real directory of this user that nobody else may write.
pub(crate) fn trusted(dir: &Path) -> bool {
    fs::symlink_metadata(dir).is_ok_and(|m| {
        m.is_dir()
            && m.uid() == rustix::process::getuid().as_raw()
            && m.permissions().mode() & 0o022 == 0
    })
}
