//! Programs that do some work for a run or serve a FUSE file system: started, awaited, stopped, and found after
//! the run was killed.
#![expect(clippy::disallowed_methods, reason = "files of a run, and of /proc and /sys; for now")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use cryptbench_text::shown;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use serde::{Deserialize, Serialize};
use tracing::info;

use super::mount::ProgramMount;
use super::stack::STOP_POLL;
use super::{Identity, Recovered, Resource, ResourceStack, ScratchFile, mount_point, removed};
use crate::SystemError;
use crate::command::{Invocation, Running, run};
use crate::machine::Machine;
use crate::provision::mountinfo::{MountEntry, mount_at};
use crate::provision::{filesystem, process};

/// The type of a mount whose program does not set a type.
const UNNAMED: &str = "fuse";

/// A program started as a child, which does some work or serves a file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Daemon {
    /// Its name.
    pub program: String,
    /// Absolute path of the file that it creates, or of its mount point. The path is one of its arguments and
    /// is unique to the run.
    pub path: PathBuf,
}

/// When a server program exits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// When its mount is gone.
    Unmounted,
    /// When the program is asked to exit; it first unmounts its file system.
    Asked,
}

/// The process, once started.
pub(crate) struct Served {
    running: Option<Running>,
    ends: Ends,
}

/// Runs a program that creates a volume at `path`, which is one of its arguments.
///
/// The program is in the journal while it runs, because it would outlive a killed run and continue to write.
pub(crate) fn run_to_its_end(
    stack: &mut ResourceStack,
    program: &'static str,
    invocation: &Invocation,
    path: &Path,
    machine: &Machine,
) -> Result<(), SystemError> {
    run_to_its_end_within(stack, program, invocation, path, machine, machine.ready_within)
}

/// Like [`run_to_its_end`], but with the time limit `limit`.
pub(crate) fn run_to_its_end_within(
    stack: &mut ResourceStack,
    program: &'static str,
    invocation: &Invocation,
    path: &Path,
    machine: &Machine,
    limit: Duration,
) -> Result<(), SystemError> {
    let what = Daemon { program: program.to_owned(), path: path.to_owned() };
    let number = stack.announce(what, Served { running: None, ends: Ends::Asked })?;
    let ended = invocation.start(machine).and_then(|started| {
        let identity = process::identity(started.child.id());
        let noted = identity.map_or(Ok(()), |identity| stack.note(number, identity));
        started.finish(machine.limit(program, limit)).and(noted)
    });
    let gone = stack.destroy_last();
    ended.and(gone)
}

/// Starts a program that serves a file system of type `file_system` at the mount point `path`, and waits for the mount.
/// Returns the PID.
pub(crate) fn serve(
    stack: &mut ResourceStack,
    program: &'static str,
    invocation: &Invocation,
    path: &Path,
    file_system: &str,
    machine: &Machine,
) -> Result<u32, SystemError> {
    serve_until(Ends::Unmounted, stack, program, invocation, path, file_system, machine)
}

/// Starts a program that serves plaintext as a file, which is itself a FUSE mount. Returns the file and the PID.
/// `invocation` receives the mount point.
pub(crate) fn serve_file(
    stack: &mut ResourceStack,
    program: &'static str,
    invocation: impl FnOnce(&Path) -> Invocation,
) -> Result<(PathBuf, u32), SystemError> {
    let path = mount_point::unused()?;
    let file = ScratchFile { path: path.clone() };
    stack.create(file.clone(), || file.make())?;
    let (invocation, machine) = (invocation(&path), Machine::this());
    let number = serve_until(Ends::Asked, stack, program, &invocation, &path, UNNAMED, &machine)?;
    Ok((path, number))
}

fn serve_until(
    ends: Ends,
    stack: &mut ResourceStack,
    program: &'static str,
    invocation: &Invocation,
    path: &Path,
    file_system: &str,
    machine: &Machine,
) -> Result<u32, SystemError> {
    let what = Daemon { program: program.to_owned(), path: path.to_owned() };
    let daemon = stack.announce(what, Served { running: None, ends })?;
    let (journal, stop, mut running) = (stack.journal().clone(), stack.stop(), None);
    let mount = ProgramMount { path: path.to_owned(), file_system: file_system.to_owned() };
    let made = stack.create(mount, || {
        let started: &mut Running = running.insert(invocation.start(machine)?);
        let identity = process::identity(started.child.id());
        let noted = identity.map_or(Ok(()), |identity| journal.made(daemon, identity));
        let mounted = noted.and_then(|()| {
            let limit = machine.limit(program, machine.ready_within);
            wait_until_mounted(path, file_system, started, limit, &stop)
        });
        if mounted.is_err() {
            process::kill_group(&mut started.child);
        }
        Ok((ends, Some(Identity::number(mounted?.device))))
    });
    let made = made.map(drop);
    let number = running.as_ref().map_or(0, |started| started.child.id());
    stack.live::<Daemon>(daemon).running = running;
    made.map(|()| number)
}

impl Resource for Daemon {
    type Live = Served;

    fn destroy(&self, live: &mut Served, _: Option<Identity>) -> Result<(), SystemError> {
        let Served { running: Some(Running { child, .. }), ends } = live else { return Ok(()) };
        let failed = SystemError::io("wait for the exit of the server process of", &self.path);
        // A program that exits by itself has written back its data.
        let alone = *ends == Ends::Unmounted
            && process::wait_while_busy(child, process::GRACE).map_err(failed)?.is_some();
        if !alone {
            if *ends == Ends::Unmounted {
                info!(
                    "stops {}, which still serves {} because another mount namespace (a container) has a copy of its mount",
                    self.program,
                    shown(&self.path)
                );
            }
            let _ = kill_process_group(Pid::from_child(child), Signal::TERM);
            let patience = if *ends == Ends::Asked { process::GRACE } else { process::GRACE / 12 };
            if !matches!(process::wait_within(child, patience), Ok(Some(_))) {
                process::kill_group(child);
            }
        }
        // The program may have mounted after the check for its mount, or exited without unmounting.
        if serves_at(&self.path) { unmount_dead(&self.path) } else { Ok(()) }
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        let found = process::of_dead_run(&self.program, &self.path, identity)?;
        let ended = process::end(found);
        // A program that was killed early may have mounted after the check for its mount.
        if ended.is_ok() && serves_at(&self.path) {
            return removed(unmount_dead(&self.path));
        }
        removed(ended)
    }
}

/// Whether a program has mounted a file system there.
fn serves_at(path: &Path) -> bool {
    mount_at(path).is_some_and(|m| m.file_system == UNNAMED || m.file_system.starts_with("fuse."))
}

/// Waits until `daemon` has mounted a file system of type `file_system` at `path` and the file
/// system responds.
///
/// The kernel reports changes to its list of mounts (proc_pid_mountinfo(5)) and the exit of the daemon.
///
/// # Errors
/// [`SystemError::Program`] if the daemon exits or if nothing is mounted within `limit`; [`SystemError::Stopped`].
fn wait_until_mounted(
    path: &Path,
    file_system: &str,
    daemon: &mut Running,
    limit: Duration,
    stop: &AtomicBool,
) -> Result<MountEntry, SystemError> {
    const LIST: &str = "/proc/self/mountinfo";
    let end = Instant::now() + limit;
    // Opened before the first check, so that no later change is missed.
    let list = File::open(LIST).map_err(SystemError::io("open", LIST))?;
    let handle = pidfd_open(Pid::from_child(&daemon.child), PidfdFlags::empty())
        .map_err(|e| SystemError::io("watch", path)(e.into()))?;
    loop {
        if let Some(entry) = mount_at(path).filter(|entry| entry.file_system == file_system) {
            let left = end.saturating_duration_since(Instant::now());
            return if answers(path, left) {
                Ok(entry)
            } else {
                Err(daemon.failed("it mounted its file system but does not respond"))
            };
        }
        let status = daemon.child.try_wait().map_err(SystemError::io("watch", path))?;
        if let Some(status) = status {
            return Err(daemon.ended(status));
        }
        // Checked here because CryFS needs minutes for key derivation on a slow CPU.
        if stop.load(Ordering::Relaxed) {
            return Err(SystemError::Stopped);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let seconds = limit.as_secs_f64();
            return Err(daemon.failed(&format!("it did not mount anything within {seconds} s")));
        }
        let changes = PollFlags::PRI | PollFlags::ERR;
        let mut fds = [PollFd::new(&list, changes), PollFd::new(&handle, PollFlags::IN)];
        process::wait_for(&mut fds, left.min(STOP_POLL))
            .map_err(|e| SystemError::io("poll", LIST)(e.into()))?;
    }
}

/// Whether the file system at `path` responds within `limit`. If it hangs, the call to it returns when its
/// daemon is killed.
fn answers(path: &Path, limit: Duration) -> bool {
    let (answer, answered) = channel();
    let path = path.to_owned();
    std::thread::spawn(move || answer.send(rustix::fs::statfs(&path).is_ok()));
    answered.recv_timeout(limit).unwrap_or(false)
}

/// Unmounts the file system that a program serves at `path`.
pub(super) fn unmount(path: &Path) -> Result<(), SystemError> {
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

/// Detaches a mount whose server is gone, even if it is in use.
pub(super) fn unmount_dead(path: &Path) -> Result<(), SystemError> {
    if rustix::process::geteuid().is_root() {
        return filesystem::unmount_dead(path);
    }
    run(fusermount(), ["-u".as_ref(), "-z".as_ref(), path.as_os_str()]).map(drop)
}

fn fusermount() -> &'static str {
    if Machine::this().has("fusermount3") { "fusermount3" } else { "fusermount" }
}
