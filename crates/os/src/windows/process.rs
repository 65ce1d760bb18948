//! Processes: their times, whether they have exited, and how children are started.

use std::fs::File;
use std::io;
use std::os::windows::io::{AsRawHandle as _, OwnedHandle};
use std::os::windows::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use windows_sys::Win32::System::Threading::CREATE_NEW_PROCESS_GROUP;

use super::call;

/// Windows' own shell.
pub(crate) const OPENER: &str = "explorer";

pub(crate) fn started(process: u32) -> Option<u64> {
    let handle = call::open_process(process).ok()?;
    Some(call::process_times(handle.as_raw_handle()).ok()?.0)
}

pub(crate) fn has_ended(process: u32) -> bool {
    !exists(process)
}

pub(crate) fn cpu_s(process: u32) -> Option<f64> {
    let handle = call::open_process(process).ok()?;
    Some(call::process_times(handle.as_raw_handle()).ok()?.1 as f64 / 1e7)
}

/// Windows returns `InvalidInput` for a PID that no process has. A process that has exited can be opened as long as a
/// handle to it exists.
pub(crate) fn exists(process: u32) -> bool {
    match call::open_process(process) {
        Ok(held) => !call::has_ended(&held),
        Err(e) => e.kind() != io::ErrorKind::InvalidInput,
    }
}

/// A process that was started in a separate group ([`in_own_group`]), on the same console.
#[derive(Debug)]
pub(crate) struct Handle {
    number: u32,
    held: OwnedHandle,
}

impl Handle {
    pub(crate) fn open(process: u32) -> io::Result<Self> {
        Ok(Self { number: process, held: call::open_process(process)? })
    }

    pub(crate) fn kill(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Sends Ctrl-Break: Windows disables Ctrl-C for the members of such a group.
    pub(crate) fn interrupt(&self) -> io::Result<()> {
        match call::has_ended(&self.held) {
            true => Err(io::ErrorKind::NotFound.into()),
            false => call::press_break(self.number),
        }
    }

    pub(crate) fn terminate(&self) -> io::Result<()> {
        self.interrupt()
    }
}

pub(crate) fn terminate(_child: &Child) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn this_program() -> io::Result<Command> {
    Ok(Command::new(std::env::current_exe()?))
}

pub(crate) fn waits_for_disk(_: u32) -> bool {
    false
}

pub(crate) fn children(_: u32) -> Vec<u32> {
    Vec::new()
}

/// `explorer` is in the first directory, most other programs are in the second.
pub(crate) fn system_directories() -> Vec<PathBuf> {
    let root = std::env::var_os("SystemRoot").map_or_else(|| r"C:\Windows".into(), PathBuf::from);
    vec![root.clone(), root.join("System32")]
}

pub(crate) fn is_program(file: &Path) -> bool {
    file.is_file()
}

pub(crate) fn called<'c>(command: &'c mut Command, _name: &str) -> &'c mut Command {
    command
}

pub(crate) fn file(pipe: impl Into<OwnedHandle>) -> File {
    pipe.into().into()
}

pub(crate) fn in_own_group(command: &mut Command) -> &mut Command {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP)
}

pub(crate) fn ended_by(_status: ExitStatus) -> Option<i32> {
    None
}

pub(crate) fn leave_terminal() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Windows does not write process dumps unless an administrator requests them. Only specified handles are inherited.
pub(crate) fn pass_nothing_on() -> io::Result<()> {
    Ok(())
}

pub(crate) fn keep_from_dumps() {}

/// Individual pages with secrets are locked; Windows cannot lock a whole process.
pub(crate) fn keep_from_swap() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_start_and_a_time_and_no_other_has_the_largest_number() {
        let this = std::process::id();
        assert!(started(this).is_some_and(|at| at > 0));
        assert!(cpu_s(this).is_some() && exists(this) && !has_ended(this));
        let nobody = u32::MAX - 3;
        assert!(!exists(nobody) && has_ended(nobody) && started(nobody).is_none());
    }

    #[test]
    fn a_process_that_has_ended_exists_no_more_though_somebody_has_a_handle_on_it() {
        let mut ended = Command::new(std::env::current_exe().unwrap());
        let mut ended = ended.arg("--list").stdout(std::process::Stdio::null()).spawn().unwrap();
        ended.wait().unwrap();
        assert!(call::open_process(ended.id()).is_ok(), "the number is still its own");
        assert!(!exists(ended.id()) && has_ended(ended.id()));
    }
}
