//! Where journals and records live (XDG Base Directory Specification).

use std::env;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cryptbench_os::{Writers, renamed_by};

/// Where root's journals lie whatever its home is said to be: `sudo` and a login of root have different
/// ones, and the one has to find what the other mounted.
const OF_ROOT: &str = "/var/lib/cryptbench";

/// Directories that may hold journals, the preferred one first.
///
/// `$XDG_STATE_HOME/cryptbench`; for root `/var/lib/cryptbench`; `~/.local/state/cryptbench`; and a private
/// directory in the temporary directory for users without a writable home. All of them are looked through
/// for what is to be cleaned up or unmounted. Root takes none in which another user could rename anything, such as the
/// home that `sudo` may leave in the environment: what a journal names is removed.
pub fn state_directories() -> Vec<PathBuf> {
    let root = rustix::process::getuid().is_root();
    let chosen = env::var_os("XDG_STATE_HOME").is_some_and(|dir| Path::new(&dir).is_absolute());
    let mut found = with_roots(candidates("XDG_STATE_HOME", ".local/state"), root, chosen);
    if root {
        found.retain(|directory| is_roots_own(directory));
    }
    found
}

/// Whether only root decides what lies at `directory`, which need not be there yet.
fn is_roots_own(directory: &Path) -> bool {
    let mut there = directory.ancestors().filter(|way| fs::symlink_metadata(way).is_ok());
    there.next().is_some_and(|way| matches!(renamed_by(way, 0, Writers::Owner), Ok(None)))
}

/// Those that are there and in which nobody but this user can have put anything.
pub fn trusted_state_directories() -> Vec<PathBuf> {
    state_directories().into_iter().filter(|dir| trusted(dir)).collect()
}

/// `found` with root's own directory: first, unless somebody chose another by the variable.
fn with_roots(mut found: Vec<PathBuf>, root: bool, chosen: bool) -> Vec<PathBuf> {
    if root {
        found.insert(usize::from(chosen), OF_ROOT.into());
    }
    found
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
/// Ownership matters in the shared temporary directory: a journal that somebody else could write
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_journals_lie_in_one_place_whatever_its_home_is() {
        let found = |home: &str| vec![PathBuf::from(home), "/tmp/cryptbench-0".into()];
        let (sudo, login) = (found("/home/u/.local/state"), found("/root/.local/state"));
        assert_eq!(with_roots(sudo.clone(), true, false)[0], Path::new(OF_ROOT));
        assert_eq!(with_roots(login.clone(), true, false)[0], Path::new(OF_ROOT));
        // Others come after it.
        assert_eq!(with_roots(sudo.clone(), true, false)[1..], sudo);
        // A directory that was chosen stays the first, and an ordinary user's are as they were.
        let chosen = with_roots(login.clone(), true, true);
        assert_eq!((&chosen[0], chosen[1].as_path()), (&login[0], Path::new(OF_ROOT)));
        assert_eq!(with_roots(login.clone(), false, false), login);
    }

    #[test]
    fn root_takes_no_directory_that_another_user_could_rename() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        fs::create_dir(&home).unwrap();
        if std::os::unix::fs::chown(&home, Some(12_345), None).is_err() {
            eprintln!("SKIPPED: giving a directory away takes root");
            return;
        }
        let inside = home.join(".local/state/cryptbench");
        assert!(is_roots_own(dir.path()) && is_roots_own(&dir.path().join("new/deep")));
        assert!(!is_roots_own(&home) && !is_roots_own(&inside));
        // Root's own directory in a user's home is still the user's to rename.
        fs::create_dir_all(&inside).unwrap();
        assert!(!is_roots_own(&inside));
    }
}
