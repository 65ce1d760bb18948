//! An arm that is set up: where its requests go, and what takes it down.

use std::fs::File;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_blockdev::{Extent, IoMode, IoTarget};
use cryptbench_cipher::Tier;
use rustix::fs::{Advice, fadvise};

use crate::resource::{Journal, Left, ResourceStack, Scratch};
use crate::{ArmSpec, SystemError};

/// Name of the scratch file.
const SCRATCH: &str = "scratch";

/// Fills an I/O target to its last byte with incompressible data, so that no first write is measured.
pub type Fill<'a> = &'a mut dyn FnMut(&IoTarget) -> Result<(), SystemError>;

/// What a system may build on.
pub struct ArmContext<'a> {
    /// The journal of the run, to which all that is made is written first.
    pub journal: &'a Journal,
    /// The filled scratch file on plain storage.
    pub scratch: &'a IoTarget,
    /// A directory on the storage under measurement, for what a system needs there.
    pub directory: &'a Path,
    /// The directory, on the same storage, in which workloads make new files on plain storage.
    pub work: &'a Path,
    /// Bytes that the new files of workloads take at most, beside the scratch file.
    pub room: u64,
    /// Name of the run, which is in the names of all that is made.
    pub run_id: &'a str,
    /// Cipher kernels to use.
    pub tier: Tier,
    /// Fills what a system makes of its own.
    pub fill: Fill<'a>,
    /// Set when the run is to end: what takes long looks at it.
    pub stop: &'a AtomicBool,
}

impl ArmContext<'_> {
    /// Between two steps of setting up: whether to go on.
    ///
    /// # Errors
    /// [`SystemError::Stopped`].
    pub(crate) fn go_on(&self) -> Result<(), SystemError> {
        if self.stop.load(Ordering::Relaxed) { Err(SystemError::Stopped) } else { Ok(()) }
    }

    /// A path in [`directory`](Self::directory) that belongs to `arm` alone.
    pub(crate) fn path_for(&self, arm: &ArmSpec, kind: &str) -> PathBuf {
        let id = arm.id.replace(['/', '='], "-");
        self.directory.join(format!("cryptbench-{}-{id}.{kind}", self.run_id))
    }

    /// The filled scratch file in `directory`, like that of plain storage.
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

/// What lies on the storage of an arm, for whoever has it and not the key.
#[derive(Clone, Default)]
pub struct Backing {
    /// Where the content is.
    pub content: Vec<Content>,
    /// The directory whose entries, and those below it, stand for the files of the user, if there is one.
    pub tree: Option<PathBuf>,
    /// What there is as random as ciphertext.
    pub random: Random,
}

/// What of that which an encrypting arm stores is as random as ciphertext.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Random {
    /// Not known, or not enough to tell anything: file systems with encrypted files have tables and journals of zeros.
    #[default]
    Untold,
    /// All but some structures of the system's own: headers of files, lists of names.
    Mostly,
    /// Every byte from this one on: it is ciphertext, or was filled at random before.
    From(u64),
}

/// A place that content is stored at.
#[derive(Clone)]
pub enum Content {
    /// A file, or all files below a directory, which are the arm's alone.
    Path(PathBuf),
    /// The bytes below the I/O target, which other arms use in turn: only what was written last is this one's.
    IoTarget(IoTarget),
}

/// How the data of an arm lie once it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// Written back and dropped from the page cache; there is nothing to unmount.
    CacheDropped,
    /// Unmounted, what served it ended, its mappings and keys removed.
    Unmounted,
    /// Its key taken from the kernel, which drops what it had decrypted.
    KeyRemoved,
}

/// An arm that is set up. Dropping it takes it down.
pub struct PreparedArm {
    /// The filled scratch file, or device, that block workloads use.
    pub io_target: IoTarget,
    /// Where workloads make new files.
    pub directory: PathBuf,
    /// Whether those files pass the system. A file in the directory of an inline system does not, unless
    /// its requests are given the [I/O target](Self::io_target)'s transform.
    pub covers_files: bool,
    /// Processes that serve it.
    pub daemons: Vec<u32>,
    /// Where what it stores lies, if in a file or directory of its own: below it no plaintext may be found, and nothing
    /// there shows it decrypted. A run also sets it to the file that the storage under measurement itself lies in.
    pub stored: Option<PathBuf>,
    /// Whether direct writes may end in a page cache below the arm: they are on the device once that is written
    /// back, which a flush of the I/O target and of what is [stored](Self::stored) waits for.
    pub cached_below: bool,
    backing: Option<Backing>,
    /// What it stands on, besides the storage that plain is measured on.
    layers: Option<Layers>,
}

/// What brings up again all that shows the data at rest.
pub(crate) type Reopen = Box<dyn FnMut(&mut ResourceStack) -> Result<Shown, SystemError> + Send>;

/// What shows of data at rest once it is brought up.
pub(crate) struct Shown {
    /// The directory that files are made in.
    pub(crate) directory: PathBuf,
    /// What requests go to, where that is not a scratch file in the directory.
    pub(crate) device: Option<IoTarget>,
    /// Processes that serve it.
    pub(crate) daemons: Vec<u32>,
}

/// What an arm stands on, from the top.
struct Layers {
    /// The scratch file, unless it is closed or requests go to a device.
    scratch: Option<Scratch>,
    /// The same while it is closed.
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
            // It goes with the store or the container that it lies in.
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
    /// An arm on the scratch file itself.
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
            cached_below: false,
            backing: Some(Backing { content, tree, random: Random::From(0) }),
            layers: None,
        }
    }

    /// An arm with a file system of its own, which `shown` shows: its scratch file is made and filled there, unless
    /// requests go to a device, which is filled.
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
            cached_below: false,
            backing: Some(backing),
            layers: Some(Layers { scratch, left: None, resources, reopen }),
        })
    }

    /// The same, which writes through the page cache to what it stores at `stored`.
    pub(crate) fn cached_in(self, stored: PathBuf) -> Self {
        Self { stored: Some(stored), cached_below: true, ..self }
    }

    /// The same, of which nobody knows where it keeps its data.
    pub(crate) fn of_unknown_storage(self) -> Self {
        Self { backing: None, ..self }
    }

    /// What lies on the storage; `None` where nobody knows where it lies. While the arm is up, it may not be
    /// written back yet.
    #[must_use]
    pub fn backing(&self) -> Option<&Backing> {
        self.backing.as_ref()
    }

    /// Takes the arm down to its data at rest, the same as if the machine were shut down: all is written back,
    /// and nothing is left of what was decrypted. Until it is [reopened](Self::reopen), only [`backing`](Self::backing)
    /// and [`destroy`](Self::destroy) make sense; all copies of the I/O target's file must have been dropped before.
    ///
    /// # Errors
    /// Any [`SystemError`]; then it can still be destroyed.
    pub fn close(&mut self) -> Result<Closed, SystemError> {
        match &mut self.layers {
            Some(layers) => {
                self.io_target = nowhere()?;
                layers.close()
            }
            None => {
                let IoTarget { file, extent, .. } = &self.io_target;
                file.sync_data().map_err(SystemError::io("write back", "the scratch file"))?;
                // Advice: where it is not followed, what is read back comes from memory, as it did from a disk's own.
                let _ =
                    fadvise(&**file, extent.offset, NonZeroU64::new(extent.len), Advice::DontNeed);
                Ok(Closed::CacheDropped)
            }
        }
    }

    /// Brings it up again over the same data, as if the machine had started anew. IoTarget, directory and processes may
    /// be others than before.
    ///
    /// # Errors
    /// Any [`SystemError`]; then it can still be destroyed.
    pub fn reopen(&mut self) -> Result<(), SystemError> {
        if let Some(layers) = &mut self.layers {
            let (io_target, Shown { directory, daemons, .. }) = layers.reopen()?;
            (self.io_target, self.directory, self.daemons) = (io_target, directory, daemons);
        }
        Ok(())
    }

    /// Takes it down, and says whether that went well. What could not be taken down stays in the journal,
    /// for cleanup.
    ///
    /// # Errors
    /// Any [`SystemError`].
    pub fn destroy(self) -> Result<(), SystemError> {
        let Self { io_target, backing, layers, .. } = self;
        // The file is let go of first: it may lie in the file system that is to be unmounted.
        drop((io_target, backing));
        layers.map_or(Ok(()), |mut layers| layers.destroy())
    }
}

/// The I/O target of an arm that is closed: nothing can be asked of it.
fn nowhere() -> Result<IoTarget, SystemError> {
    const NULL: &str = "/dev/null";
    let file = File::open(NULL).map_err(SystemError::io("open", NULL))?;
    Ok(IoTarget {
        file: Arc::new(file),
        extent: Extent { offset: 0, len: 0 },
        mode: IoMode::Buffered,
        transform: None,
    })
}
