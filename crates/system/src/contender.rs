//! A contender that is set up: where its requests go, and what takes it down.

use std::fs::File;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_blockdev::{Extent, IoMode, Surface};
use cryptbench_cipher::Tier;
use rustix::fs::{Advice, fadvise};

use crate::SystemError;

/// How a system comes between a workload and the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// In the process that issues the requests, on the very bytes that plain storage is measured on.
    Inline,
    /// As a file system of its own, in which files are made and used like any others.
    Mounted,
}

impl Attachment {
    /// `inline` or `mounted`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Mounted => "mounted",
        }
    }
}

/// Fills a surface to its last byte with incompressible data, so that no first write is measured.
pub type Fill<'a> = &'a mut dyn FnMut(&Surface) -> Result<(), SystemError>;

/// What a system may build on.
pub struct Ground<'a> {
    /// The filled scratch file on plain storage.
    pub scratch: &'a Surface,
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

impl Ground<'_> {
    /// Between two steps of setting up: whether to go on.
    ///
    /// # Errors
    /// [`SystemError::Stopped`].
    pub(crate) fn go_on(&self) -> Result<(), SystemError> {
        if self.stop.load(Ordering::Relaxed) { Err(SystemError::Stopped) } else { Ok(()) }
    }
}

/// A contender that is set up. Dropping it takes it down.
pub struct Contender {
    /// The filled scratch file, or device, that block workloads use.
    pub surface: Surface,
    /// Where workloads make new files.
    pub directory: PathBuf,
    /// Whether those files pass the system. A file in the directory of an inline system does not, unless
    /// its requests are given the [surface](Self::surface)'s transform.
    pub covers_files: bool,
    /// Processes that serve it.
    pub daemons: Vec<u32>,
    /// Where what it stores lies, if in a file or directory of its own: below it no plaintext may be found, and nothing
    /// there shows it decrypted. A run also sets it to the file that the storage under measurement itself lies in.
    pub stored: Option<PathBuf>,
    /// Whether direct writes may end in a page cache below the contender: they are on the device once that is written
    /// back, which a flush of the surface and of what is [stored](Self::stored) waits for.
    pub cached_below: bool,
    backing: Option<Backing>,
    stand: Option<Box<dyn Stand>>,
}

/// What lies on the storage of a contender, for whoever has it and not the key.
#[derive(Clone, Default)]
pub struct Backing {
    /// Where the content is.
    pub content: Vec<Content>,
    /// The directory whose entries, and those below it, stand for the files of the user, if there is one.
    pub tree: Option<PathBuf>,
    /// What there is as random as ciphertext.
    pub random: Random,
}

/// What of that which an encrypting contender stores is as random as ciphertext.
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
    /// A file, or all files below a directory, which are the contender's alone.
    Path(PathBuf),
    /// The bytes below the surface, which other contenders use in turn: only what was written last is this one's.
    Surface(Surface),
}

/// How a contender lies at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Written back and dropped from the page cache; there is nothing to unmount.
    CacheDropped,
    /// Unmounted, what served it ended, its mappings and keys removed.
    Unmounted,
    /// Its key taken from the kernel, which drops what it had decrypted.
    KeyRemoved,
}

/// What a contender stands on, besides the storage that plain is measured on.
pub(crate) trait Stand: Send {
    /// Takes it all down; can be tried again after an error.
    fn take_down(&mut self) -> Result<(), SystemError>;

    /// Takes down all but the data at rest.
    fn rest(&mut self) -> Result<Rest, SystemError>;

    /// Brings it up again over the same data.
    fn wake(&mut self) -> Result<Woken, SystemError>;
}

/// What a stand shows after it was brought up again.
pub(crate) struct Woken {
    /// As [`Contender::surface`].
    pub(crate) surface: Surface,
    /// As [`Contender::directory`].
    pub(crate) directory: PathBuf,
    /// As [`Contender::daemons`].
    pub(crate) daemons: Vec<u32>,
}

impl Contender {
    /// A contender on the scratch file itself.
    pub(crate) fn on_scratch(surface: Surface, work: &Path, covers_files: bool) -> Self {
        let mut content = vec![Content::Surface(Surface { transform: None, ..surface.clone() })];
        let tree = covers_files.then(|| work.to_owned());
        content.extend(tree.clone().map(Content::Path));
        Self {
            surface,
            directory: work.to_owned(),
            covers_files,
            daemons: Vec::new(),
            stored: None,
            cached_below: false,
            backing: Some(Backing { content, tree, random: Random::From(0) }),
            stand: None,
        }
    }

    /// A contender with a file system of its own.
    pub(crate) fn on_stand(surface: Surface, directory: PathBuf, stand: Box<dyn Stand>) -> Self {
        Self {
            surface,
            directory,
            covers_files: true,
            daemons: Vec::new(),
            stored: None,
            cached_below: false,
            backing: None,
            stand: Some(stand),
        }
    }

    /// The same, of which nobody knows where it keeps its data.
    pub(crate) fn of_unknown_storage(self) -> Self {
        Self { backing: None, ..self }
    }

    /// The same, which keeps its data there.
    pub(crate) fn over(mut self, backing: Backing) -> Self {
        self.backing = Some(backing);
        self
    }

    /// What lies on the storage; `None` where nobody knows where it lies. While the contender is up, it may not be
    /// written back yet.
    #[must_use]
    pub fn backing(&self) -> Option<&Backing> {
        self.backing.as_ref()
    }

    /// The file that holds all of it, if it is one.
    pub(crate) fn container(&self) -> Option<PathBuf> {
        match &self.backing.as_ref()?.content[..] {
            [Content::Path(path)] => Some(path.clone()),
            _ => None,
        }
    }

    /// Takes the contender down to its data at rest, the same as if the machine were shut down: all is written back,
    /// and nothing is left of what was decrypted. Until [`wake`](Self::wake), only [`backing`](Self::backing) and
    /// [`take_down`](Self::take_down) make sense; all copies of the surface's file must have been dropped before.
    ///
    /// # Errors
    /// Any [`SystemError`]; then it can still be taken down.
    pub fn rest(&mut self) -> Result<Rest, SystemError> {
        match &mut self.stand {
            Some(stand) => {
                self.surface = nowhere()?;
                stand.rest()
            }
            None => {
                let Surface { file, extent, .. } = &self.surface;
                file.sync_data().map_err(SystemError::io("write back", "the scratch file"))?;
                // Advice: where it is not followed, what is read back comes from memory, as it did from a disk's own.
                let _ =
                    fadvise(&**file, extent.offset, NonZeroU64::new(extent.len), Advice::DontNeed);
                Ok(Rest::CacheDropped)
            }
        }
    }

    /// Brings it up again over the same data, as if the machine had started anew. Surface, directory and processes may
    /// be others than before.
    ///
    /// # Errors
    /// Any [`SystemError`]; then it can still be taken down.
    pub fn wake(&mut self) -> Result<(), SystemError> {
        if let Some(stand) = &mut self.stand {
            let Woken { surface, directory, daemons } = stand.wake()?;
            (self.surface, self.directory, self.daemons) = (surface, directory, daemons);
        }
        Ok(())
    }

    /// Takes it down, and says whether that went well. What could not be taken down stays in the ledger,
    /// for cleanup.
    ///
    /// # Errors
    /// Any [`SystemError`].
    pub fn take_down(self) -> Result<(), SystemError> {
        let Self { surface, backing, stand, .. } = self;
        // The file is let go of first: it may lie in the file system that is to be unmounted.
        drop((surface, backing));
        stand.map_or(Ok(()), |mut stand| stand.take_down())
    }
}

/// The surface of a contender that rests: nothing can be asked of it.
fn nowhere() -> Result<Surface, SystemError> {
    const NULL: &str = "/dev/null";
    let file = File::open(NULL).map_err(SystemError::io("open", NULL))?;
    Ok(Surface {
        file: Arc::new(file),
        extent: Extent { offset: 0, len: 0 },
        mode: IoMode::Buffered,
        transform: None,
    })
}
