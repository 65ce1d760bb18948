//! Processes: the only reader of `/proc/PID/stat` (proc_pid_stat(5)), descriptors, signals, and
//! restrictions on this process.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Resource, Rlimit, Signal, kill_process, pidfd_open,
    pidfd_send_signal, set_dumpable_behavior, setrlimit, setsid, test_kill_process,
};

/// Starts the desktop's default program for the file.
pub(crate) const OPENER: &str = "xdg-open";

/// Fields used from `stat` (proc(5), /proc/PID/stat); times in clock ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    /// `R` for running, `S` for sleeping, `Z` for exited but not waited for, `X` for dead, and so on.
    pub(crate) state: char,
    pub(crate) parent: u32,
    /// `PF_*` of the kernel.
    pub(crate) flags: u64,
    /// User and system time. In `/proc/PID/task/TID`, the time of the thread; in `/proc/PID`, the time of all threads,
    /// including those that exited.
    pub(crate) cpu_ticks: u64,
    /// User and system time of children that exited and were waited for, and of their children.
    pub(crate) waited_ticks: u64,
    /// Start time since boot.
    pub(crate) start_ticks: u64,
}

impl Stat {
    pub(crate) fn read(task: &Path) -> Option<Self> {
        // The file's 52 numbers and a name need much less space.
        let mut buffer = [0; 2048];
        Self::parse(read(&task.join("stat"), &mut buffer)?)
    }

    /// The name in parentheses may contain anything, including parentheses.
    pub(crate) fn parse(stat: &[u8]) -> Option<Self> {
        let end = stat.iter().rposition(|b| *b == b')')?;
        let rest = std::str::from_utf8(&stat[end + 1..]).ok()?;
        // proc(5) counts fields from 1; the first field after the name is the third.
        let fields: Vec<&str> = rest.split_ascii_whitespace().take(20).collect();
        let field = |n: usize| fields.get(n - 3)?.parse::<u64>().ok();
        Some(Self {
            state: fields.first()?.chars().next()?,
            parent: u32::try_from(field(4)?).ok()?,
            flags: field(9)?,
            cpu_ticks: field(14)? + field(15)?,
            waited_ticks: field(16)? + field(17)?,
            start_ticks: field(22)?,
        })
    }
}

/// The first bytes of a small file that the kernel generates in one piece.
pub(crate) fn read<'b>(path: &Path, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let len = File::open(path).ok()?.read(buffer).ok()?;
    Some(&buffer[..len])
}

/// Clock ticks per second, the unit of /proc.
pub(crate) fn ticks_per_s() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}

pub(crate) fn stat(process: u32) -> Option<Stat> {
    Stat::read(&Path::new("/proc").join(process.to_string()))
}

pub(crate) fn started(process: u32) -> Option<u64> {
    Some(stat(process)?.start_ticks)
}

pub(crate) fn has_ended(process: u32) -> bool {
    stat(process).is_none_or(|stat| matches!(stat.state, 'Z' | 'X'))
}

pub(crate) fn cpu_s(process: u32) -> Option<f64> {
    Some(stat(process)?.cpu_ticks as f64 / ticks_per_s() as f64)
}

pub(crate) fn waits_for_disk(process: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| Stat::read(&task.path())).any(|stat| stat.state == 'D')
}

pub(crate) fn children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn pid(process: u32) -> io::Result<Pid> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| Errno::SRCH.into())
}

pub(crate) fn exists(process: u32) -> bool {
    pid(process).is_ok_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// A descriptor of a process (pidfd_open(2)).
#[derive(Debug)]
pub(crate) struct Handle(OwnedFd);

impl Handle {
    pub(crate) fn open(process: u32) -> io::Result<Self> {
        Ok(Self(pidfd_open(pid(process)?, PidfdFlags::empty())?))
    }

    pub(crate) fn interrupt(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.0, Signal::INT)?)
    }

    pub(crate) fn terminate(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.0, Signal::TERM)?)
    }

    pub(crate) fn kill(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.0, Signal::KILL)?)
    }
}

pub(crate) fn terminate(child: &Child) -> io::Result<()> {
    // The child has not been waited for, so no other process can have its PID.
    Ok(kill_process(Pid::from_child(child), Signal::TERM)?)
}

/// By its inode.
pub(crate) fn this_program() -> io::Result<Command> {
    let mut command = Command::new("/proc/self/exe");
    // Keeps the name by which the program was called, because its messages contain this name.
    command.arg0(std::env::args_os().next().unwrap_or_else(|| "cryptbench".into()));
    Ok(command)
}

pub(crate) fn system_directories() -> Vec<PathBuf> {
    ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from).into()
}

pub(crate) fn is_program(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

/// Many programs start their messages with this name.
pub(crate) fn called<'c>(command: &'c mut Command, name: &str) -> &'c mut Command {
    command.arg0(name)
}

pub(crate) fn file(pipe: impl Into<OwnedFd>) -> File {
    pipe.into().into()
}

pub(crate) fn in_own_group(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

pub(crate) fn ended_by(status: ExitStatus) -> Option<i32> {
    status.signal()
}

pub(crate) fn leave_terminal() -> io::Result<()> {
    setsid()?;
    Ok(())
}

pub(crate) fn pass_nothing_on() -> io::Result<()> {
    super::call::descriptors::close_on_exec(3)
}

pub(crate) fn keep_from_dumps() {
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

pub(crate) fn keep_from_swap() {
    let _ = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::ONFAULT);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_of_a_name_with_parentheses() {
        let line = b"4321 (a) b (c\xff) S 17 4321 4321 0 -1 4194560 9 8 7 6 150 50 30 12 20 0 1 0 9876 1 2";
        let expected = Stat {
            state: 'S',
            parent: 17,
            flags: 4_194_560,
            cpu_ticks: 200,
            waited_ticks: 42,
            start_ticks: 9876,
        };
        assert_eq!(Stat::parse(line), Some(expected));
        assert_eq!(Stat::parse(b"1 (cut) S 17 4321"), None);
        assert_eq!(Stat::parse(b""), None);
    }

    #[test]
    fn a_child_that_nobody_waited_for_has_ended() {
        let mut child = Command::new("sh")
            .args(["-c", "read line"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let (process, first) = (child.id(), started(child.id()));
        assert!(first.is_some() && !has_ended(process));
        drop(child.stdin.take());
        while !has_ended(process) {
            std::thread::yield_now();
        }
        assert!(exists(process), "until it is waited for");
        assert_eq!(started(process), first, "its number is kept until it is waited for");
        child.wait().unwrap();
        assert!(has_ended(process) && !exists(process));
        assert!(Handle::open(process).is_err());
    }

    #[test]
    fn a_process_that_is_held_is_asked_to_end() {
        let start = || {
            // A shell that runs the tests in the background ignores SIGINT, and its children would, too.
            let mut command = Command::new("env");
            command.args(["--default-signal=INT", "sleep", "60"]);
            let child = in_own_group(&mut command).spawn().unwrap();
            let name = format!("/proc/{}/comm", child.id());
            while std::fs::read_to_string(&name).unwrap() != "sleep\n" {
                std::thread::yield_now();
            }
            child
        };
        let mut child = start();
        Handle::open(child.id()).unwrap().interrupt().unwrap();
        assert_eq!(ended_by(child.wait().unwrap()), Some(2));
        let mut child = start();
        terminate(&child).unwrap();
        assert_eq!(ended_by(child.wait().unwrap()), Some(15));
    }
}
