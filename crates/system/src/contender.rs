//! A contender that is set up: where its requests go, and what takes it down.

use std::path::{Path, PathBuf};

use cryptbench_blockdev::Surface;
use cryptbench_cipher::Tier;

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
    /// there shows it decrypted.
    pub stored: Option<PathBuf>,
    stand: Option<Box<dyn Stand>>,
}

/// What a contender stands on, besides the storage that plain is measured on.
pub(crate) trait Stand: Send {
    /// Takes it all down; can be tried again after an error.
    fn take_down(&mut self) -> Result<(), SystemError>;
}

impl Contender {
    /// A contender on the scratch file itself.
    pub(crate) fn on_scratch(surface: Surface, work: &Path, covers_files: bool) -> Self {
        Self {
            surface,
            directory: work.to_owned(),
            covers_files,
            daemons: Vec::new(),
            stored: None,
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
            stand: Some(stand),
        }
    }

    /// Takes it down, and says whether that went well. What could not be taken down stays in the ledger,
    /// for cleanup.
    ///
    /// # Errors
    /// Any [`SystemError`].
    pub fn take_down(self) -> Result<(), SystemError> {
        let Self { surface, stand, .. } = self;
        // The file is let go of first: it may lie in the file system that is to be unmounted.
        drop(surface);
        stand.map_or(Ok(()), |mut stand| stand.take_down())
    }
}
