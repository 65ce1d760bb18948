//! Starting does nothing that takes time: no file but the loader's is opened, nothing is probed.

use std::process::Command;

use crate::sandbox::{Sandbox, skipped, text};

/// Time differs from machine to machine; what a start asks of the kernel does not.
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
