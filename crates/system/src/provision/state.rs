//! The directories of journals and records (XDG Base Directory Specification).

use std::env;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cryptbench_os::{Writers, renamed_by};

/// The directory of root's journals, regardless of the home directory: `sudo` and a root login use different home
/// directories, but each must find what the other mounted.
const OF_ROOT: &str = "/var/lib/cryptbench";

/// Directories that may contain journals, the preferred one first.
///
/// `$XDG_STATE_HOME/cryptbench`; for root `/var/lib/cryptbench`; `~/.local/state/cryptbench`; and a private
/// directory in the temporary directory for users without a writable home. Cleanup and unmounting search all of
/// them. Cleanup removes everything that a journal lists. For root, directories in which another user could
/// rename anything are therefore omitted, such as the home directory that `sudo` may leave in the environment.
pub fn state_directories() -> Vec<PathBuf> {
    let root = rustix::process::getuid().is_root();
    let chosen = env::var_os("XDG_STATE_HOME").is_some_and(|dir| Path::new(&dir).is_absolute());
    let mut found = with_roots(candidates("XDG_STATE_HOME", ".local/state"), root, chosen);
    if root {
        found.retain(|directory| is_roots_own(directory));
    }
    found
}

/// Whether only root controls the contents of `directory`, which need not exist yet.
fn is_roots_own(directory: &Path) -> bool {
    let mut there = directory.ancestors().filter(|way| fs::symlink_metadata(way).is_ok());
    there.next().is_some_and(|way| matches!(renamed_by(way, 0, Writers::Owner), Ok(None)))
}

/// The existing state directories to which only this user can have written.
pub fn trusted_state_directories() -> Vec<PathBuf> {
    state_directories().into_iter().filter(|dir| trusted(dir)).collect()
}

/// Adds root's own directory to `found`: at the start or, if the environment variable specifies a directory, after the
/// specified directory.
fn with_roots(mut found: Vec<PathBuf>, root: bool, chosen: bool) -> Vec<PathBuf> {
    if root {
        found.insert(usize::from(chosen), OF_ROOT.into());
    }
    found
}

/// The directory for records: the first writable one of `$XDG_DATA_HOME/cryptbench` and its fallbacks. As for
/// journals, root does not use a directory in which another user could rename anything.
pub fn data_directory() -> Option<PathBuf> {
    let root = rustix::process::getuid().is_root();
    let mut fit = candidates("XDG_DATA_HOME", ".local/share").into_iter();
    fit.find(|directory| (!root || is_roots_own(directory)) && make_private(directory))
}

/// A private directory for mounts that does not survive a reboot: below `/run` for root, in `$XDG_RUNTIME_DIR`
/// for other users, or in the temporary directory.
pub fn runtime_directory() -> Option<PathBuf> {
    let root = rustix::process::geteuid().is_root().then(|| PathBuf::from("/run/cryptbench"));
    let user = env::var_os("XDG_RUNTIME_DIR").map(|d| PathBuf::from(d).join("cryptbench"));
    let uid = rustix::process::getuid().as_raw();
    let of_user = user.filter(|d| d.is_absolute() && d.parent().is_some_and(Path::is_dir));
    let found = [root, of_user].into_iter().flatten().find(|d| make_private(d));
    // Both levels are checked, because anyone who can write to the parent can replace the child.
    let shared = env::temp_dir().join(format!("cryptbench-{uid}"));
    let last = shared.join("run");
    found.or_else(|| (make_private(&shared) && make_private(&last)).then_some(last))
}

fn candidates(variable: &str, below_home: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    // The specification requires relative paths in the variable to be ignored.
    if let Some(base) = env::var_os(variable).map(PathBuf::from).filter(|p| p.is_absolute()) {
        found.push(base.join("cryptbench"));
    } else if let Some(home) = env::home_dir().filter(|p| p.is_absolute()) {
        found.push(home.join(below_home).join("cryptbench"));
    }
    let uid = rustix::process::getuid().as_raw();
    found.push(env::temp_dir().join(format!("cryptbench-{uid}")));
    found
}

/// Creates `dir` for this user only, or accepts it if this user owns it and can write to it.
///
/// Ownership matters in the shared temporary directory: another user who could write a journal could cause
/// cleanup to delete any file.
pub(crate) fn make_private(dir: &Path) -> bool {
    if fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).is_err() {
        return false;
    }
    trusted(dir) && rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Whether `dir` is a real directory of this user that no one else can write to.
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
        // The other directories come after it.
        assert_eq!(with_roots(sudo.clone(), true, false)[1..], sudo);
        // A directory that was explicitly chosen stays first, and those of an ordinary user are unchanged.
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
            eprintln!("SKIPPED: giving a directory away requires root");
            return;
        }
        let inside = home.join(".local/state/cryptbench");
        assert!(is_roots_own(dir.path()) && is_roots_own(&dir.path().join("new/deep")));
        assert!(!is_roots_own(&home) && !is_roots_own(&inside));
        // A directory owned by root in a user's home can still be renamed by the user.
        fs::create_dir_all(&inside).unwrap();
        assert!(!is_roots_own(&inside));
    }
}
