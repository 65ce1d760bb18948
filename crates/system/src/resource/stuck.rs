//! Frees a killed process that serves a file system and also waits for that file system. The process exits only
//! after the file system's connection is aborted.
//!
//! The server threads no longer exist. Another thread of the process flushes or reads the device on top of the
//! file system, in an uninterruptible wait. The connection is closed only when that thread exits, and the
//! thread could exit only if the connection were closed.
#![expect(
    clippy::disallowed_methods,
    reason = "a file of /sys; files of a run, and of /proc and /sys; for now"
)]

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use cryptbench_export::fuse::FILE_SYSTEM;
use rustix::fs::{FlockOperation, flock};

use super::{AnyResource, FuseMount, Identity};
use crate::command;
use crate::provision::mountinfo::mount_at;

/// The directory of the kernel's FUSE connections (Linux, `Documentation/filesystems/fuse/fuse.rst`).
const CONNECTIONS: &str = "/sys/fs/fuse/connections";

/// Maximum time for a forked process to execute its program.
const FORKED: Duration = Duration::from_secs(2);

/// Bit of SIGKILL in the masks of proc_pid_status(5).
const KILL: u64 = 1 << (9 - 1);

/// `PF_EXITING` (Linux, `include/linux/sched.h`).
const EXITING: u64 = 4;

/// Time limit for a process to exit after it was killed, or after its connection was aborted.
const LIMIT: Duration = Duration::from_secs(10);

/// Aborts the FUSE connections that a killed process recorded in its journal, and waits for it to exit. Does
/// not affect running processes.
pub(super) fn free(journal: &File, left: &[(AnyResource, Option<Identity>)]) {
    let served = left.iter().filter_map(|(what, identity)| match what {
        AnyResource::FuseMount(FuseMount { path }) => Some((path, *identity)),
        _ => None,
    });
    let ours = |path: &Path, identity: Option<Identity>| {
        let entry = mount_at(path)?;
        let is_noted = identity.is_none_or(|id| id.device == entry.device);
        (entry.file_system == FILE_SYSTEM && is_noted).then_some(entry.device)
    };
    let devices: Vec<u64> = served.filter_map(|(path, identity)| ours(path, identity)).collect();
    if devices.is_empty() || !holder(journal).is_some_and(is_killed) {
        return;
    }
    with_connections(|| {
        for device in &devices {
            // A connection's number is the minor device number of its file system; the major number is 0.
            let abort = format!("{CONNECTIONS}/{}/abort", rustix::fs::minor(*device));
            let _ = fs::write(abort, "1");
        }
    });
    let until = Instant::now() + LIMIT;
    while flock(journal, FlockOperation::NonBlockingLockShared).is_err() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for an exiting process that still holds the lock of its journal and so makes its run look active. It
/// is either a killed process that waits for the disk or releases its memory, or a process that a killed run
/// forked and that has not executed its program yet.
pub(super) fn await_ending(journal: &File) {
    let began = Instant::now();
    loop {
        let patience = match holder(journal) {
            Some(process) if cryptbench_os::process::has_ended(process) => FORKED,
            Some(process) if is_ending(process) => LIMIT,
            _ => return,
        };
        if began.elapsed() >= patience {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a process is exiting, or will exit because of SIGKILL.
fn is_ending(process: u32) -> bool {
    is_killed(process)
        || fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| exits(&stat))
}

/// Whether the flags of proc_pid_stat(5) show that the first thread is exiting.
fn exits(stat: &str) -> bool {
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let flags = fields.split_whitespace().nth(6).and_then(|flags| flags.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & EXITING != 0)
}

/// The process that holds the lock of a journal, according to proc_locks(5).
fn holder(journal: &File) -> Option<u32> {
    let identity = Identity::of(journal).ok()?;
    let (major, minor) = (rustix::fs::major(identity.device), rustix::fs::minor(identity.device));
    let file = format!("{major:02x}:{minor:02x}:{}", identity.inode);
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // `1: FLOCK  ADVISORY  WRITE 3820 fe:00:10560728 0 EOF`
    let fields = |line: &str| -> Option<u32> {
        let mut words = line.split_whitespace();
        let is_flock = words.nth(1)? == "FLOCK";
        let process = words.nth(2)?;
        (is_flock && words.next()? == file).then(|| process.parse().ok())?
    };
    locks.lines().find_map(fields)
}

/// Whether SIGKILL is pending for any thread of a process.
fn is_killed(process: u32) -> bool {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return false };
    tasks.flatten().any(|task| {
        let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
        is_pending(&status)
    })
}

fn is_pending(status: &str) -> bool {
    let mask = |line: &str| {
        let hexadecimal = line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:"))?;
        u64::from_str_radix(hexadecimal.trim(), 16).ok()
    };
    status.lines().filter_map(mask).any(|pending| pending & KILL != 0)
}

/// Calls `act` while the connections are visible. They are mounted for this call if systemd has not mounted
/// them.
fn with_connections(act: impl FnOnce()) {
    let is_mounted = mount_at(Path::new(CONNECTIONS)).is_some();
    let mounted =
        !is_mounted && command::run("mount", ["-t", "fusectl", "fusectl", CONNECTIONS]).is_ok();
    act();
    if mounted {
        let _ = command::run("umount", [CONNECTIONS]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pending_kill_is_told_from_other_signals() {
        let status = |private: &str, shared: &str| {
            format!(
                "Name:\tx\nThreads:\t2\nSigPnd:\t{private}\nShdPnd:\t{shared}\nSigBlk:\t0000000000000100\n"
            )
        };
        let none = "0000000000000000";
        assert!(!is_pending(&status(none, none)));
        assert!(is_pending(&status("0000000000000100", none)));
        assert!(is_pending(&status(none, "0000000000004100")));
        // SIGTERM and SIGINT.
        assert!(!is_pending(&status("0000000000004002", none)));
        assert!(!is_pending(""));
    }

    #[test]
    fn a_thread_that_ends_says_so_in_its_flags() {
        let stat = |flags: u64| format!("17 (a) b) R 1 17 17 0 -1 {flags} 0 0 0 0");
        assert!(exits(&stat(4_194_304 | 4)));
        assert!(!exits(&stat(4_194_304)) && !exits(""));
        assert!(!is_ending(std::process::id()));
    }

    #[test]
    fn the_holder_of_a_lock_is_found() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(holder(file.as_file()), None);
        flock(file.as_file(), FlockOperation::NonBlockingLockExclusive).unwrap();
        let found = holder(file.as_file());
        if found.is_none() && fs::read_to_string("/proc/locks").is_err() {
            eprintln!("SKIPPED: /proc/locks cannot be read");
            return;
        }
        assert_eq!(found, Some(std::process::id()));
        assert!(!is_killed(std::process::id()));
    }
}
