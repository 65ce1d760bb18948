//! What root measures for a user who called sudo belongs to that user, and gives that user no additional
//! privileges.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::sandbox::{Sandbox, skipped, text};

/// A user and a group that exist on no machine.
const USER: u32 = 1_234_567;
const GROUP: u32 = 1_234_568;

/// A directory of that user with access for others; `None` without root.
fn home() -> Option<tempfile::TempDir> {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    if chown(dir.path(), Some(USER), Some(GROUP)).is_err() {
        skipped("giving a directory away needs root");
        return None;
    }
    Some(dir)
}

fn asked(s: &Sandbox, out: &[&str]) -> Output {
    let args = s.tiny(&[out, &["--cipher", "aes-256-xts", "--data-unit", "4096"]].concat());
    let mut command = s.command(&args);
    command.env("SUDO_UID", USER.to_string()).env("SUDO_GID", GROUP.to_string());
    command.output().unwrap()
}

fn owner(path: &Path) -> (u32, u32) {
    let found = fs::symlink_metadata(path).unwrap();
    (found.uid(), found.gid())
}

fn theirs(run: &Path) {
    for path in [run.to_owned(), run.join("record.json"), run.join("report.html")] {
        assert_eq!(owner(&path), (USER, GROUP), "{}", path.display());
    }
    assert!(!cryptbench_record::read(run).unwrap().trials.is_empty());
    assert_eq!(fs::read_dir(run).unwrap().count(), 2, "the log has gone");
}

#[test]
fn the_files_of_a_run_are_the_users() {
    let Some(home) = home() else { return };
    let s = Sandbox::new();
    let out = home.path().join("new/run");
    let done = asked(&s, &["--output", out.to_str().unwrap()]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    theirs(&out);
    assert_eq!(owner(&home.path().join("new")), (USER, GROUP));
    // A user without a home directory gets a private directory among the temporary files.
    let last = PathBuf::from(format!("/tmp/cryptbench-{USER}"));
    let _ = fs::remove_dir_all(&last);
    let done = asked(&s, &[]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let runs: Vec<_> =
        fs::read_dir(last.join("runs")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(runs.len(), 1);
    theirs(&runs[0]);
    assert!(text(&done.stdout).contains(runs[0].to_str().unwrap()), "it says where");
    fs::remove_dir_all(&last).unwrap();
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
}

#[test]
fn links_of_the_user_lead_no_further_than_the_user_could_go() {
    let Some(home) = home() else { return };
    let s = Sandbox::new();
    let roots = tempfile::tempdir().unwrap();
    let file = roots.path().join("file");
    fs::write(&file, "root's").unwrap();
    let refused = |out: &Path, why: &str| {
        let done = asked(&s, &["--output", out.to_str().unwrap()]);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(3), "{said}");
        assert!(said.contains(why) && said.contains(&format!("for user {USER}")), "{said}");
        assert_eq!(fs::read_dir(roots.path()).unwrap().count(), 1, "{said}");
        assert_eq!(fs::read(&file).unwrap(), b"root's");
    };
    let link = home.path().join("link");
    symlink(roots.path(), &link).unwrap();
    refused(&link, "is not writable");
    refused(&link.join("new"), "Permission denied");
    let out = home.path().join("out");
    fs::create_dir(&out).unwrap();
    chown(&out, Some(USER), Some(GROUP)).unwrap();
    for name in ["record.json", "report.html", "trials.jsonl"] {
        symlink(&file, out.join(name)).unwrap();
        refused(&out, "contains a");
        fs::remove_file(out.join(name)).unwrap();
    }
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
}

#[test]
fn in_a_directory_of_roots_own_root_writes() {
    if home().is_none() {
        return;
    }
    let s = Sandbox::new();
    let roots = tempfile::tempdir().unwrap();
    let out = roots.path().join("run");
    let done = asked(&s, &["--output", out.to_str().unwrap()]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(owner(&out.join("record.json")).0, 0);
}
