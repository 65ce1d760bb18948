//! What a contender stands on, one thing upon another: each in the ledger before it is made, all taken down in
//! reverse.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_blockdev::{AlignedBuf, IoMode, Surface};
use rustix::process::{Pid, Signal, kill_process_group};
use zeroize::Zeroizing;

use super::ledger::{Act, Identity, Ledger};
use super::mountinfo::mount_at;
use super::{
    Left, Scratch, WorkDirectory, filesystem, keys, loopdev, mount_point, orphans, process,
    program_mount,
};
use crate::SystemError;
use crate::command::{Daemon, Invocation, run};
use crate::contender::{Ground, Rest, Stand, Woken};
use crate::machine::Machine;

/// Name of the scratch file.
pub(crate) const SCRATCH: &str = "scratch";

/// Things that were set up. Dropping it takes them down, as far as they let themselves be.
pub(crate) struct Layers {
    /// Name of the run and the arm, which is in the names of all that is made.
    name: String,
    ledger: Ledger,
    steps: Vec<Step>,
    /// Number of what was made so far, for the names of its ledgers.
    parts: u32,
    /// How many of the steps stay when the contender rests.
    base: usize,
    /// What brings the others up again.
    again: Option<Again>,
    /// The scratch file, while it rests.
    left: Option<Left>,
}

/// What brings up again all that shows the data at rest.
type Again = Box<dyn FnMut(&mut Layers) -> Result<Shown, SystemError> + Send>;

/// Where data shows that was at rest.
pub(crate) struct Shown {
    /// The directory that the scratch file lies in.
    pub(crate) directory: PathBuf,
    /// Processes that serve it.
    pub(crate) daemons: Vec<u32>,
}

/// What was done, with its number in the ledger where it has no ledger of its own.
enum Step {
    Scratch(Scratch),
    Store(WorkDirectory),
    MountPoint(u32, PathBuf),
    /// With the mount point.
    Daemon(u32, Option<Daemon>, PathBuf),
    /// With the type of what is mounted.
    ProgramMount(u32, PathBuf, &'static str),
    StackedMount(u32, PathBuf, &'static str),
    /// With the file.
    Loop(u32, PathBuf, PathBuf),
    /// With the device number of what was mounted.
    FileSystem(u32, PathBuf, Option<u64>),
    FileSystemKey(u32, PathBuf, String),
    UserKey(u32, PathBuf),
}

impl Layers {
    /// An empty one for the arm `id` of a run.
    pub(crate) fn new(run_id: &str, id: &str) -> Result<Self, SystemError> {
        let name = format!("{run_id}-{}", id.replace(['/', '='], "-"));
        let ledger = Ledger::create(&format!("{name}-stack"))?;
        Ok(Self { name, ledger, steps: Vec::new(), parts: 0, base: 0, again: None, left: None })
    }

    /// A ledger for a thing that keeps one of its own.
    fn part(&mut self) -> Result<Ledger, SystemError> {
        self.parts += 1;
        Ledger::create(&format!("{}-{}", self.name, self.parts))
    }

    /// What was made so far is the data at rest; what is made from here on shows it.
    pub(crate) fn data_at_rest(&mut self) {
        self.base = self.steps.len();
    }

    /// What makes all that shows the data at rest once more, but for the scratch file.
    pub(crate) fn shown_again_by(
        &mut self,
        again: impl FnMut(&mut Self) -> Result<Shown, SystemError> + Send + 'static,
    ) {
        self.again = Some(Box::new(again));
    }

    /// A private directory in `parent` that goes with all that is in it.
    pub(crate) fn store(&mut self, parent: &Path) -> Result<PathBuf, SystemError> {
        let path = parent.join(format!("cryptbench-{}.store", self.name));
        let store = WorkDirectory::create(&path, self.part()?)?;
        self.steps.push(Step::Store(store));
        Ok(path)
    }

    /// A file of `len` bytes, filled at random, for a file system.
    ///
    /// Not with what workloads write: their marker, where the file system never wrote, would pass for plaintext.
    pub(crate) fn container(
        &mut self,
        len: u64,
        ground: &Ground<'_>,
    ) -> Result<PathBuf, SystemError> {
        let path = ground.directory.join(format!("cryptbench-{}.container", self.name));
        let container = Scratch::create(&path, len, self.part()?)?;
        let file = container.surface().file;
        self.steps.push(Step::Scratch(container));
        fill_at_random(&file, len, &path, ground.stop)?;
        Ok(path)
    }

    /// The filled scratch file in `directory`, like that of plain storage.
    pub(crate) fn scratch(
        &mut self,
        directory: &Path,
        ground: &mut Ground<'_>,
    ) -> Result<Surface, SystemError> {
        let len = ground.scratch.extent.len;
        let mut scratch = Scratch::create(&directory.join(SCRATCH), len, self.part()?)?;
        if ground.scratch.mode == IoMode::Buffered {
            scratch.go_buffered()?;
        }
        let surface = scratch.surface();
        self.steps.push(Step::Scratch(scratch));
        (ground.fill)(&surface)?;
        Ok(surface)
    }

    /// An empty private directory for a mount.
    pub(crate) fn mount_point(&mut self) -> Result<PathBuf, SystemError> {
        let path = mount_point::unused()?;
        let (act, ()) = self.ledger.attempt(&Act::Directory { path: path.clone() }, || {
            fs::DirBuilder::new()
                .mode(0o700)
                .create(&path)
                .map_err(SystemError::io("create", &path))
        })?;
        self.steps.push(Step::MountPoint(act, path.clone()));
        let identity = Identity::at(&path).map_err(SystemError::io("inspect", &path))?;
        self.ledger.made(act, identity)?;
        Ok(path)
    }

    /// Runs a program that makes a volume in the directory `path`, which it is given as an argument.
    ///
    /// It is in the ledger while it runs: it would outlive a killed run, and write on.
    pub(crate) fn create_volume(
        &mut self,
        program: &'static str,
        invocation: &Invocation,
        path: &Path,
        machine: &Machine,
    ) -> Result<(), SystemError> {
        let act = Act::Daemon { program: program.to_owned(), path: path.to_owned() };
        let act = self.ledger.intend(&act)?;
        let started = invocation.start(machine);
        let ended = started.and_then(|started| {
            let noted = process::identity(started.child.id())
                .map_or(Ok(()), |identity| self.ledger.made(act, identity));
            started.finish(machine.limit(program, machine.ready_within)).and(noted)
        });
        self.ledger.undone(act)?;
        ended
    }

    /// Starts a program that serves a file system of the type `file_system` at the mount point `path`, awaits its
    /// mount, and gives the number of its process.
    pub(crate) fn serve(
        &mut self,
        program: &'static str,
        invocation: &Invocation,
        path: &Path,
        file_system: &'static str,
        machine: &Machine,
    ) -> Result<u32, SystemError> {
        let at = path.to_owned();
        let daemon = Act::Daemon { program: program.to_owned(), path: at.clone() };
        let daemon = self.ledger.intend(&daemon)?;
        self.steps.push(Step::Daemon(daemon, None, at.clone()));
        let place = self.steps.len() - 1;
        let mount = Act::ProgramMount { path: at.clone(), file_system: file_system.to_owned() };
        let mount = self.ledger.intend(&mount)?;
        self.steps.push(Step::ProgramMount(mount, at, file_system));
        let mut started = invocation.start(machine)?;
        let number = started.child.id();
        let noted = process::identity(number).map_or(Ok(()), |id| self.ledger.made(daemon, id));
        let mounted = noted.and_then(|()| {
            let limit = machine.limit(program, machine.ready_within);
            program_mount::wait_until_mounted(path, file_system, &mut started, limit)
        });
        if mounted.is_err() {
            process::kill_group(&mut started.child);
        }
        self.steps[place] = Step::Daemon(daemon, Some(started), path.to_owned());
        self.ledger.made(mount, Identity::number(mounted?.device))?;
        Ok(number)
    }

    /// Puts a loop device on `file`.
    pub(crate) fn loop_device(&mut self, file: &Path) -> Result<PathBuf, SystemError> {
        let (act, device) = self
            .ledger
            .attempt(&Act::LoopDevice { file: file.to_owned() }, || loopdev::attach(file, false))?;
        self.steps.push(Step::Loop(act, device.clone(), file.to_owned()));
        if let Some(device) = loopdev::number(&device) {
            self.ledger.made(act, Identity::number(device))?;
        }
        Ok(device)
    }

    /// Mounts the file system on the loop device over `file` in a directory of its own.
    pub(crate) fn mount(&mut self, device: &Path, file: &Path) -> Result<PathBuf, SystemError> {
        let path = self.mount_point()?;
        let act = Act::FileSystem { path: path.clone(), file: file.to_owned() };
        let (act, ()) =
            self.ledger.attempt(&act, || filesystem::mount(device, &path, false, None))?;
        let device = mount_at(&path).map(|entry| entry.device);
        self.steps.push(Step::FileSystem(act, path.clone(), device));
        if let Some(device) = device {
            self.ledger.made(act, Identity::number(device))?;
        }
        Ok(path)
    }

    /// Mounts a stacked file system of the kernel over the directory `lower`, in a directory of its own.
    pub(crate) fn mount_stacked(
        &mut self,
        file_system: &'static str,
        lower: &Path,
        options: &str,
    ) -> Result<PathBuf, SystemError> {
        let path = self.mount_point()?;
        let act = Act::StackedMount { path: path.clone(), file_system: file_system.to_owned() };
        // -i: the kernel's own options, not those of a mount program that asks questions.
        let words = ["-i", "-t", file_system, "-o", options].map(AsRef::as_ref);
        let places = [lower.as_os_str(), path.as_os_str()];
        let (act, _) =
            self.ledger.attempt(&act, || run("mount", words.into_iter().chain(places)))?;
        self.steps.push(Step::StackedMount(act, path.clone(), file_system));
        if let Some(entry) = mount_at(&path) {
            self.ledger.made(act, Identity::number(entry.device))?;
        }
        Ok(path)
    }

    /// Adds a key of fscrypt to the file system that `path` lies on, and gives what names it.
    pub(crate) fn file_system_key(
        &mut self,
        path: &Path,
        key: Zeroizing<Vec<u8>>,
    ) -> Result<String, SystemError> {
        let identifier = keys::file_system_key_identifier(&key);
        let act = Act::FileSystemKey { path: path.to_owned(), identifier: identifier.clone() };
        let (act, _) = self.ledger.attempt(&act, || keys::add_to_file_system(path, key))?;
        self.steps.push(Step::FileSystemKey(act, path.to_owned(), identifier.clone()));
        Ok(identifier)
    }

    /// Adds a key to the user's keyring by a program that is given its secret, and will name it `description`.
    pub(crate) fn user_key(
        &mut self,
        description: &str,
        adds: &Invocation,
        machine: &Machine,
    ) -> Result<(), SystemError> {
        let description = PathBuf::from(description);
        let (act, _) =
            self.ledger.attempt(&Act::UserKey { description: description.clone() }, || {
                adds.run(machine, machine.ready_within)
            })?;
        self.steps.push(Step::UserKey(act, description));
        Ok(())
    }
}

impl Layers {
    /// Whether a loop device among it keeps what is written in the page cache of its file.
    pub(crate) fn caches(&self) -> bool {
        self.steps.iter().any(|s| matches!(s, Step::Loop(_, device, _) if loopdev::caches(device)))
    }

    /// Undoes the last step.
    fn undo_last(&mut self) -> Result<(), SystemError> {
        let Some(step) = self.steps.last_mut() else { return Ok(()) };
        let act = step.undo()?;
        self.steps.pop();
        act.map_or(Ok(()), |act| self.ledger.undone(act))
    }
}

impl Stand for Layers {
    fn take_down(&mut self) -> Result<(), SystemError> {
        while !self.steps.is_empty() {
            self.undo_last()?;
        }
        Ok(())
    }

    fn rest(&mut self) -> Result<Rest, SystemError> {
        let mut rest = Rest::KeyRemoved;
        while self.steps.len() > self.base {
            match self.steps.last() {
                Some(Step::Scratch(_)) => {
                    // It goes with the store or the container that it lies in.
                    let Some(Step::Scratch(scratch)) = self.steps.pop() else { unreachable!() };
                    self.left = Some(scratch.leave()?);
                    continue;
                }
                Some(Step::FileSystemKey(_, path, identifier)) => {
                    // The kernel keeps the keys of files that are in use, until they are taken away once more.
                    filesystem::once_let_go(|| {
                        keys::remove_from_file_system(path, identifier)?;
                        match keys::on_file_system(path, identifier)? {
                            true => Err(SystemError::Busy { path: path.clone() }),
                            false => Ok(()),
                        }
                    })?;
                    self.undo_last()?;
                    continue;
                }
                Some(Step::UserKey(..)) | None => {}
                Some(_) => rest = Rest::Unmounted,
            }
            self.undo_last()?;
        }
        Ok(rest)
    }

    fn wake(&mut self) -> Result<Woken, SystemError> {
        let mut again = self.again.take().expect("who can rest says how it is brought up again");
        let shown = again(self);
        self.again = Some(again);
        let Shown { directory, daemons } = shown?;
        let left = self.left.expect("left when it was brought to rest");
        let surface = left.open(&directory.join(SCRATCH))?;
        Ok(Woken { surface, directory, daemons })
    }
}

impl Drop for Layers {
    fn drop(&mut self) {
        // What is still in use stays in the ledger, for cleanup.
        let _ = self.take_down();
    }
}

impl Step {
    /// Undoes it and gives its number in the ledger.
    fn undo(&mut self) -> Result<Option<u32>, SystemError> {
        Ok(Some(match self {
            Self::Scratch(scratch) => return scratch.take_down().map(|()| None),
            Self::Store(store) => return store.take_down().map(|()| None),
            Self::MountPoint(act, path) => {
                fs::remove_dir(&*path).map_err(SystemError::io("remove", &*path))?;
                *act
            }
            Self::Daemon(act, daemon, path) => {
                if let Some(daemon) = daemon {
                    end(daemon, path)?;
                }
                *act
            }
            Self::ProgramMount(act, path, kind) => {
                if is_mounted(path, kind)? {
                    program_mount::unmount(path)?;
                }
                *act
            }
            Self::StackedMount(act, path, kind) => {
                if is_mounted(path, kind)? {
                    filesystem::unmount_when_let_go(path)?;
                }
                *act
            }
            Self::Loop(act, device, file) => {
                if loopdev::of_file(file, loopdev::number(device)).is_some() {
                    loopdev::detach(device)?;
                    orphans::await_detached(file, device);
                }
                *act
            }
            Self::FileSystem(act, path, ours) => {
                match mount_at(path).map(|entry| entry.device) {
                    // Whoever unmounted it in the meantime has done our work.
                    None => {}
                    Some(device) if *ours == Some(device) => {
                        filesystem::unmount_when_let_go(path)?;
                    }
                    // Somebody mounted something else on top.
                    Some(_) => return Err(SystemError::Busy { path: path.clone() }),
                }
                *act
            }
            Self::FileSystemKey(act, path, identifier) => {
                keys::remove_from_file_system(path, identifier)?;
                *act
            }
            Self::UserKey(act, description) => {
                keys::remove_of_user(description)?;
                *act
            }
        }))
    }
}

/// Fills the file at `path`, which may be open for direct I/O, with random bytes that repeat nowhere, until `stop`
/// is set.
///
/// # Errors
/// [`SystemError::Stopped`], [`SystemError::Io`].
pub(crate) fn fill_at_random(
    file: &File,
    len: u64,
    path: &Path,
    stop: &AtomicBool,
) -> Result<(), SystemError> {
    if !Machine::this().fills {
        return Ok(());
    }
    let failed = || SystemError::io("fill", path);
    let mut block = AlignedBuf::zeroed(1 << 20);
    let mut at = 0;
    while at < len {
        if stop.load(Ordering::Relaxed) {
            return Err(SystemError::Stopped);
        }
        getrandom::fill(&mut block).map_err(|e| failed()(io::Error::other(e.to_string())))?;
        let part = block.len().min((len - at) as usize);
        file.write_all_at(&block[..part], at).map_err(failed())?;
        at += part as u64;
    }
    file.sync_data().map_err(failed())
}

/// Whether a file system of that type is what is mounted at `path`; another there is in the way.
fn is_mounted(path: &Path, kind: &str) -> Result<bool, SystemError> {
    match mount_at(path) {
        None => Ok(false),
        Some(entry) if entry.file_system == kind => Ok(true),
        Some(_) => Err(SystemError::Busy { path: path.to_owned() }),
    }
}

/// Awaits the end of a daemon whose mount is gone, and sees to it if need be.
fn end(daemon: &mut Daemon, path: &Path) -> Result<(), SystemError> {
    let failed = SystemError::io("await the end of the process that served", path);
    let ended = process::wait_within(&mut daemon.child, process::GRACE).map_err(failed)?;
    if ended.is_none() {
        let _ = kill_process_group(Pid::from_child(&daemon.child), Signal::TERM);
        let asked = process::wait_within(&mut daemon.child, process::GRACE / 12);
        if !matches!(asked, Ok(Some(_))) {
            process::kill_group(&mut daemon.child);
        }
    }
    // One that never mounted may have come to it after its mount was looked for.
    if mount_at(path).is_some_and(|entry| entry.file_system.starts_with("fuse.")) {
        program_mount::unmount_dead(path)?;
    }
    Ok(())
}
