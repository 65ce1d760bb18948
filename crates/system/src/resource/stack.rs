//! Resources that build on each other. Each is recorded in the journal before it is created. The resources are
//! destroyed in reverse order.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::{Identity, Journal, Resource};
use crate::SystemError;
use crate::machine::Machine;
use crate::provision::filesystem::once_let_go;

/// Interval at which the stop flag is polled while waiting for a program or its mount.
pub(super) const STOP_POLL: Duration = Duration::from_millis(100);

/// A created resource with its number in the journal.
pub(super) struct Made<R: Resource> {
    what: R,
    journal: Journal,
    number: u32,
    identity: Option<Identity>,
    pub(super) live: R::Live,
}

impl<R: Resource> Made<R> {
    /// Records the resource, creates it, and records its identity.
    ///
    /// If `make` fails, removes its remains immediately.
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
                // A failed exclusive call did not create anything; an existing resource belongs to someone
                // else.
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

    /// Gives up the resource and leaves it in place, because it is removed with its container.
    pub(super) fn leave(self) -> Result<(), SystemError> {
        self.journal.undone(self.number)
    }
}

/// Whether the program that creates the resource is not installed.
fn is_missing(e: &SystemError) -> bool {
    matches!(e, SystemError::Program { program, .. } if !Machine::this().has(program))
}

/// The operations that a stack needs on its resources.
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

/// The resources of an arm, a served volume or a private directory. Dropping it destroys them, as far as
/// possible.
pub struct ResourceStack {
    journal: Journal,
    resources: Vec<Box<dyn Standing>>,
    /// Number of resources that contain the data and remain when the stack is closed.
    data: usize,
    /// Set to stop waiting for a server program.
    stop: Arc<AtomicBool>,
}

impl ResourceStack {
    /// An empty stack, whose resources are recorded in `journal`.
    pub fn new(journal: &Journal) -> Self {
        Self { journal: journal.clone(), resources: Vec::new(), data: 0, stop: Arc::default() }
    }

    /// Creates `what` on top of the stack and returns its live data.
    ///
    /// # Errors
    /// Those of `make`, after which nothing of the resource remains, and errors of writing the journal.
    pub(crate) fn create<R: Resource<Live: 'static>>(
        &mut self,
        what: R,
        make: impl FnOnce() -> Result<(R::Live, Option<Identity>), SystemError>,
    ) -> Result<&mut R::Live, SystemError> {
        let made = Made::make(&self.journal, what, make)?;
        Ok(self.adopt(made))
    }

    /// Adds an existing resource on top of the stack, and returns its live data.
    pub(super) fn adopt<R: Resource<Live: 'static>>(&mut self, made: Made<R>) -> &mut R::Live {
        let number = made.number;
        self.resources.push(Box::new(made));
        self.live::<R>(number)
    }

    /// Records a resource that will be created together with the next resource, and returns its number.
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

    /// Records the identity of the resource announced as `number`.
    pub(crate) fn note(&mut self, number: u32, identity: Identity) -> Result<(), SystemError> {
        self.standing(number).note(identity);
        self.journal.made(number, identity)
    }

    /// The live data of the latest resource, which must be of kind `R`.
    pub(crate) fn last<R: Resource<Live: 'static>>(&mut self) -> &mut R::Live {
        let last = self.resources.last_mut().expect("it was just made");
        last.live().downcast_mut().expect("and is of that kind")
    }

    /// The live data of the resource `number`, which must be of kind `R`.
    pub(crate) fn live<R: Resource<Live: 'static>>(&mut self, number: u32) -> &mut R::Live {
        self.standing(number).live().downcast_mut().expect("a number is one thing's")
    }

    fn standing(&mut self, number: u32) -> &mut dyn Standing {
        let found = self.resources.iter_mut().find(|r| r.number() == number);
        &mut **found.expect("numbers are those of what is there")
    }

    /// Runs a function on the stack. Meanwhile, waiting for a server program stops if `stop` is set.
    pub(crate) fn until_stopped<T>(
        &mut self,
        stop: &AtomicBool,
        act: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let told = Arc::clone(&self.stop);
        let (acts, is_done) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                while is_done.recv_timeout(STOP_POLL) == Err(RecvTimeoutError::Timeout) {
                    told.store(stop.load(Ordering::Relaxed), Ordering::Relaxed);
                }
                told.store(false, Ordering::Relaxed);
            });
            let done = act(self);
            drop(acts);
            done
        })
    }

    /// The flag of [`until_stopped`](Self::until_stopped).
    pub(super) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Marks all resources so far as the data at rest. Later resources give access to that data.
    pub(crate) fn data_ends_here(&mut self) {
        self.data = self.resources.len();
    }

    /// Whether a loop device in the stack can leave written data in the page cache of its backing file.
    pub fn caches(&self) -> bool {
        self.resources.iter().any(|r| r.caches())
    }

    /// Destroys everything that gives access to the data. Returns whether it consisted only of keys.
    ///
    /// # Errors
    /// [`SystemError::Busy`], or another error of the removal; the call can be repeated.
    pub(crate) fn close(&mut self) -> Result<bool, SystemError> {
        let keys = self.resources.iter().skip(self.data).all(|r| r.is_key());
        self.destroy_down_to(self.data)?;
        Ok(keys)
    }

    /// Destroys the latest resource.
    pub(crate) fn destroy_last(&mut self) -> Result<(), SystemError> {
        self.destroy_down_to(self.resources.len().saturating_sub(1))
    }

    /// Destroys everything. Waits up to two seconds for each resource that is in use, because an indexer that
    /// inspects every mount soon releases it.
    ///
    /// # Errors
    /// [`SystemError::Busy`], or another error of the removal; the call can be repeated.
    pub fn destroy(&mut self) -> Result<(), SystemError> {
        self.destroy_down_to(0)
    }

    /// Destroys everything without waiting for resources in use.
    ///
    /// # Errors
    /// [`SystemError::Busy`], or another error of the removal; the call can be repeated.
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
        // On failure the resources stay in the journal, and cleanup tries again.
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
        // Another stack of the same run in between.
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
        // Empty and owned by this user, which is what a run killed at the worst moment would leave.
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
            eprintln!("SKIPPED: loop devices require root and the loop module");
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
