//! Server processes: identifies them by PID and start time, stops them, and finds those of a killed run.
#![expect(clippy::disallowed_methods, reason = "files of /proc and /sys, devices")]

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use crate::resource::Identity;

/// Time for a program to write back its data after it was asked to exit.
pub(crate) const GRACE: Duration = Duration::from_secs(60);

/// If a program is idle for this long after its mount is gone, it has written back its data. It is then asked
/// to exit, which takes less than a second.
const IDLE: Duration = Duration::from_millis(750);

/// The identity of a process: its PID, and its start time in clock ticks since boot.
pub(crate) fn identity(process: u32) -> Option<Identity> {
    let start = cryptbench_os::process::started(process)?;
    Some(Identity { device: process.into(), inode: start, born: None })
}

/// The process that a killed run started as `program` with the unique `argument`: the process with the recorded
/// identity. Without an identity, the process of this user with that program and argument.
pub(crate) fn of_dead_run(
    program: &str,
    argument: &Path,
    noted: Option<Identity>,
) -> Option<Identity> {
    let ours = |id: &Identity| runs(id.device as u32, program, argument);
    match noted {
        Some(id) => identity(id.device as u32).filter(|now| *now == id).filter(ours),
        None => fs::read_dir("/proc")
            .ok()?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(identity)
            .find(ours),
    }
}

fn runs(process: u32, program: &str, argument: &Path) -> bool {
    let proc = format!("/proc/{process}");
    let own = fs::metadata(&proc).is_ok_and(|m| m.uid() == rustix::process::getuid().as_raw());
    let Ok(line) = fs::read(format!("{proc}/cmdline")) else { return false };
    let mut words = line.split(|&b| b == 0);
    let is_program = |word: &&[u8]| word.rsplit(|&b| b == b'/').next() == Some(program.as_bytes());
    // The command line of a script starts with its interpreter.
    own && words.clone().take(2).any(|w| is_program(&w))
        && words.any(|w| is_or_sets(w, argument.as_os_str().as_bytes()))
}

/// Whether a word is `value` itself, or an option with that value, as in `mountpoint=value`.
fn is_or_sets(word: &[u8], value: &[u8]) -> bool {
    word.strip_suffix(value).is_some_and(|rest| rest.is_empty() || rest.ends_with(b"="))
}

/// Waits up to `limit` for `child` to exit.
pub(crate) fn wait_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    // A child that has already been waited for no longer has a PID.
    if let Some(status) = child.try_wait()? {
        return Ok(Some(status));
    }
    let handle = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    if has_ended(&handle, limit) { child.wait().map(Some) } else { Ok(None) }
}

/// Like [`wait_within`], but stops waiting when the child is idle. A program serves its mount for as long as
/// another mount namespace, such as that of a container started in the meantime, has a copy of it.
pub(crate) fn wait_while_busy(
    child: &mut Child,
    limit: Duration,
) -> io::Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    let (mut done, mut since) = (None, Instant::now());
    while since.elapsed() < IDLE && Instant::now() < end {
        if let Some(status) = wait_within(child, IDLE / 12)? {
            return Ok(Some(status));
        }
        let now = work(child.id());
        if now.is_none() || now != done {
            (done, since) = (now, Instant::now());
        }
    }
    Ok(None)
}

/// The CPU time of a process, in clock ticks; `None` while one of its threads waits for a disk
/// (proc_pid_stat(5)).
fn work(process: u32) -> Option<u64> {
    let mut ticks = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten() {
        let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
        // The name may contain spaces.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        if fields.first() == Some(&"D") {
            return None;
        }
        ticks += fields.get(11..13)?.iter().filter_map(|f| f.parse::<u64>().ok()).sum::<u64>();
    }
    Some(ticks)
}

/// Kills a child and all processes in its process group.
pub(crate) fn kill_group(child: &mut Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.kill();
    let _ = child.wait();
}

/// Stops a process of a killed run: waits for it to exit, then asks it to exit with a signal, and finally kills
/// it.
pub(crate) fn end(process: Identity) -> io::Result<()> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    let pid = Pid::from_raw(process.device as i32).ok_or_else(gone)?;
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return Ok(()) };
    // The handle reserves the PID, so the identity must be checked while the handle is open.
    if identity(process.device as u32) != Some(process) || has_ended(&handle, GRACE / 12) {
        return Ok(());
    }
    for signal in [Signal::TERM, Signal::KILL] {
        match pidfd_send_signal(&handle, signal) {
            Err(rustix::io::Errno::SRCH) => return Ok(()),
            other => other?,
        }
        if has_ended(&handle, GRACE / 6) {
            return Ok(());
        }
    }
    Err(io::Error::other(format!("process {} did not exit", process.device)))
}

/// Whether the process of a handle exits within `limit`.
fn has_ended(handle: &OwnedFd, limit: Duration) -> bool {
    let mut fds = [PollFd::new(handle, PollFlags::IN)];
    wait_for(&mut fds, limit).is_ok_and(|ready| ready > 0)
}

/// poll(2) with a time limit; continues after a signal.
pub(crate) fn wait_for(fds: &mut [PollFd<'_>], limit: Duration) -> rustix::io::Result<usize> {
    let end = Instant::now() + limit;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).ok();
        match poll(fds, left.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    use super::*;

    fn sleeper(argument: &Path) -> Child {
        // The shell waits for input that never comes, and does not start anything that could outlive it.
        let mut sh = Command::new("sh");
        sh.args(["-c", "read line", "sh"]).arg(argument).process_group(0);
        sh.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = sh.spawn().unwrap();
        // spawn(2) returns when the program starts, slightly before its arguments can be read.
        while fs::read(format!("/proc/{}/cmdline", child.id())).unwrap().is_empty() {
            std::thread::yield_now();
        }
        child
    }

    #[test]
    fn a_process_is_found_by_identity_or_by_its_unique_argument_and_nobody_else_is() {
        let dir = tempfile::tempdir().unwrap();
        let argument: PathBuf = dir.path().join("mount");
        let mut child = sleeper(&argument);
        let id = identity(child.id()).unwrap();
        assert_eq!(of_dead_run("sh", &argument, Some(id)), Some(id));
        assert_eq!(of_dead_run("sh", &argument, None), Some(id));
        assert_eq!(of_dead_run("sh", &dir.path().join("other"), None), None);
        assert_eq!(of_dead_run("encfs", &argument, None), None);
        let reused = Identity { inode: id.inode + 1, ..id };
        assert_eq!(of_dead_run("sh", &argument, Some(reused)), None);
        kill_group(&mut child);
        assert_eq!(of_dead_run("sh", &argument, Some(id)), None);
    }

    #[test]
    fn who_does_nothing_is_not_waited_for() {
        let mut child = sleeper(Path::new("/x"));
        // On a busy machine, this thread may be scheduled late.
        let took = (0..5).map(|_| {
            let began = Instant::now();
            assert!(wait_while_busy(&mut child, GRACE).unwrap().is_none());
            began.elapsed()
        });
        assert!(took.min().unwrap() < Duration::from_secs(1));
        kill_group(&mut child);
        let began = Instant::now();
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        assert!(wait_while_busy(&mut busy, 2 * IDLE).unwrap().is_none());
        assert!(began.elapsed() >= 2 * IDLE);
        kill_group(&mut busy);
    }

    #[test]
    fn waiting_has_a_limit() {
        let mut child = sleeper(Path::new("/x"));
        assert!(wait_within(&mut child, Duration::from_millis(20)).unwrap().is_none());
        kill_group(&mut child);
        let mut short = Command::new("true").spawn().unwrap();
        assert!(wait_within(&mut short, GRACE).unwrap().unwrap().success());
    }
}
