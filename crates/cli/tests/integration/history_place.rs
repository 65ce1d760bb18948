//! The history is only read from locations where only its user can have put it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::sandbox::{Sandbox, skipped, text};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/readme.json");

/// The last choice of state directory: in the temporary directory, where another user may create it first.
fn shared(s: &Sandbox) -> PathBuf {
    let uid = rustix::process::getuid().as_raw();
    s.target().with_file_name("home").join(format!("cryptbench-{uid}"))
}

fn state(s: &Sandbox) -> PathBuf {
    s.target().with_file_name("home").join(".local/state/cryptbench")
}

fn history(s: &Sandbox, args: &[&str]) -> Output {
    s.run(&[&["history"], args].concat())
}

/// A history that another user has prepared.
fn prepared(s: &Sandbox, at: &Path) {
    let path = at.display().to_string();
    let done = history(s, &["--database", &path, "add", FIXTURE]);
    assert!(done.status.success(), "{}", text(&done.stderr));
}

#[test]
fn a_database_in_a_directory_of_somebody_elses_is_left_alone() {
    let s = Sandbox::new();
    let place = shared(&s);
    fs::create_dir(&place).unwrap();
    let database = place.join("history.sqlite");
    prepared(&s, &database);
    assert!(history(&s, &["list"]).status.success(), "as the user's own it is taken");
    let content = fs::read(&database).unwrap();
    let theirs = |what: &str| {
        let done = history(&s, &["list"]);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(5), "{what}: {said}{}", text(&done.stdout));
        assert!(said.contains("there is no history yet"), "{what}: {said}");
    };
    fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).unwrap();
    theirs("open to all");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).unwrap();
    if chown(&place, Some(12_345), None).is_err() {
        return skipped("giving a directory away needs root");
    }
    theirs("of another user");
    // A new history is created in a different location.
    let done = history(&s, &["add", FIXTURE]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(state(&s).join("history.sqlite").is_file());
    assert!(fs::read(&database).unwrap() == content);
}

#[test]
fn an_ordinary_user_takes_no_database_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        return skipped("becoming another user needs root");
    }
    let s = Sandbox::new();
    let home = s.target().with_file_name("home");
    let place = home.join("cryptbench-12345");
    fs::create_dir(&place).unwrap();
    prepared(&s, &place.join("history.sqlite"));
    // Everybody has access, so the owner is the only reason for refusal.
    for (path, mode) in [(home.parent().unwrap(), 0o755), (place.as_path(), 0o777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    for file in fs::read_dir(&place).unwrap() {
        fs::set_permissions(file.unwrap().path(), fs::Permissions::from_mode(0o666)).unwrap();
    }
    let mut command = s.command(&["history", "list"]);
    command.env_remove("XDG_STATE_HOME").env("HOME", "/nonexistent");
    let done = command.uid(12_345).gid(12_345).output().unwrap();
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(5), "{said}{}", text(&done.stdout));
    assert!(said.contains("there is no history yet"), "{said}");
}

#[test]
fn a_database_of_somebody_elses_and_a_link_to_one_are_refused() {
    let s = Sandbox::new();
    let (elsewhere, database) = (s.out().join("theirs.sqlite"), state(&s).join("history.sqlite"));
    prepared(&s, &elsewhere);
    let content = fs::read(&elsewhere).unwrap();
    fs::create_dir_all(state(&s)).unwrap();
    symlink(&elsewhere, &database).unwrap();
    for args in [["list"].as_slice(), &["add", FIXTURE], &["remove", "1"]] {
        let done = history(&s, args);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(5), "{args:?}: {said}");
        assert!(said.contains("is not a regular file"), "{args:?}: {said}");
    }
    assert!(fs::read(&elsewhere).unwrap() == content);
    // The files that SQLite writes next to a named database.
    let victim = s.target().join("victim");
    fs::write(&victim, "the user's").unwrap();
    let path = elsewhere.display().to_string();
    for ending in ["-wal", "-shm", "-journal"] {
        let link = PathBuf::from(format!("{path}{ending}"));
        let _ = fs::remove_file(&link);
        symlink(&victim, &link).unwrap();
        let done = history(&s, &["--database", &path, "remove", "1"]);
        assert_eq!(done.status.code(), Some(5), "{ending}: {}", text(&done.stderr));
        assert_eq!(fs::read(&victim).unwrap(), b"the user's");
        fs::remove_file(link).unwrap();
    }
    fs::remove_file(&database).unwrap();
    fs::copy(&elsewhere, &database).unwrap();
    if chown(&database, Some(12_345), None).is_err() {
        return skipped("giving a file away needs root");
    }
    let done = history(&s, &["list"]);
    let said = text(&done.stderr);
    assert!(done.status.code() == Some(5) && said.contains("belongs to another user"), "{said}");
}
