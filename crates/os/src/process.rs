//! Processes: by their numbers, held, started apart; and what this one keeps to itself.

use std::io;
use std::process::{Child, Command, ExitStatus};

/// When a process started, in a unit of the system's (Linux: clock ticks after boot): with its number it tells one process
/// from another that later has the number. `None` where there is none of the number, or the system does not tell.
#[must_use]
pub fn started(process: u32) -> Option<u64> {
    crate::system::process::started(process)
}

/// Whether no program runs under the number: there is none, or it has ended and was not waited for yet. Where the system
/// does not tell, it has.
#[must_use]
pub fn has_ended(process: u32) -> bool {
    crate::system::process::has_ended(process)
}

/// CPU seconds of a process with all its threads, ended ones included. `None` as for [`started`].
#[must_use]
pub fn cpu_s(process: u32) -> Option<f64> {
    crate::system::process::cpu_s(process)
}

/// Whether there is a process of the number, one that has ended and was not waited for included. Where the system does not
/// tell, there is.
#[must_use]
pub fn exists(process: u32) -> bool {
    crate::system::process::exists(process)
}

/// A process that is held: its number is not given to another as long as it is.
#[derive(Debug)]
pub struct Handle(crate::system::process::Handle);

impl Handle {
    /// Takes hold of the process that has the number now.
    ///
    /// # Errors
    /// What the system says, such as that there is none; [`io::ErrorKind::Unsupported`] where processes cannot be held.
    pub fn open(process: u32) -> io::Result<Self> {
        crate::system::process::Handle::open(process).map(Self)
    }

    /// Asks it to end as Ctrl-C does.
    ///
    /// # Errors
    /// What the system says, such as that it has ended.
    pub fn interrupt(&self) -> io::Result<()> {
        self.0.interrupt()
    }

    /// Asks it to end.
    ///
    /// # Errors
    /// As [`Self::interrupt`].
    pub fn terminate(&self) -> io::Result<()> {
        self.0.terminate()
    }
}

/// Asks a child to end that was not waited for.
///
/// # Errors
/// What the system says; [`io::ErrorKind::Unsupported`] where a child can only be killed.
pub fn terminate(child: &Child) -> io::Result<()> {
    crate::system::process::terminate(child)
}

/// Lets a command be started in a group of its own, so that Ctrl-C at the terminal does not reach it.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    crate::system::process::in_own_group(command)
}

/// The signal that ended a child, if one did.
#[must_use]
pub fn ended_by(status: ExitStatus) -> Option<i32> {
    crate::system::process::ended_by(status)
}

/// Leaves the terminal that this process was started from: neither its Ctrl-C nor its end reaches it any more.
///
/// # Errors
/// What the system says, such as that it leads a group; [`io::ErrorKind::Unsupported`] where that cannot be done.
pub fn leave_terminal() -> io::Result<()> {
    crate::system::process::leave_terminal()
}

/// No core dump of this process, and no debugger of the same user, as far as the system can be asked for that.
pub fn keep_from_dumps() {
    crate::system::process::keep_from_dumps();
}

/// Keeps from swap what is in this process's memory by now, and what is put into the same places later, as far as the
/// system grants that.
pub fn keep_from_swap() {
    crate::system::process::keep_from_swap();
}
