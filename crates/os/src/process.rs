//! Processes: by PID, held, or started separately; the search path of programs; and protection of this process's
//! memory.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};

/// The program that opens a file with the user's default program for its type.
pub const OPENER: &str = crate::system::process::OPENER;

/// The directories in which this program, and the programs that it starts, look for programs: the directories in `PATH`
/// and the system's.
///
/// An empty or relative part of `PATH` is omitted. Such a part means the current directory or a directory below it,
/// where another user may have placed a program for root to run.
pub fn search_path() -> OsString {
    search_path_of(std::env::var_os("PATH").as_deref())
}

fn search_path_of(path: Option<&OsStr>) -> OsString {
    let named = path.into_iter().flat_map(std::env::split_paths);
    let mut all: Vec<PathBuf> = named.filter(|directory| directory.is_absolute()).collect();
    // Programs for root are in `/sbin`, which is often missing from the path of ordinary users.
    all.extend(crate::system::process::system_directories());
    std::env::join_paths(all).unwrap_or_default()
}

/// The file of the program `name` in the directories of `path`, a [`search_path`].
pub fn program_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let found = std::env::split_paths(path).map(|directory| directory.join(&file));
    found.into_iter().find(|file| file.is_absolute() && crate::system::process::is_program(file))
}

/// A command for the system's program `name`; that program and the programs that it starts are searched for in the
/// [`search_path`].
///
/// `std::process::Command` must not do this search, because it would use every part of `PATH`.
///
/// # Errors
/// [`io::ErrorKind::NotFound`].
#[expect(clippy::disallowed_methods, reason = "the one place that finds programs")]
pub fn program(name: &str) -> io::Result<Command> {
    let path = search_path();
    let missing = || io::Error::new(io::ErrorKind::NotFound, format!("there is no program {name}"));
    let file = program_in(&path, name).ok_or_else(missing)?;
    let mut command = Command::new(file);
    crate::system::process::called(&mut command, name).env("PATH", path);
    Ok(command)
}

/// When a process started, in a system-specific unit (Linux: clock ticks since boot). Together with the PID, this time
/// distinguishes a process from a later one with the same PID. `None` if no process has the PID, or if the system does
/// not report the time.
pub fn started(process: u32) -> Option<u64> {
    crate::system::process::started(process)
}

/// Whether no program runs under the PID: the process does not exist, or has exited and has not been waited for. True
/// if the system does not report this.
pub fn has_ended(process: u32) -> bool {
    crate::system::process::has_ended(process)
}

/// CPU seconds of a process with all its threads, including those that exited. `None` as for [`started`].
pub fn cpu_s(process: u32) -> Option<f64> {
    crate::system::process::cpu_s(process)
}

/// Whether a thread of the process waits in the kernel for a disk. False if the system does not report it.
pub fn waits_for_disk(process: u32) -> bool {
    crate::system::process::waits_for_disk(process)
}

/// The children of a process. Empty if the system does not report it.
pub fn children(process: u32) -> Vec<u32> {
    crate::system::process::children(process)
}

/// Whether a process has the PID, including a process that has exited but has not been waited for. True if the system
/// does not report this.
pub fn exists(process: u32) -> bool {
    crate::system::process::exists(process)
}

/// This program, to be started again. If the system supports this, it works even if the program's path now leads
/// elsewhere or is not accessible to the user.
///
/// # Errors
/// The operating system's error, if the program has to be found by its path.
pub fn this_program() -> io::Result<Command> {
    crate::system::process::this_program()
}

/// A pipe: the end to read from, and the end to write to.
///
/// # Errors
/// The operating system's error.
pub fn pipe() -> io::Result<(File, File)> {
    let (from, to) = io::pipe()?;
    Ok((crate::system::process::file(from), crate::system::process::file(to)))
}

/// A process that is held: while it is held, no other process gets its PID.
#[derive(Debug)]
pub struct Handle(crate::system::process::Handle);

impl Handle {
    /// Holds the process that currently has the PID.
    ///
    /// # Errors
    /// The operating system's error, for example if no process has the PID; [`io::ErrorKind::Unsupported`] if
    /// processes cannot be held.
    pub fn open(process: u32) -> io::Result<Self> {
        crate::system::process::Handle::open(process).map(Self)
    }

    /// Asks the process to exit, as Ctrl-C does.
    ///
    /// # Errors
    /// The operating system's error, for example if the process has exited.
    pub fn interrupt(&self) -> io::Result<()> {
        self.0.interrupt()
    }

    /// Asks the process to exit.
    ///
    /// # Errors
    /// Those of [`Self::interrupt`].
    pub fn terminate(&self) -> io::Result<()> {
        self.0.terminate()
    }

    /// Kills the process unconditionally.
    ///
    /// # Errors
    /// Those of [`Self::interrupt`].
    pub fn kill(&self) -> io::Result<()> {
        self.0.kill()
    }
}

/// Asks a child that has not been waited for to exit.
///
/// # Errors
/// The operating system's error; [`io::ErrorKind::Unsupported`] if a child can only be killed.
pub fn terminate(child: &Child) -> io::Result<()> {
    crate::system::process::terminate(child)
}

/// Makes a command start in its own process group, so that Ctrl-C at the terminal does not reach
/// it.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    crate::system::process::in_own_group(command)
}

/// The signal that killed a child; `None` if no signal killed it.
pub fn ended_by(status: ExitStatus) -> Option<i32> {
    crate::system::process::ended_by(status)
}

/// Detaches this process from its terminal, so that neither Ctrl-C nor closing the terminal affects the process any
/// more.
///
/// # Errors
/// The operating system's error, for example for the leader of a group; [`io::ErrorKind::Unsupported`] if the
/// system cannot detach a process.
pub fn leave_terminal() -> io::Result<()> {
    crate::system::process::leave_terminal()
}

/// Prevents every program that this process starts from getting inherited descriptors, except descriptors 0 to 2.
/// Called first, because the parent process may have left any file open.
///
/// # Errors
/// The operating system's error.
pub fn pass_nothing_on() -> io::Result<()> {
    crate::system::process::pass_nothing_on()
}

/// Prevents core dumps of this process, and tracing by debuggers of the same user, as far as the system can.
pub fn keep_from_dumps() {
    crate::system::process::keep_from_dumps();
}

/// Prevents this process's current memory, and later contents of the same pages, from being swapped out, as far as the
/// system permits.
pub fn keep_from_swap() {
    crate::system::process::keep_from_swap();
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::fs;
    #[cfg(unix)]
    use std::os::unix::fs::PermissionsExt as _;

    #[cfg(unix)]
    use super::*;

    #[cfg(unix)]
    #[test]
    fn empty_and_relative_parts_of_the_path_are_left_out() {
        const SYSTEM: &str = "/usr/sbin:/sbin:/usr/bin:/bin";
        let of = |path: Option<&str>| search_path_of(path.map(OsStr::new)).into_string().unwrap();
        for nowhere in [None, Some(""), Some("."), Some("bin"), Some(":"), Some("./x:../y::")] {
            assert_eq!(of(nowhere), SYSTEM, "{nowhere:?}");
        }
        for (path, kept) in [
            (":/opt/bin", "/opt/bin:"),
            ("/opt/bin:", "/opt/bin:"),
            ("/opt/bin::/opt/sbin", "/opt/bin:/opt/sbin:"),
            ("bin:/opt/bin:.", "/opt/bin:"),
        ] {
            assert_eq!(of(Some(path)), format!("{kept}{SYSTEM}"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_program_is_a_file_that_may_be_executed_at_an_absolute_path() {
        let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let path = std::env::join_paths([first.path(), second.path()]).unwrap();
        let put = |at: &tempfile::TempDir, mode: u32| {
            let file = at.path().join("losetup");
            fs::write(&file, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            file
        };
        assert_eq!(program_in(&path, "losetup"), None);
        fs::create_dir(first.path().join("losetup")).unwrap();
        let file = put(&second, 0o755);
        assert_eq!(program_in(&path, "losetup"), Some(file.clone()), "not the directory");
        fs::remove_dir(first.path().join("losetup")).unwrap();
        put(&first, 0o644);
        assert_eq!(program_in(&path, "losetup"), Some(file), "not what cannot be executed");
        assert_eq!(program_in(OsStr::new(".:src:"), "lib.rs"), None);
        assert!(program("no-such-program").is_err());
        let done = program("sh").unwrap().args(["-c", "echo $0 $PATH"]).output().unwrap();
        let said = String::from_utf8(done.stdout).unwrap();
        assert!(said.starts_with("sh /") && said.contains("/usr/bin:/bin"), "{said}");
    }
}
