//! A prepared arm: the target of its requests, and how to remove it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_blockdev::{Extent, IoMode, IoTarget};
use cryptbench_cipher::Tier;
use cryptbench_os::files::{forget_range, nowhere};

use crate::resource::{ForTrials, Journal, Left, Reserve, ResourceStack, Scratch};
use crate::{ArmSpec, SystemError};

/// Name of the scratch file.
const SCRATCH: &str = "scratch";

/// Suffix of container names.
pub(crate) const CONTAINER: &str = "container";

/// Fills the whole of an I/O target with incompressible data, so that no first write to a block is measured.
pub type Fill<'a> = &'a mut dyn FnMut(&IoTarget) -> Result<(), SystemError>;

/// The context in which a system prepares an arm.
pub struct ArmContext<'a> {
    /// The journal of the run; every resource is written to it before it is created.
    pub journal: &'a Journal,
    /// The filled scratch file on plain storage.
    pub scratch: &'a IoTarget,
    /// A directory on the measured storage for the files that a system needs there.
    pub directory: &'a Path,
    /// The directory on the same storage in which workloads create new files on plain storage.
    pub work: &'a Path,
    /// Containers that were created early, so that their space was allocated alternately with that of plain
    /// storage.
    pub reserve: &'a Reserve,
    /// Maximum number of bytes that the new files of workloads occupy, in addition to the scratch file.
    pub room: u64,
    /// Name of the run, which is part of the name of everything that the run creates.
    pub run_id: &'a str,
    /// Instruction sets for the ciphers.
    pub tier: Tier,
    /// Fills the storage that a system creates.
    pub fill: Fill<'a>,
    /// Set when the run must end; long operations poll it.
    pub stop: &'a AtomicBool,
}

impl ArmContext<'_> {
    /// Checks whether to continue; called between the steps of setting up.
    pub(crate) fn go_on(&self) -> Result<(), SystemError> {
        if self.stop.load(Ordering::Relaxed) { Err(SystemError::Stopped) } else { Ok(()) }
    }

    /// A path in [`directory`](Self::directory) for `arm` only.
    pub(crate) fn path_for(&self, arm: &ArmSpec, kind: &str) -> PathBuf {
        path_in(self.directory, self.run_id, arm, kind)
    }

    /// Creates a filled scratch file in `directory`, like that of plain storage.
    pub(crate) fn scratch_in(&mut self, directory: &Path) -> Result<Scratch, SystemError> {
        let len = self.scratch.extent.len;
        let mut scratch = Scratch::create(&directory.join(SCRATCH), len, self.journal)?;
        if self.scratch.mode == IoMode::Buffered {
            scratch.go_buffered()?;
        }
        (self.fill)(&scratch.io_target())?;
        Ok(scratch)
    }
}

fn path_in(directory: &Path, run_id: &str, arm: &ArmSpec, kind: &str) -> PathBuf {
    let id = arm.id.replace(['/', '='], "-");
    directory.join(format!("cryptbench-{run_id}-{id}.{kind}"))
}

/// Path of the container of an arm in `directory`.
pub fn container_path(directory: &Path, run_id: &str, arm: &ArmSpec) -> PathBuf {
    path_in(directory, run_id, arm, CONTAINER)
}

/// The stored data of an arm, as it appears without the key.
#[derive(Clone, Default)]
pub struct Backing {
    /// The location of the content.
    pub content: Vec<Content>,
    /// The directory whose entries, at all levels, correspond to the user's files, if there is such a
    /// directory.
    pub tree: Option<PathBuf>,
    /// The data that must look random.
    pub random: Random,
    /// Other data that the system's program stores besides the ciphertext in `content`: a cache, or the state
    /// of its volumes.
    pub beside: Option<PathBuf>,
}

/// The stored data that must look random.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Random {
    /// Unknown, or too small to judge: file systems with encrypted files contain tables and journals of zeros.
    #[default]
    Untold,
    /// Everything except some structures of the system itself, such as file headers and lists of names.
    Mostly,
    /// Every byte from this offset on is ciphertext or random filling.
    From(u64),
}

/// A location of stored content.
#[derive(Clone)]
pub enum Content {
    /// A file, or all files below a directory, used only by this arm.
    Path(PathBuf),
    /// The stored bytes of the I/O target. Other arms use it as well, so only the latest data belongs to this
    /// arm.
    IoTarget(IoTarget),
}

/// The state of an arm's data after the arm was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// Written back and dropped from the page cache; nothing had to be unmounted.
    CacheDropped,
    /// Unmounted; its servers have exited, and its mappings and keys have been removed.
    Unmounted,
    /// The arm's key was removed from the kernel, and with it all decrypted data.
    KeyRemoved,
}

/// A prepared arm. Dropping it removes it.
pub struct PreparedArm {
    /// The filled scratch file or device for block workloads.
    pub io_target: IoTarget,
    /// The directory in which workloads create new files.
    pub directory: PathBuf,
    /// Whether those files pass through the system. With an inline system they do not, unless their requests
    /// use the transform of the [I/O target](Self::io_target).
    pub covers_files: bool,
    /// Processes that serve it.
    pub daemons: Vec<u32>,
    /// The file or directory with its stored data, if the arm has its own. It must not contain plaintext, and decrypted
    /// data is not visible in it. A run also sets this to the file that contains the measured storage itself.
    pub stored: Option<PathBuf>,
    /// The layers above [`stored`](Self::stored) that have the data in a separate page cache, from the top
    /// down: the block device of a file system that a process serves, and the file that a process serves to a
    /// loop device without direct I/O.
    pub cached_above: Vec<PathBuf>,
    /// Whether direct writes may end in an underlying page cache. The data is on the device when that cache has been
    /// written back. Flushing the I/O target and [`stored`](Self::stored) waits for this write-back.
    pub cached_below: bool,
    /// The arm with the settings that its system chose, if any were unspecified.
    pub turned_out: Option<ArmSpec>,
    /// Kernel parameters that are set for this arm's trials and restored for all other trials.
    pub parameters: Vec<ForTrials>,
    /// The operation that writes the arm's data to its device if flushing its files does not.
    pub(crate) write_back: Option<WriteBack>,
    backing: Option<Backing>,
    /// The arm's resources, other than plain storage.
    layers: Option<Layers>,
}

/// Restores everything that gives access to the stored data.
pub(crate) type Reopen = Box<dyn FnMut(&mut ResourceStack) -> Result<Shown, SystemError> + Send>;

/// Writes the data of a file system to its device; returns once the data is on the device.
pub(crate) type WriteBack = Box<dyn Fn() -> Result<(), SystemError> + Send>;

/// The access to the stored data after it is set up.
pub(crate) struct Shown {
    /// The directory for new files.
    pub(crate) directory: PathBuf,
    /// The target of requests, unless it is a scratch file in the directory.
    pub(crate) device: Option<IoTarget>,
    /// Processes that serve it.
    pub(crate) daemons: Vec<u32>,
}

/// The resources of an arm, topmost first.
struct Layers {
    /// The scratch file, unless it is closed or a device is used instead.
    scratch: Option<Scratch>,
    /// The scratch file while it is closed.
    left: Option<Left>,
    resources: ResourceStack,
    reopen: Reopen,
}

impl Layers {
    fn destroy(&mut self) -> Result<(), SystemError> {
        self.scratch.take().map_or(Ok(()), Scratch::remove)?;
        self.resources.destroy()
    }

    fn close(&mut self) -> Result<Closed, SystemError> {
        if let Some(scratch) = self.scratch.take() {
            // The scratch file is removed together with the store or container in which it is stored.
            self.left = Some(scratch.leave()?);
        }
        let keys = self.resources.close()?;
        Ok(if keys { Closed::KeyRemoved } else { Closed::Unmounted })
    }

    fn reopen(&mut self) -> Result<(IoTarget, Shown), SystemError> {
        let mut shown = (self.reopen)(&mut self.resources)?;
        let io_target = match (shown.device.take(), self.left) {
            (Some(device), _) => device,
            (None, left) => {
                let left = left.expect("left when it was closed");
                left.open(&shown.directory.join(SCRATCH))?
            }
        };
        Ok((io_target, shown))
    }
}

impl PreparedArm {
    /// An arm that uses the scratch file itself.
    pub(crate) fn on_scratch(io_target: IoTarget, work: &Path, covers_files: bool) -> Self {
        let mut content =
            vec![Content::IoTarget(IoTarget { transform: None, ..io_target.clone() })];
        let tree = covers_files.then(|| work.to_owned());
        content.extend(tree.clone().map(Content::Path));
        Self {
            io_target,
            directory: work.to_owned(),
            covers_files,
            daemons: Vec::new(),
            stored: None,
            cached_above: Vec::new(),
            cached_below: false,
            turned_out: None,
            parameters: Vec::new(),
            write_back: None,
            backing: Some(Backing { content, tree, random: Random::From(0), beside: None }),
            layers: None,
        }
    }

    /// An arm with its own file system, to which `shown` gives access. Creates and fills a scratch file in it
    /// or, if requests go to a device, fills the device.
    pub(crate) fn on_stack(
        mut shown: Shown,
        context: &mut ArmContext<'_>,
        resources: ResourceStack,
        backing: Backing,
        reopen: Reopen,
    ) -> Result<Self, SystemError> {
        context.go_on()?;
        let (io_target, scratch) = match shown.device.take() {
            Some(device) => {
                (context.fill)(&device)?;
                (device, None)
            }
            None => {
                let scratch = context.scratch_in(&shown.directory)?;
                (scratch.io_target(), Some(scratch))
            }
        };
        Ok(Self {
            io_target,
            directory: shown.directory,
            covers_files: true,
            daemons: shown.daemons,
            stored: None,
            cached_above: Vec::new(),
            cached_below: false,
            turned_out: None,
            parameters: Vec::new(),
            write_back: None,
            backing: Some(backing),
            layers: Some(Layers { scratch, left: None, resources, reopen }),
        })
    }

    /// The same arm, marked as writing through the page cache to `stored`.
    pub(crate) fn cached_in(self, stored: PathBuf) -> Self {
        Self { stored: Some(stored), cached_below: true, ..self }
    }

    /// The same arm, marked as writing through the page caches of `above`.
    pub(crate) fn cached_on(self, above: Vec<PathBuf>) -> Self {
        let cached_below = self.cached_below || !above.is_empty();
        Self { cached_above: above, cached_below, ..self }
    }

    /// The same arm without a file system: requests go to a device, and no files can be created.
    pub(crate) fn without_files(self) -> Self {
        Self { covers_files: false, ..self }
    }

    /// The same arm, marked as storing its data at an unknown location.
    pub(crate) fn of_unknown_storage(self) -> Self {
        Self { backing: None, ..self }
    }

    /// Writes the data that a flush of its files leaves in memory to its device.
    ///
    /// # Errors
    /// [`SystemError::Program`].
    pub fn write_back(&self) -> Result<(), SystemError> {
        self.write_back.as_ref().map_or(Ok(()), |write_back| write_back())
    }

    /// The arm's stored data; `None` if the location is unknown. While the arm is set up, not all data may have been
    /// written back.
    pub fn backing(&self) -> Option<&Backing> {
        self.backing.as_ref()
    }

    /// Closes the arm, as if the machine were shut down: writes everything back and leaves nothing decrypted.
    /// Until it is [reopened](Self::reopen), only [`backing`](Self::backing) and [`destroy`](Self::destroy) may
    /// be used. All copies of the I/O target's file must be dropped first.
    ///
    /// # Errors
    /// Any [`SystemError`]; the arm can still be destroyed.
    pub fn close(&mut self) -> Result<Closed, SystemError> {
        match &mut self.layers {
            Some(layers) => {
                self.io_target = closed()?;
                layers.close()
            }
            None => {
                let IoTarget { file, extent, .. } = &self.io_target;
                file.sync_data().map_err(SystemError::io("write back", "the scratch file"))?;
                // Only a hint: if the kernel ignores it, reading back gets the data from memory, as it may from
                // a disk's own cache.
                forget_range(file, extent.offset, extent.len);
                Ok(Closed::CacheDropped)
            }
        }
    }

    /// Sets up the arm again over the same data, as after a restart of the machine. The I/O target, the
    /// directory and the processes may change.
    ///
    /// # Errors
    /// Any [`SystemError`]; the arm can still be destroyed.
    pub fn reopen(&mut self) -> Result<(), SystemError> {
        if let Some(layers) = &mut self.layers {
            let (io_target, Shown { directory, daemons, .. }) = layers.reopen()?;
            (self.io_target, self.directory, self.daemons) = (io_target, directory, daemons);
        }
        Ok(())
    }

    /// Removes the arm. Resources that cannot be removed stay in the journal for cleanup.
    ///
    /// # Errors
    /// Any [`SystemError`].
    pub fn destroy(self) -> Result<(), SystemError> {
        let Self { io_target, backing, layers, .. } = self;
        // Closes the file first, because it may be in a file system that will be unmounted.
        drop((io_target, backing));
        layers.map_or(Ok(()), |mut layers| layers.destroy())
    }
}

/// The I/O target of a closed arm: it accepts no requests.
fn closed() -> Result<IoTarget, SystemError> {
    let file = nowhere().map_err(SystemError::io("open", "nothing"))?;
    Ok(IoTarget {
        file: Arc::new(file),
        extent: Extent { offset: 0, len: 0 },
        mode: IoMode::Buffered,
        transform: None,
    })
}
