//! Resources on a user's machine. Each kind has a file with how it is created, destroyed, and
//! recovered after a kill; all of them are written to the [`Journal`] first.

mod bind_mount;
pub(crate) mod container;
pub(crate) mod daemon;
#[cfg(test)]
mod faults;
pub(crate) mod fuse_server;
mod identity;
mod journal;
mod journals;
pub(crate) mod kernel_parameter;
pub(crate) mod key;
pub mod loop_device;
pub(crate) mod mapping;
pub(crate) mod mount;
pub(crate) mod mount_point;
mod orphans;
mod ours;
mod private_directory;
mod recover;
mod reserve;
mod scratch_file;
mod stack;
mod stuck;
pub(crate) mod veracrypt_volume;
mod work_directory;

use std::path::Path;

use cryptbench_text::chain;
use serde::{Deserialize, Serialize};

use crate::SystemError;

pub use bind_mount::BindMount;
pub use daemon::Daemon;
pub use fuse_server::FuseMount;
pub use identity::Identity;
pub use journal::{Journal, Living, living};
pub use kernel_parameter::{ForTrials, KernelParameter};
pub use key::{FileSystemKey, UserKey};
pub use loop_device::LoopDevice;
pub use mapping::Mapping;
pub use mount::{FileSystem, MappedFileSystem, ProgramMount, StackedMount};
pub use mount_point::MountPoint;
pub use private_directory::PrivateDirectory;
pub use recover::{Cleaned, cleanup, cleanup_by_subject};
pub use reserve::{Reserve, allocate_in_turn};
pub(crate) use scratch_file::Left;
pub use scratch_file::{Scratch, ScratchFile};
pub use stack::ResourceStack;
pub use veracrypt_volume::VeraCryptVolume;
pub use work_directory::{WorkDirectory, WorkTree};

/// A kind of resource. Its fields are stored in the journal and suffice to find the resource after
/// a kill. They contain no secrets.
pub(crate) trait Resource: Clone + Into<AnyResource> + Send + 'static {
    /// What is held while the resource exists.
    type Live: Send;

    /// Whether a single system call creates it and fails if the name exists. If that call fails,
    /// nothing was created, and an existing resource belongs to someone else.
    const EXCLUSIVE: bool = false;

    /// Whether it is a key. Once a key is removed, the data that it decrypted is not accessible.
    const IS_KEY: bool = false;

    /// The path of the resource, or of what it is based on.
    fn path(&self) -> &Path;

    /// Destroys the resource. A resource that is already gone is not an error, and after an error
    /// it can be tried again.
    fn destroy(&self, live: &mut Self::Live, identity: Option<Identity>)
    -> Result<(), SystemError>;

    /// Destroys what a killed process created or a failed program left, as far as it is proved to
    /// be ours.
    fn recover(&self, identity: Option<Identity>) -> Recovered;

    /// A text in the arguments of the program that creates it. Such a program can outlive a killed
    /// run, so recovery waits for it to end.
    fn made_by(&self) -> Option<String> {
        None
    }

    /// Whether data written through it stays in a page cache below it.
    fn caches(&self, _live: &Self::Live) -> bool {
        false
    }
}

/// Whether it was ours and is now gone, or the error; `None` if nothing was found.
pub(crate) type Recovered = Option<Result<bool, String>>;

/// The name belongs to something else, which is left alone.
const NOT_OURS: Recovered = Some(Ok(false));

/// It was ours; the result of removing it.
fn removed<E: std::error::Error>(result: Result<(), E>) -> Recovered {
    Some(result.map(|()| true).map_err(|e| chain(&e)))
}

/// Lists the kinds with their names in the lines of a journal.
macro_rules! kinds {
    ($($(#[$about:meta])* $name:ident($kind:ty),)*) => {
        /// A resource of any kind that must be taken down, as a line of the journal.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "act", rename_all = "kebab-case")]
        pub enum AnyResource {
            $($(#[$about])* $name($kind),)*
        }

        $(impl From<$kind> for AnyResource {
            fn from(kind: $kind) -> Self {
                Self::$name(kind)
            }
        })*

        impl AnyResource {
            /// The path of the resource, or of what it is based on.
            #[must_use]
            pub fn path(&self) -> &Path {
                match self {
                    $(Self::$name(kind) => kind.path(),)*
                }
            }

            fn recover(&self, identity: Option<Identity>) -> Recovered {
                match self {
                    $(Self::$name(kind) => kind.recover(identity),)*
                }
            }

            fn made_by(&self) -> Option<String> {
                match self {
                    $(Self::$name(kind) => kind.made_by(),)*
                }
            }
        }
    };
}

kinds! {
    /// A file that did not exist before.
    ScratchFile(ScratchFile),
    /// A directory created for one of our mounts.
    Directory(MountPoint),
    /// A directory that is removed with all its contents.
    WorkDirectory(WorkTree),
    /// A FUSE mount that this process serves.
    FuseMount(FuseMount),
    /// A loop device over a file.
    LoopDevice(LoopDevice),
    /// A file system mounted from a loop device.
    FileSystem(FileSystem),
    /// A working or serving program.
    Daemon(Daemon),
    /// A mount that a program serves.
    ProgramMount(ProgramMount),
    /// A kernel file system mounted over a directory.
    StackedMount(StackedMount),
    /// An fscrypt key in the kernel.
    FileSystemKey(FileSystemKey),
    /// A key in the user's keyring.
    UserKey(UserKey),
    /// A device-mapper device.
    Mapping(Mapping),
    /// A volume that VeraCrypt's program has open.
    VeraCryptVolume(VeraCryptVolume),
    /// A parameter of a kernel module.
    KernelParameter(KernelParameter),
    /// A directory bind-mounted where only root can rename it.
    BindMount(BindMount),
    /// A file system mounted from a device-mapper device.
    MappedFileSystem(MappedFileSystem),
}
