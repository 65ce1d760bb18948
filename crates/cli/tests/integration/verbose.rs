//! `--verbose`: its messages show every step of the set-up, and contain no secrets.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use crate::sandbox::{Sandbox, text};

const TINY: &str =
    "run --builtin-only --size 16MiB --trial 10ms --max-pairs 6 --budget 60s --quiet";

/// The numbers of resources in lines that contain `what` before or after the number.
fn numbers(said: &str, what: &str) -> BTreeSet<u32> {
    let lines = said.lines().filter(|line| line.contains(what));
    let numbers = lines.filter_map(|line| {
        let rest = line.split_once("] ")?.1.trim_start_matches("sets up ");
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    });
    numbers.collect()
}

#[test]
fn whatever_a_run_sets_up_is_told_and_told_again_when_it_is_undone() {
    let s = Sandbox::new();
    let quiet = s.run(&TINY.split(' ').collect::<Vec<_>>());
    assert!(quiet.status.success() && quiet.stderr.is_empty(), "{}", text(&quiet.stderr));
    let mut args: Vec<_> = TINY.split(' ').collect();
    args.push("-v");
    let told = s.run(&args);
    let said = text(&told.stderr);
    assert!(told.status.success(), "{said}");
    let made = numbers(&said, "] sets up ");
    assert!(!made.is_empty() && made == numbers(&said, " was removed"), "{said}");
    assert!(said.contains("scratch-file"), "{said}");
}

#[test]
fn a_variable_asks_for_the_same_and_a_wrong_one_is_refused() {
    let s = Sandbox::new();
    let list = |value: &str| s.command(&["systems"]).env("CRYPTBENCH_LOG", value).output().unwrap();
    for (value, is_told) in [("", false), ("off", false), ("info", true), ("debug", true)] {
        let done = list(value);
        let said = text(&done.stderr);
        assert!(done.status.success(), "{value}: {said}");
        assert_eq!(said.contains("] cryptbench 1."), is_told, "{value}: {said}");
    }
    // A value that is not UTF-8 is not a valid level either.
    let unreadable = std::ffi::OsStr::from_bytes(b"info\xff");
    let unread = s.command(&["systems"]).env("CRYPTBENCH_LOG", unreadable).output().unwrap();
    let refused = list("loud");
    assert_eq!((refused.status.code(), unread.status.code()), (Some(2), Some(2)));
    assert_eq!(text(&unread.stderr), text(&refused.stderr));
    insta::assert_snapshot!(text(&refused.stderr), @"cryptbench: CRYPTBENCH_LOG: must be off, error, warn, info, \
    debug or trace");
}

#[test]
fn no_passphrase_is_told_by_either_process() {
    let s = Sandbox::new();
    let secret = "nobody may read this";
    fs::write(s.target().join("secret"), secret).unwrap();
    let create = "volume create v --size 3MiB --format luks1 --unlock-time 1ms";
    for line in [create, "volume info v --open"] {
        let line = format!("-vv {line} --passphrase-file secret");
        let done = s.run(&line.split(' ').collect::<Vec<_>>());
        let said = text(&done.stderr);
        assert!(done.status.success(), "{said}");
        assert!(!said.contains(secret), "{said}");
        if line.contains("info") {
            let processes: BTreeSet<_> =
                said.lines().filter_map(|line| line.split(['[', ']']).nth(1)).collect();
            assert_eq!(processes.len(), 3, "the command and its two children: {said}");
        }
    }
}
