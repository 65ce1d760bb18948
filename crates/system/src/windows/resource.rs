//! Resources of a run on Windows: files and directories. All of them are recorded in the [`Journal`] first.

#[path = "../resource/identity.rs"]
mod identity;
#[path = "../resource/journal.rs"]
mod journal;
#[path = "../resource/journals.rs"]
mod journals;
#[path = "../resource/kinds.rs"]
mod kinds;
#[path = "../resource/ours.rs"]
mod ours;
#[path = "../resource/recover.rs"]
mod recover;
#[path = "../resource/reserve.rs"]
mod reserve;
#[path = "../resource/scratch_file.rs"]
mod scratch_file;
#[path = "../resource/stack.rs"]
mod stack;
#[path = "../resource/work_directory.rs"]
mod work_directory;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::SystemError;

pub use identity::Identity;
pub use journal::{Journal, Living, living};
use kinds::{NOT_OURS, kinds, removed};
pub(crate) use kinds::{Recovered, Resource};
pub use recover::{Cleaned, cleanup, cleanup_by_subject};
pub use reserve::{Reserve, allocate_in_turn};
pub(crate) use scratch_file::Left;
pub use scratch_file::{Scratch, ScratchFile};
pub use stack::ResourceStack;
pub use work_directory::{WorkDirectory, WorkTree};

kinds! {
    /// A file that did not exist before.
    ScratchFile(ScratchFile),
    /// A directory that is removed with all its contents.
    WorkDirectory(WorkTree),
}

/// A directory to mount on, which is not possible on Windows.
#[derive(Debug)]
pub enum Place {}

impl Place {
    /// # Errors
    /// [`SystemError::Export`]: nothing is mounted here.
    pub fn open(_path: &Path) -> Result<Self, SystemError> {
        Err(cryptbench_export::not_here().into())
    }

    /// The path with which it was opened.
    pub fn path(&self) -> &Path {
        match *self {}
    }

    /// Never: not available.
    pub fn is_mounted(&self) -> bool {
        match *self {}
    }

    /// # Errors
    /// Never: not available.
    pub fn sync(&self) -> std::io::Result<()> {
        match *self {}
    }
}

impl AnyResource {
    /// The resource's paths, for the journal, which writes paths that are not Unicode in a special form.
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::ScratchFile(file) => vec![&mut file.path],
            Self::WorkDirectory(tree) => vec![&mut tree.path],
        }
    }

    /// Whether a volume is in use through it: always false, because no volume is mounted on Windows.
    pub fn is_mount(&self) -> bool {
        false
    }
}

mod mount_point {
    //! An empty directory of a killed run.

    use std::path::Path;

    use cryptbench_os::FileType;

    use super::ours::held;
    use super::{Identity, NOT_OURS, Recovered, removed};

    /// Removes only an empty directory, so that no data is lost.
    pub(super) fn recover(path: &Path, identity: Option<Identity>) -> Recovered {
        let (above, name, found) = held(path)?;
        let ours = identity.is_none_or(|id| id.is(found.identity.into()));
        if found.kind != FileType::Directory || !ours {
            return NOT_OURS;
        }
        removed(above.remove_directory(&name))
    }
}

mod orphans {
    //! Programs of a killed run; none are started on Windows.

    pub(super) fn await_programs(_word: &str) {}
}

mod stuck {
    //! Servers of a killed run; not available on Windows.

    use std::fs::File;

    use super::{AnyResource, Identity};

    pub(super) fn free(_: &File, _: &[(AnyResource, Option<Identity>)]) {}

    pub(super) fn await_ending(_: &File) {}
}

pub mod loop_device {
    //! Files that are used as disks; Windows attaches them itself.

    use std::path::{Path, PathBuf};

    /// None.
    pub fn of_file(_file: &Path, _device: Option<u64>) -> Option<PathBuf> {
        None
    }

    /// Always false, because there are no loop devices on Windows.
    pub fn caches(_device: &Path) -> bool {
        false
    }
}

/// A kernel parameter for the trials of one arm: not available on Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForTrials {}

impl ForTrials {
    /// Whether both are values of the same parameter.
    pub fn is_of(&self, _other: &Self) -> bool {
        match *self {}
    }

    /// # Errors
    /// Never: not available.
    pub fn set(&self) -> Result<(), SystemError> {
        match *self {}
    }

    /// # Errors
    /// Never: not available.
    pub fn put_back(&self) -> Result<(), SystemError> {
        match *self {}
    }
}

/// A directory in which nobody else can rename entries; a run on Windows does not need one.
pub enum PrivateDirectory {}

impl PrivateDirectory {
    /// # Errors
    /// [`SystemError::Target`]: not possible here.
    pub fn create(parent: &Path, _name: &str, _journal: &Journal) -> Result<Self, SystemError> {
        let problem = "cryptbench cannot create private directories on Windows".to_owned();
        Err(SystemError::Target { path: parent.to_owned(), problem })
    }

    /// The path with which it is accessed.
    pub fn path(&self) -> &Path {
        match *self {}
    }

    /// # Errors
    /// Never: not available.
    pub fn destroy(&mut self) -> Result<(), SystemError> {
        match *self {}
    }
}

/// The partitions of a disk: a run on Windows makes none.
pub enum Partitions {}

impl Partitions {
    /// Bytes of a disk for partitions of these lengths.
    pub fn space(lens: &[u64]) -> u64 {
        lens.iter().sum()
    }

    /// Bytes at the start of the disk that their table occupies.
    pub const fn before() -> u64 {
        0
    }

    /// # Errors
    /// [`SystemError::Target`]: not possible here.
    pub fn create(
        disk: &Path,
        _file: &std::fs::File,
        _lens: &[u64],
        _journal: &Journal,
    ) -> Result<Self, SystemError> {
        let problem = "cryptbench cannot create partitions on Windows".to_owned();
        Err(SystemError::Target { path: disk.to_owned(), problem })
    }

    /// Paths of the partitions.
    pub fn paths(&self) -> &[PathBuf] {
        match *self {}
    }

    /// # Errors
    /// Never: not available.
    pub fn remove(self) -> Result<(), SystemError> {
        match self {}
    }
}

/// Why a disk with partitions is refused.
pub fn has_partitions(_disk: &Path) -> String {
    "has partitions".to_owned()
}
