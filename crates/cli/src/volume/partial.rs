//! A file that has a temporary name until it is complete. A file that is never completed is removed.

use std::fs::File;
use std::io;
use std::path::Path;

use cryptbench_os::{Directory, NewFile};
use cryptbench_system::resource::{Identity, Journal, ScratchFile};
use cryptbench_text::chain;

use crate::exit::Refusal;

/// A new file next to its final location, which only this user can access.
///
/// Dropping this value removes the file. If this process is killed, `cryptbench cleanup` removes the file, because it
/// is in a journal.
pub struct Partial {
    /// The file, until it gets its name.
    file: Option<NewFile>,
    journal: Journal,
    /// The file's number in the journal.
    number: u32,
}

impl Partial {
    /// Creates the file next to `path`. The directory is held open from here on, and the file gets its name there.
    pub fn beside(path: &Path) -> anyhow::Result<Self> {
        let fail = |e: io::Error| Refusal::target(path, &e.to_string());
        let number = std::process::id();
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_nanos());
        let (directory, name) = Directory::of(path).map_err(fail)?;
        let place = std::path::absolute(path).map_err(fail)?;
        // The journal has no subject, so that a search for the volume does not find this entry and unmount it.
        let journal = Journal::create(&format!("partial-{number}-{now}"))?;
        let mut noted = None;
        let made = NewFile::begin_noted(directory, name, 0o600, |temporary| {
            let what = ScratchFile { path: place.with_file_name(temporary) };
            noted = Some(journal.intend(what).map_err(|error| io::Error::other(chain(&error)))?);
            Ok(())
        });
        let (file, number) = match (made, noted) {
            (Ok(file), Some(number)) => (file, number),
            (made, noted) => {
                noted.map_or(Ok(()), |number| journal.undone(number))?;
                return Err(fail(made.err().unwrap_or(io::ErrorKind::Other.into())).into());
            }
        };
        // From here on, `Drop` removes the file if anything fails.
        let mut partial = Self { file: Some(file), journal, number };
        let identity = Identity::of(partial.file()).map_err(fail)?;
        partial.journal.made(number, identity)?;
        Ok(partial)
    }

    /// The open file.
    pub fn file(&mut self) -> &mut File {
        self.file.as_mut().expect("there until it takes its name").file()
    }

    /// Gives the file its final name once all of it is on the disk. Never replaces another file.
    pub fn appear(mut self, path: &Path) -> anyhow::Result<()> {
        let named = self.file.take().map_or(Ok(()), NewFile::appear);
        Ok(named.map_err(|e| Refusal::target(path, &e.to_string()))?)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // A file that cannot be removed remains in the journal.
        if self.file.take().is_none_or(|file| file.abandon().is_ok()) {
            let _ = self.journal.undone(self.number);
        }
    }
}
