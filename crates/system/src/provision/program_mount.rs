//! Mounts that another program serves through FUSE: awaited, unmounted, and removed after a kill.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::mountinfo::{MountEntry, mount_at};
use super::{filesystem, process};
use crate::SystemError;
use crate::command::{Daemon, run};
use crate::machine::Machine;

/// Waits until `daemon` has mounted a file system of the type `file_system` at `path` and answers there.
///
/// The kernel tells when its list of mounts changes (proc_pid_mountinfo(5)), and when the daemon has ended.
///
/// # Errors
/// [`SystemError::Program`] if the daemon ends or if nothing is mounted within `limit`.
pub(super) fn wait_until_mounted(
    path: &Path,
    file_system: &str,
    daemon: &mut Daemon,
    limit: Duration,
) -> Result<MountEntry, SystemError> {
    const LIST: &str = "/proc/self/mountinfo";
    let end = Instant::now() + limit;
    // Opened before the first look: no change after that look is missed.
    let list = File::open(LIST).map_err(SystemError::io("open", LIST))?;
    let handle = pidfd_open(Pid::from_child(&daemon.child), PidfdFlags::empty())
        .map_err(|e| SystemError::io("watch", path)(e.into()))?;
    loop {
        if let Some(entry) = mount_at(path).filter(|entry| entry.file_system == file_system) {
            let left = end.saturating_duration_since(Instant::now());
            return if answers(path, left) {
                Ok(entry)
            } else {
                Err(daemon.failed("it mounted its file system and does not answer"))
            };
        }
        let status = daemon.child.try_wait().map_err(SystemError::io("watch", path))?;
        if let Some(status) = status {
            return Err(daemon.ended(status));
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let seconds = limit.as_secs_f64();
            return Err(daemon.failed(&format!("it mounted nothing within {seconds} s")));
        }
        let changes = PollFlags::PRI | PollFlags::ERR;
        let mut fds = [PollFd::new(&list, changes), PollFd::new(&handle, PollFlags::IN)];
        process::wait_for(&mut fds, left).map_err(|e| SystemError::io("poll", LIST)(e.into()))?;
    }
}

/// Whether the file system at `path` answers within `limit`. A call to one that hangs comes back when its daemon
/// is killed.
fn answers(path: &Path, limit: Duration) -> bool {
    let (answer, answered) = channel();
    let path = path.to_owned();
    std::thread::spawn(move || answer.send(rustix::fs::statfs(&path).is_ok()));
    answered.recv_timeout(limit).unwrap_or(false)
}

/// Unmounts what a program serves at `path`, once all let go of it.
///
/// # Errors
/// [`SystemError::Busy`] after two seconds, or what the system refused.
pub(super) fn unmount(path: &Path) -> Result<(), SystemError> {
    filesystem::once_let_go(|| unmount_once(path))
}

fn unmount_once(path: &Path) -> Result<(), SystemError> {
    if rustix::process::geteuid().is_root() {
        return filesystem::unmount(path);
    }
    match run(fusermount(), ["-u".as_ref(), path.as_os_str()]) {
        Err(SystemError::Program { reason, .. }) if reason.contains("busy") => {
            Err(SystemError::Busy { path: path.to_owned() })
        }
        other => other.map(drop),
    }
}

/// Takes a mount out of the way whose user is gone, in use or not.
pub(super) fn unmount_dead(path: &Path) -> Result<(), SystemError> {
    if rustix::process::geteuid().is_root() {
        return filesystem::unmount_dead(path);
    }
    run(fusermount(), ["-u".as_ref(), "-z".as_ref(), path.as_os_str()]).map(drop)
}

fn fusermount() -> &'static str {
    if Machine::this().has("fusermount3") { "fusermount3" } else { "fusermount" }
}
