//! Volume headers are parsed only in an unprivileged process: a child that can access only the open files that it
//! receives. Its parent, the keeper, keeps its privileges, opens the necessary files and cleans up.
//!
//! The child is this program with the same arguments after the word `confined`. Child and keeper exchange messages that
//! carry open files. The child's output is printed by the keeper.

mod answers;
mod believed;
mod child;
mod keeper;
mod patience;
mod relay;

use std::fs::File;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_volume::{Access, Credentials};

pub use answers::Answers;
pub use believed::{Asks, Opened};
pub use child::{Given, Here, begin, flush};
pub use keeper::Confined;

use self::patience::Patience;
use super::args::UnlockArgs;
use super::secrets::in_tries;
use super::target;
use crate::exit::Refusal;

/// The first argument of the child, before its keeper's arguments.
pub const WORD: &str = "confined";

/// The error message if the process was not started by this program.
pub const NOT_FOR_USERS: &str = "this command is only for internal use by cryptbench";

/// The smallest sector of a disk, in bytes.
const SECTOR: u64 = 512;

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Marks this process as started by a keeper. Called once, before anything else.
pub fn become_child() {
    IS_CHILD.store(true, Ordering::Relaxed);
}

/// Whether this process is the child of a keeper.
pub fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

/// The keeper's first message: the task, and the files that come with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Order {
    what: What,
    /// Number of credentials in the pipe, which is the first file.
    secrets: u8,
    header: bool,
    other: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Report the volume's requirements.
    Ask = b'?' as isize,
    /// Execute the arguments, and exit.
    Work = b'w' as isize,
    /// Open the volume and serve it.
    Serve = b's' as isize,
    /// Reply to queries about an eCryptfs lower directory.
    Answer = b'a' as isize,
}

impl Order {
    fn say(self) -> [u8; 4] {
        [self.what as u8, self.secrets, self.header.into(), self.other.into()]
    }

    fn hear(said: &[u8]) -> Option<Self> {
        let &[what, secrets, header, other] = said else { return None };
        let all = [What::Ask, What::Work, What::Serve, What::Answer];
        let what = all.into_iter().find(|known| *known as u8 == what)?;
        Some(Self { what, secrets, header: header == 1, other: other == 1 })
    }
}

/// Later messages of the keeper: whether to serve on a connection of FUSE or NBD, or on a disk.
const ON: &[u8] = b"on";
const ON_DISK: &[u8] = b"on a disk";

/// The files to serve on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// A mount or a socket.
    Connection,
    /// A disk.
    Disk,
}

/// A command's work on a volume.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub unlock: &'a UnlockArgs,
    pub access: Access,
    /// Whether the work restores a header, which then determines the required credentials.
    pub restores: bool,
    /// Whether the work writes plaintext to the additional file, in which case that file's length shows the progress.
    pub grows: bool,
}

impl<'a> Task<'a> {
    pub fn on(unlock: &'a UnlockArgs, access: Access) -> Self {
        Self { unlock, access, restores: false, grows: false }
    }

    /// Does the work in the child, which then exits with the returned code.
    pub fn in_child(
        &self,
        work: impl FnOnce(Given) -> anyhow::Result<ExitCode>,
        stop: &AtomicBool,
    ) -> anyhow::Result<ExitCode> {
        match child::given(self, stop)? {
            Some(given) => warned(work(given)),
            None => Ok(ExitCode::SUCCESS),
        }
    }

    /// Makes a child do the work on the volume that the arguments specify, and prints the child's output. `secrets`
    /// obtains the credentials that the volume requires; `other` is an additional file that the work reads or
    /// writes. If the system cannot confine processes, this process does the work.
    ///
    /// # Errors
    /// If the work fails. The error has already been printed.
    pub fn run(
        &self,
        other: Option<&File>,
        secrets: impl Fn(Asking<'_>) -> anyhow::Result<Vec<Credentials>>,
        work: impl Fn(Given) -> anyhow::Result<ExitCode>,
        stop: &AtomicBool,
    ) -> anyhow::Result<ExitCode> {
        in_tries(|| {
            let volume = target::open_for_child(&self.unlock.volume, self.access)?;
            self.run_on(volume, other, &secrets, &work, stop)
        })
    }

    /// Like [`Self::run`], for work that writes a new file: the file is created once the credentials have been read, so
    /// that it does not exist during the passphrase prompt.
    ///
    /// # Errors
    /// Those of [`Self::run`] and of `make`.
    pub fn run_into(
        &self,
        make: impl FnOnce() -> anyhow::Result<File>,
        secrets: impl Fn(Asking<'_>) -> anyhow::Result<Vec<Credentials>>,
        work: impl Fn(Given) -> anyhow::Result<ExitCode>,
        stop: &AtomicBool,
    ) -> anyhow::Result<ExitCode> {
        // The file is created in the first attempt; nothing is written to it until a key fits.
        let (mut make, mut made) = (Some(make), None::<File>);
        in_tries(|| {
            let volume = target::open_for_child(&self.unlock.volume, self.access)?;
            let other = || {
                if let Some(make) = make.take() {
                    made = Some(make()?);
                }
                Ok(made.as_ref().map(File::try_clone).transpose()?)
            };
            self.run_with(volume, None, other, &secrets, &work, stop)
        })
    }

    /// [`Self::run`] on an open volume.
    ///
    /// # Errors
    /// Those of [`Self::run`].
    pub fn run_on(
        &self,
        volume: File,
        other: Option<&File>,
        secrets: impl FnOnce(Asking<'_>) -> anyhow::Result<Vec<Credentials>>,
        work: impl FnOnce(Given) -> anyhow::Result<ExitCode>,
        stop: &AtomicBool,
    ) -> anyhow::Result<ExitCode> {
        let copied = || Ok(other.map(File::try_clone).transpose()?);
        self.run_with(volume, other, copied, secrets, work, stop)
    }

    fn run_with(
        &self,
        volume: File,
        saved: Option<&File>,
        other: impl FnOnce() -> anyhow::Result<Option<File>>,
        secrets: impl FnOnce(Asking<'_>) -> anyhow::Result<Vec<Credentials>>,
        work: impl FnOnce(Given) -> anyhow::Result<ExitCode>,
        stop: &AtomicBool,
    ) -> anyhow::Result<ExitCode> {
        let header = self.unlock.header.as_ref();
        let header =
            header.map(|path| target::open_for_child(path, Access::ReadOnly)).transpose()?;
        if !keeper::can_start() {
            let given = Given::here(self, volume, header, saved)?.of_part(self.unlock)?;
            let credentials = secrets(&mut || given.asks(self))?;
            return warned(work(Given { credentials, other: other()?, ..given }));
        }
        let saved = saved.filter(|_| self.restores);
        let credentials = secrets(&mut || self.ask(&volume, saved, stop))?;
        let other = other()?;
        let other = other.as_ref();
        // A partition's length is specified in the partition table, which this process does not read.
        let patience = match other.filter(|_| self.grows && self.unlock.partition.is_none()) {
            Some(other) => {
                let all = target::size_of(&self.unlock.volume, &volume)?;
                Patience::until(other, all.saturating_sub(self.unlock.offset.unwrap_or(0)))
            }
            None => Patience::default(),
        };
        keeper::work(&volume, header.as_ref(), other, &credentials, patience, stop)
    }

    /// Refuses files that are too small for a volume or a header backup, before the passphrase prompt.
    fn refuse_small(&self, volume: &File, saved: Option<&File>) -> anyhow::Result<()> {
        let is_small = |file: &File| file.metadata().is_ok_and(|m| m.is_file() && m.len() < SECTOR);
        let refuse = |what: &str| Err(Refusal::input(&self.unlock.volume, what).into());
        match saved {
            _ if is_small(volume) => refuse("too small for a volume: it is smaller than a sector"),
            Some(saved) if is_small(saved) => {
                refuse("the header backup is too small: it is smaller than a sector")
            }
            _ => Ok(()),
        }
    }

    /// The task's requirements according to the header of the volume or of the backup `saved`. The volume is open for
    /// reading.
    pub fn ask(
        &self,
        volume: &File,
        saved: Option<&File>,
        stop: &AtomicBool,
    ) -> anyhow::Result<Asks> {
        self.refuse_small(volume, saved)?;
        match target::asks_with_header(self.unlock) {
            Some(asks) => Ok(asks),
            None => keeper::ask(volume, saved, stop),
        }
    }
}

/// Determines the task's requirements.
pub type Asking<'a> = &'a mut dyn FnMut() -> anyhow::Result<Asks>;

/// Returns the result of work that had keys in memory, after a warning if these keys could be swapped out.
fn warned(result: anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
    super::warn_of_swap();
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_heard_as_it_was_given() {
        for what in [What::Ask, What::Work, What::Serve, What::Answer] {
            let order = Order { what, secrets: 2, header: true, other: false };
            assert_eq!(Order::hear(&order.say()), Some(order));
        }
        assert_eq!(Order::hear(b"x\0\0\0"), None);
        assert_eq!(Order::hear(b"w"), None);
    }
}
