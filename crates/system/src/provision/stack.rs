//! Kernel devices on top of a container: mappings of device mapper and the file system on the last of them.
//! Each step is in the ledger before it is done, and all are undone in reverse, then what is below.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Child;

use cryptbench_blockdev::{IoMode, Surface};
use rustix::process::{Pid, Signal, kill_process_group};

use super::layers::{Layers, SCRATCH};
use super::mountinfo::mount_at;
use super::stand::Mapped;
use super::{
    Act, Identity, Ledger, Left, Scratch, dm, filesystem, loopdev, mount_point, orphans, process,
    program_mount, veracrypt,
};
use crate::SystemError;
use crate::command::{Daemon, Invocation, run};
use crate::contender::{Ground, Rest, Stand, Woken};
use crate::machine::Machine;

/// The type of a mount whose program names none.
const FUSE: &str = "fuse";

/// What stands on a container. Dropping it takes everything down, as far as it lets itself be.
pub(crate) struct Stack {
    /// Name of the run and the arm.
    name: String,
    ledger: Ledger,
    scratch: Option<Scratch>,
    steps: Vec<Step>,
    /// The container, and what makes a device of it.
    pub(crate) below: Layers,
    /// What brings all of it up again over the container.
    again: Option<Again>,
    /// The scratch file, while all rests.
    left: Option<Left>,
}

/// What brings a stack up again: it is given the scratch file that was left, if there was one.
type Again = Box<dyn FnMut(&mut Stack, Option<Left>) -> Result<Woken, SystemError> + Send>;

/// What was done, with its number in the ledger.
enum Step {
    Mapping(u32, String),
    MountPoint(u32, PathBuf),
    /// With the number of the device that was mounted.
    FileSystem(u32, PathBuf, Option<u64>),
    /// An empty file for a program to mount on.
    MountFile(u32, PathBuf, Identity),
    /// A program, the file that it serves, and the numbers of both acts.
    Served {
        daemon: u32,
        mount: u32,
        path: PathBuf,
        child: Option<Daemon>,
    },
    /// With the file.
    Loop(u32, PathBuf, PathBuf),
    /// With the container.
    VeraCrypt(u32, PathBuf),
}

/// What a file system is mounted from.
pub(crate) enum Base<'a> {
    /// A device-mapper device.
    Mapping(&'a Path),
    /// A loop device over a file.
    Loop(&'a Path, &'a Path),
}

impl Stack {
    /// An empty one for the arm `id` of a run.
    pub(crate) fn new(run_id: &str, id: &str) -> Result<Self, SystemError> {
        let name = format!("{run_id}-{}", id.replace(['/', '='], "-"));
        let ledger = Ledger::create(&format!("{name}-devices"))?;
        let below = Layers::new(run_id, id)?;
        Ok(Self { name, ledger, scratch: None, steps: Vec::new(), below, again: None, left: None })
    }

    /// What makes all that shows the container's data once more.
    pub(crate) fn shown_again_by(
        &mut self,
        again: impl FnMut(&mut Self, Option<Left>) -> Result<Woken, SystemError> + Send + 'static,
    ) {
        self.again = Some(Box::new(again));
    }

    /// Lets `make` set up the mappings of these names, the lowest first, and gives the path of the last.
    ///
    /// A program that fails in the middle may leave some of them: those go with the rest.
    pub(crate) fn map(
        &mut self,
        names: &[String],
        make: impl FnOnce() -> Result<(), SystemError>,
    ) -> Result<PathBuf, SystemError> {
        let mut acts = Vec::new();
        for name in names {
            let act = self.ledger.intend(&Act::Mapping { path: dm::path_of(name) })?;
            self.steps.push(Step::Mapping(act, name.clone()));
            acts.push((act, name));
        }
        make()?;
        for (act, name) in acts {
            if let Some(device) = dm::number_of(name) {
                self.ledger.made(act, Identity::number(device))?;
            }
        }
        dm::await_node(names.last().map_or("", String::as_str))
    }

    /// Lets a program serve the plaintext as a file, which is a FUSE mount by itself; gives the file and the
    /// number of the process. `invocation` gets the path at which to mount.
    pub(crate) fn serve_file(
        &mut self,
        program: &'static str,
        invocation: impl FnOnce(&Path) -> Invocation,
    ) -> Result<(PathBuf, u32), SystemError> {
        let path = mount_point::unused()?;
        let (act, identity) =
            self.ledger.attempt(&Act::ScratchFile { path: path.clone() }, || {
                let made =
                    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
                made.and_then(|file| Identity::of(&file)).map_err(SystemError::io("create", &path))
            })?;
        self.steps.push(Step::MountFile(act, path.clone(), identity));
        self.ledger.made(act, identity)?;
        let act = Act::Daemon { program: program.to_owned(), path: path.clone() };
        let daemon = self.ledger.intend(&act)?;
        let act = Act::ProgramMount { path: path.clone(), file_system: FUSE.to_owned() };
        let mount = self.ledger.intend(&act)?;
        self.steps.push(Step::Served { daemon, mount, path: path.clone(), child: None });
        let machine = Machine::this();
        let mut started = invocation(&path).start(&machine)?;
        let number = started.child.id();
        let noted = process::identity(number).map_or(Ok(()), |id| self.ledger.made(daemon, id));
        let mounted = noted.and_then(|()| {
            let limit = machine.limit(program, machine.ready_within);
            program_mount::wait_until_mounted(&path, FUSE, &mut started, limit)
        });
        if let Some(Step::Served { child, .. }) = self.steps.last_mut() {
            *child = Some(started);
        }
        self.ledger.made(mount, Identity::number(mounted?.device))?;
        Ok((path, number))
    }

    /// Puts a loop device on `file`, which gets one request after the other from it if `in_turn`.
    pub(crate) fn loop_device(
        &mut self,
        file: &Path,
        in_turn: bool,
    ) -> Result<PathBuf, SystemError> {
        let (act, device) = self
            .ledger
            .attempt(&Act::LoopDevice { file: file.to_owned() }, || loopdev::attach(file, false))?;
        self.steps.push(Step::Loop(act, device.clone(), file.to_owned()));
        if let Some(device) = loopdev::number(&device) {
            self.ledger.made(act, Identity::number(device))?;
        }
        if in_turn {
            // Without direct I/O a single worker carries the requests, each to its end.
            run("losetup", ["--direct-io=off".as_ref(), device.as_os_str()])?;
        }
        Ok(device)
    }

    /// Lets VeraCrypt's program open `container`.
    pub(crate) fn veracrypt(
        &mut self,
        container: &Path,
        open: impl FnOnce() -> Result<(), SystemError>,
    ) -> Result<Mapped, SystemError> {
        let act = self.ledger.intend(&Act::VeraCryptVolume { path: container.to_owned() })?;
        self.steps.push(Step::VeraCrypt(act, container.to_owned()));
        open()?;
        let device = veracrypt::device_of(container).ok_or_else(|| SystemError::Program {
            program: "veracrypt",
            reason: "it does not list the volume that it has opened".to_owned(),
        })?;
        let file = veracrypt::file_below(&device);
        // Where the program encrypts by itself, it does so in a process that has the volume's name.
        let daemons = match file {
            Some(_) => orphans::processes_with(&container.to_string_lossy()),
            None => Vec::new(),
        };
        Ok(Mapped { file, daemons, ..Mapped::by_kernel(device) })
    }

    /// Mounts the file system on a device in a private directory, whose path it gives.
    pub(crate) fn mount(&mut self, base: &Base<'_>) -> Result<PathBuf, SystemError> {
        let path = mount_point::unused()?;
        let act = self.ledger.intend(&Act::Directory { path: path.clone() })?;
        self.steps.push(Step::MountPoint(act, path.clone()));
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(SystemError::io("create", &path))?;
        let identity = Identity::at(&path).map_err(SystemError::io("inspect", &path))?;
        self.ledger.made(act, identity)?;
        let (act, device) = match *base {
            Base::Mapping(device) => {
                let act = Act::MappedFileSystem { path: path.clone(), device: device.to_owned() };
                (act, device)
            }
            Base::Loop(device, file) => {
                (Act::FileSystem { path: path.clone(), file: file.to_owned() }, device)
            }
        };
        let (act, ()) =
            self.ledger.attempt(&act, || filesystem::mount(device, &path, false, None))?;
        let number = mount_at(&path).map(|entry| entry.device);
        self.steps.push(Step::FileSystem(act, path.clone(), number));
        if let Some(device) = number {
            self.ledger.made(act, Identity::number(device))?;
        }
        Ok(path)
    }

    /// The filled scratch file in `directory`, like that of plain storage.
    pub(crate) fn scratch(
        &mut self,
        directory: &Path,
        ground: &mut Ground<'_>,
    ) -> Result<Surface, SystemError> {
        let ledger = Ledger::create(&format!("{}-scratch", self.name))?;
        let len = ground.scratch.extent.len;
        let mut scratch = Scratch::create(&directory.join(SCRATCH), len, ledger)?;
        if ground.scratch.mode == IoMode::Buffered {
            scratch.go_buffered()?;
        }
        let surface = scratch.surface();
        self.scratch = Some(scratch);
        (ground.fill)(&surface)?;
        Ok(surface)
    }
}

impl Stack {
    /// Whether a loop device among it keeps what is written in the page cache of its file.
    pub(crate) fn caches(&self) -> bool {
        let caches = |s: &Step| matches!(s, Step::Loop(_, device, _) if loopdev::caches(device));
        self.steps.iter().any(caches) || self.below.caches()
    }

    /// Undoes all steps above the container.
    fn undo(&mut self) -> Result<(), SystemError> {
        while let Some(step) = self.steps.last_mut() {
            for act in step.undo()? {
                self.ledger.undone(act)?;
            }
            self.steps.pop();
        }
        Ok(())
    }
}

impl Stand for Stack {
    fn take_down(&mut self) -> Result<(), SystemError> {
        if let Some(scratch) = self.scratch.take() {
            scratch.remove()?;
        }
        self.undo()?;
        self.below.take_down()
    }

    fn rest(&mut self) -> Result<Rest, SystemError> {
        if let Some(scratch) = self.scratch.take() {
            // It goes with the container that it lies in.
            self.left = Some(scratch.leave()?);
        }
        self.undo()?;
        Ok(Rest::Unmounted)
    }

    fn wake(&mut self) -> Result<Woken, SystemError> {
        let mut again = self.again.take().expect("who can rest says how it is brought up again");
        let woken = again(self, self.left);
        self.again = Some(again);
        woken
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // What is still in use stays in the ledger, for cleanup.
        let _ = self.take_down();
    }
}

impl Step {
    /// Undoes it if it is still there, and gives its numbers.
    fn undo(&mut self) -> Result<Vec<u32>, SystemError> {
        match self {
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
                Ok(vec![*act])
            }
            Self::MountPoint(act, path) => {
                gone(fs::remove_dir(&*path)).map_err(SystemError::io("remove", &*path))?;
                Ok(vec![*act])
            }
            Self::VeraCrypt(act, container) => veracrypt::dismount(container).map(|()| vec![*act]),
            Self::Mapping(act, name) => dm::remove(name).map(|()| vec![*act]),
            Self::Loop(act, device, file) => {
                if loopdev::of_file(file, loopdev::number(device)).is_some() {
                    loopdev::detach(device)?;
                    orphans::await_detached(file, device);
                }
                Ok(vec![*act])
            }
            Self::Served { daemon, mount, path, child } => {
                if let Some(child) = child {
                    end(&mut child.child);
                }
                if mount_at(path).is_some_and(|entry| entry.file_system == FUSE) {
                    program_mount::unmount_dead(path)?;
                }
                Ok(vec![*mount, *daemon])
            }
            Self::MountFile(act, path, identity) => {
                if Identity::at(path).is_ok_and(|found| found == *identity) {
                    fs::remove_file(&*path).map_err(SystemError::io("remove", &*path))?;
                }
                Ok(vec![*act])
            }
        }
    }
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Asks a program to end, which unmounts what it serves; after a while it is not asked any more.
fn end(child: &mut Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::TERM);
    if !matches!(process::wait_within(child, process::GRACE), Ok(Some(_))) {
        process::kill_group(child);
    }
}
