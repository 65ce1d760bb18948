//! Starting the program does nothing slow: it opens no files except those of the loader, and probes nothing.

use std::process::Command;

use crate::sandbox::{Sandbox, skipped, text};

/// Counts system calls, because time varies between machines but system calls do not.
#[test]
fn the_version_is_printed_without_a_look_at_the_machine() {
    let sandbox = Sandbox::new();
    let log = sandbox.out().join("strace");
    let done = Command::new("strace")
        .args(["-f", "-o"])
        .arg(&log)
        .args(["-e", "trace=openat,open,execve,clone,clone3,socket,io_uring_setup"])
        .args([env!("CARGO_BIN_EXE_cryptbench"), "--version"])
        .output();
    let Ok(done) =
        done.as_ref().map_err(|_| ()).and_then(|d| d.status.success().then_some(d).ok_or(()))
    else {
        skipped("strace cannot be run here");
        return;
    };
    assert!(text(&done.stdout).starts_with("cryptbench "), "{}", text(&done.stdout));
    let calls = std::fs::read_to_string(&log).unwrap();
    let unexpected: Vec<&str> = calls
        .lines()
        .filter(|l| l.contains('(') && !l.contains("execve("))
        .filter(|l| {
            !["/lib", "/etc/ld.so", "/usr/lib", "/proc/self/maps", "cgroup"]
                .iter()
                .any(|known| l.contains(known))
        })
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}
