//! Processes: by number, held, started separately; and protection of this process's memory.

use std::fs::File;
use std::io;
use std::process::{Child, Command, ExitStatus};

/// The program that opens a file with whatever its user has chosen for its kind.
pub const OPENER: &str = crate::system::process::OPENER;

/// When a process started, in a system-specific unit (Linux: clock ticks since boot). Together with
/// the number it distinguishes a process from a later one with the same number. `None` if no
/// process has the number or the system does not report it.
#[must_use]
pub fn started(process: u32) -> Option<u64> {
    crate::system::process::started(process)
}

/// Whether no program runs under the number: it does not exist, or it has ended and has not been
/// waited for. True if the system does not report it.
#[must_use]
pub fn has_ended(process: u32) -> bool {
    crate::system::process::has_ended(process)
}

/// CPU seconds of a process with all its threads, including those that ended. `None` as for
/// [`started`].
#[must_use]
pub fn cpu_s(process: u32) -> Option<f64> {
    crate::system::process::cpu_s(process)
}

/// Whether a thread of the process waits in the kernel for a disk. False if the system does not report it.
#[must_use]
pub fn waits_for_disk(process: u32) -> bool {
    crate::system::process::waits_for_disk(process)
}

/// The children of a process. Empty if the system does not report it.
#[must_use]
pub fn children(process: u32) -> Vec<u32> {
    crate::system::process::children(process)
}

/// Whether a process has the number, including one that has ended and has not been waited for. True
/// if the system does not report it.
#[must_use]
pub fn exists(process: u32) -> bool {
    crate::system::process::exists(process)
}

/// This very program, to be started again: where the system has that, whatever its path leads to by now, and whoever may
/// not go along it.
///
/// # Errors
/// What the system says where it is found by its path.
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

/// A process that is held: no other process gets its number meanwhile.
#[derive(Debug)]
pub struct Handle(crate::system::process::Handle);

impl Handle {
    /// Holds the process that has the number now.
    ///
    /// # Errors
    /// The operating system's error, for example if it does not exist;
    /// [`io::ErrorKind::Unsupported`] if processes cannot be held.
    pub fn open(process: u32) -> io::Result<Self> {
        crate::system::process::Handle::open(process).map(Self)
    }

    /// Asks it to end, as Ctrl-C does.
    ///
    /// # Errors
    /// The operating system's error, for example if it has ended.
    pub fn interrupt(&self) -> io::Result<()> {
        self.0.interrupt()
    }

    /// Asks it to end.
    ///
    /// # Errors
    /// Those of [`Self::interrupt`].
    pub fn terminate(&self) -> io::Result<()> {
        self.0.terminate()
    }

    /// Ends it, whatever it does.
    ///
    /// # Errors
    /// Those of [`Self::interrupt`].
    pub fn kill(&self) -> io::Result<()> {
        self.0.kill()
    }
}

/// Asks a child to end that has not been waited for.
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

/// The signal that ended a child, if one did.
#[must_use]
pub fn ended_by(status: ExitStatus) -> Option<i32> {
    crate::system::process::ended_by(status)
}

/// Detaches this process from its terminal: neither Ctrl-C nor the end of the terminal reaches it
/// any more.
///
/// # Errors
/// The operating system's error, for example for the leader of a group;
/// [`io::ErrorKind::Unsupported`] if the system cannot do that.
pub fn leave_terminal() -> io::Result<()> {
    crate::system::process::leave_terminal()
}

/// Keeps descriptors that this process inherited, other than 0 to 2, from every program that it starts. Called first, as
/// whoever started this process may have left any file open.
///
/// # Errors
/// The operating system's error.
pub fn pass_nothing_on() -> io::Result<()> {
    crate::system::process::pass_nothing_on()
}

/// Prevents core dumps of this process and debuggers of the same user, as far as the system can.
pub fn keep_from_dumps() {
    crate::system::process::keep_from_dumps();
}

/// Keeps this process's current memory from being swapped, and later contents of the same pages, as
/// far as the system permits.
pub fn keep_from_swap() {
    crate::system::process::keep_from_swap();
}
