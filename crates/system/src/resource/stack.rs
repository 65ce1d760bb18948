//! Things that were set up one upon another: each in the journal before it is made, all taken down last in first out.

use std::any::Any;

use super::{Identity, Journal, Resource};
use crate::SystemError;
use crate::machine::Machine;
use crate::provision::filesystem::once_let_go;

/// A thing that was made, with its number in the journal.
pub(super) struct Made<R: Resource> {
    what: R,
    journal: Journal,
    number: u32,
    identity: Option<Identity>,
    pub(super) live: R::Live,
}

impl<R: Resource> Made<R> {
    /// Writes down what is about to be made, makes it, and writes down what it is.
    ///
    /// What a `make` that fails may have left is taken down at once.
    ///
    /// # Errors
    /// Those of `make`, or that the journal cannot be written.
    pub(super) fn make(
        journal: &Journal,
        what: R,
        make: impl FnOnce() -> Result<(R::Live, Option<Identity>), SystemError>,
    ) -> Result<Self, SystemError> {
        let number = journal.intend(what.clone())?;
        match make() {
            Ok((live, identity)) => {
                let mut made = Self { what, journal: journal.clone(), number, identity, live };
                match identity.map_or(Ok(()), |identity| journal.made(number, identity)) {
                    Ok(()) => Ok(made),
                    Err(e) => {
                        let _ = made.destroy();
                        Err(e)
                    }
                }
            }
            Err(e) => {
                // Of what is made by one call nothing is there, or it is somebody else's.
                let nothing = R::EXCLUSIVE || is_missing(&e);
                if nothing || !matches!(what.recover(None), Some(Err(_))) {
                    journal.undone(number)?;
                }
                Err(e)
            }
        }
    }

    pub(super) fn destroy(&mut self) -> Result<(), SystemError> {
        self.what.destroy(&mut self.live, self.identity)?;
        self.journal.undone(self.number)
    }

    /// Lets go of it and leaves it where it is: it goes with what it lies in.
    pub(super) fn leave(self) -> Result<(), SystemError> {
        self.journal.undone(self.number)
    }
}

/// Whether the program that was to make something is not there at all.
fn is_missing(e: &SystemError) -> bool {
    matches!(e, SystemError::Program { program, .. } if !Machine::this().has(program))
}

/// What a stack needs to know of what is on it.
trait Standing: Send {
    fn number(&self) -> u32;
    fn destroy(&mut self) -> Result<(), SystemError>;
    fn is_key(&self) -> bool;
    fn caches(&self) -> bool;
    fn note(&mut self, identity: Identity);
    fn live(&mut self) -> &mut dyn Any;
}

impl<R: Resource<Live: 'static>> Standing for Made<R> {
    fn number(&self) -> u32 {
        self.number
    }

    fn destroy(&mut self) -> Result<(), SystemError> {
        self.destroy()
    }

    fn is_key(&self) -> bool {
        R::IS_KEY
    }

    fn caches(&self) -> bool {
        self.what.caches(&self.live)
    }

    fn note(&mut self, identity: Identity) {
        self.identity = Some(identity);
    }

    fn live(&mut self) -> &mut dyn Any {
        &mut self.live
    }
}

/// What an arm, a served volume or a private directory stands on. Dropping it takes it down, as far as it lets itself be.
pub struct ResourceStack {
    journal: Journal,
    resources: Vec<Box<dyn Standing>>,
    /// How many of them hold the data, and stay when it is closed.
    data: usize,
}

impl ResourceStack {
    /// An empty one, whose things are written down in `journal`.
    #[must_use]
    pub fn new(journal: &Journal) -> Self {
        Self { journal: journal.clone(), resources: Vec::new(), data: 0 }
    }

    /// Makes `what` on top of all that is there, and gives what is held of it.
    ///
    /// # Errors
    /// Those of `make`, after which nothing of it is left; or that the journal cannot be written.
    pub(crate) fn create<R: Resource<Live: 'static>>(
        &mut self,
        what: R,
        make: impl FnOnce() -> Result<(R::Live, Option<Identity>), SystemError>,
    ) -> Result<&mut R::Live, SystemError> {
        let made = Made::make(&self.journal, what, make)?;
        let number = made.number;
        self.resources.push(Box::new(made));
        Ok(self.live::<R>(number))
    }

    /// Writes down something that is about to be made with what comes upon it, and gives its number.
    ///
    /// # Errors
    /// That the journal cannot be written.
    pub(crate) fn announce<R: Resource<Live: 'static>>(
        &mut self,
        what: R,
        live: R::Live,
    ) -> Result<u32, SystemError> {
        let journal = self.journal.clone();
        let number = journal.intend(what.clone())?;
        self.resources.push(Box::new(Made { what, journal, number, identity: None, live }));
        Ok(number)
    }

    /// Writes down what it is that was announced under `number`.
    ///
    /// # Errors
    /// That the journal cannot be written.
    pub(crate) fn note(&mut self, number: u32, identity: Identity) -> Result<(), SystemError> {
        self.standing(number).note(identity);
        self.journal.made(number, identity)
    }

    /// What is held of a thing of the kind `R`.
    pub(crate) fn live<R: Resource<Live: 'static>>(&mut self, number: u32) -> &mut R::Live {
        self.standing(number).live().downcast_mut().expect("a number is one thing's")
    }

    fn standing(&mut self, number: u32) -> &mut dyn Standing {
        let found = self.resources.iter_mut().find(|r| r.number() == number);
        &mut **found.expect("numbers are those of what is there")
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// What was made so far is the data at rest; what is made from here on shows it.
    pub(crate) fn data_ends_here(&mut self) {
        self.data = self.resources.len();
    }

    /// Whether a loop device among it keeps what is written in the page cache of its file.
    #[must_use]
    pub fn caches(&self) -> bool {
        self.resources.iter().any(|r| r.caches())
    }

    /// Takes down all that shows the data, and says whether that was keys alone.
    ///
    /// # Errors
    /// [`SystemError::Busy`], or what the system refused; it can be tried again.
    pub(crate) fn close(&mut self) -> Result<bool, SystemError> {
        let keys = self.resources.iter().skip(self.data).all(|r| r.is_key());
        self.destroy_down_to(self.data)?;
        Ok(keys)
    }

    /// Takes down what was made last.
    ///
    /// # Errors
    /// As [`Self::close`].
    pub(crate) fn destroy_last(&mut self) -> Result<(), SystemError> {
        self.destroy_down_to(self.resources.len().saturating_sub(1))
    }

    /// Takes everything down. What is in use is waited for, two seconds each: somebody who looks at every mount, such as
    /// an indexer, lets go of it a moment later.
    ///
    /// # Errors
    /// [`SystemError::Busy`], or what the system refused; it can be tried again.
    pub fn destroy(&mut self) -> Result<(), SystemError> {
        self.destroy_down_to(0)
    }

    /// The same without waiting for what is in use.
    ///
    /// # Errors
    /// [`SystemError::Busy`], or what the system refused; it can be tried again.
    pub fn destroy_at_once(&mut self) -> Result<(), SystemError> {
        while let Some(last) = self.resources.last_mut() {
            last.destroy()?;
            self.resources.pop();
        }
        Ok(())
    }

    fn destroy_down_to(&mut self, left: usize) -> Result<(), SystemError> {
        while self.resources.len() > left
            && let Some(last) = self.resources.last_mut()
        {
            once_let_go(|| last.destroy())?;
            self.resources.pop();
        }
        Ok(())
    }
}

impl Drop for ResourceStack {
    fn drop(&mut self) {
        // What is still in use stays in the journal, for cleanup.
        let _ = self.destroy();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::{LoopDevice, ScratchFile, WorkTree};
    use super::*;

    fn journal(dir: &Path) -> Journal {
        Journal::create_in(&[dir.join("state")], "test").unwrap()
    }

    fn text(dir: &Path) -> String {
        fs::read_to_string(dir.join("state/ledgers/test.jsonl")).unwrap()
    }

    fn tree(stack: &mut ResourceStack, path: &Path) -> Result<(), SystemError> {
        let what = WorkTree { path: path.to_owned() };
        stack.create(what.clone(), || what.make()).map(drop)
    }

    #[test]
    fn closed_it_keeps_the_data_and_reopened_it_is_numbered_on() {
        let dir = tempfile::tempdir().unwrap();
        let journal = journal(dir.path());
        let (data, shown) = (dir.path().join("data"), dir.path().join("shown"));
        let mut stack = ResourceStack::new(&journal);
        tree(&mut stack, &data).unwrap();
        stack.data_ends_here();
        tree(&mut stack, &shown).unwrap();
        // Another stack of the run in between.
        let mut other = ResourceStack::new(&journal);
        tree(&mut other, &dir.path().join("other")).unwrap();
        assert!(!stack.close().unwrap(), "it was no key");
        assert!(data.exists() && !shown.exists());
        tree(&mut stack, &shown).unwrap();
        assert!(text(dir.path()).contains(r#""id":3,"act":"work-directory""#));
        stack.destroy().unwrap();
        assert!(!data.exists() && !shown.exists());
        drop((stack, other));
        drop(journal);
        assert_eq!(fs::read_dir(dir.path().join("state/ledgers")).unwrap().count(), 0);
    }

    #[test]
    fn what_has_the_name_already_is_nobodys_left_over() {
        let dir = tempfile::tempdir().unwrap();
        let journal = journal(dir.path());
        let mut stack = ResourceStack::new(&journal);
        // Empty, and this user's: what a run that was killed at the worst moment would have left.
        let path = dir.path().join("theirs");
        fs::write(&path, "").unwrap();
        let what = ScratchFile { path: path.clone() };
        assert!(stack.create(what.clone(), || what.make()).is_err());
        assert!(path.exists());
        assert!(text(dir.path()).ends_with("{\"undone\":{\"id\":0}}\n"));
    }

    #[test]
    fn what_a_program_left_when_it_failed_goes_at_once() {
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
            eprintln!("SKIPPED: loop devices take root, and the loop module");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let journal = journal(dir.path());
        let file = dir.path().join("file");
        fs::File::create(&file).unwrap().set_len(1 << 20).unwrap();
        let mut stack = ResourceStack::new(&journal);
        let failed = stack.create(LoopDevice { file: file.clone() }, || {
            crate::command::run("losetup", ["--find".as_ref(), file.as_os_str()])?;
            Err(SystemError::Stopped)
        });
        assert!(matches!(failed, Err(SystemError::Stopped)));
        assert_eq!(super::super::loop_device::of_file(&file, None), None);
        assert!(text(dir.path()).ends_with("{\"undone\":{\"id\":0}}\n"));
    }
}
