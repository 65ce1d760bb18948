//! What is set up on a user's machine: each kind of thing is made, destroyed, and recovered after a kill in a file of its
//! own, and all of them are written down in the [`Journal`] first.

mod bind_mount;
pub(crate) mod container;
pub(crate) mod daemon;
#[cfg(test)]
mod faults;
pub(crate) mod fuse_server;
mod identity;
mod journal;
mod journals;
pub(crate) mod key;
pub mod loop_device;
pub(crate) mod mapping;
pub(crate) mod mount;
pub(crate) mod mount_point;
mod orphans;
mod ours;
mod private_directory;
mod recover;
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
pub use key::{FileSystemKey, UserKey};
pub use loop_device::LoopDevice;
pub use mapping::Mapping;
pub use mount::{FileSystem, MappedFileSystem, ProgramMount, StackedMount};
pub use mount_point::MountPoint;
pub use private_directory::PrivateDirectory;
pub use recover::{Cleaned, cleanup, cleanup_by_subject};
pub(crate) use scratch_file::Left;
pub use scratch_file::{Scratch, ScratchFile};
pub use stack::ResourceStack;
pub use veracrypt_volume::VeraCryptVolume;
pub use work_directory::{WorkDirectory, WorkTree};

/// A kind of thing that is set up. Its fields are what the journal says of it, so that it can be found by them after a
/// kill: they hold no secret.
pub(crate) trait Resource: Clone + Into<AnyResource> + Send + 'static {
    /// What is held of it while it is there.
    type Live: Send;

    /// Whether one system call makes it, which refuses where something has its name: if that fails, nothing was made,
    /// and what is there is somebody else's.
    const EXCLUSIVE: bool = false;

    /// Whether it is a key: without it, nothing shows what it had decrypted.
    const IS_KEY: bool = false;

    /// What it makes, or what it makes something of.
    fn path(&self) -> &Path;

    /// Takes it down. What is gone already is no error, and after an error it can be tried again.
    fn destroy(&self, live: &mut Self::Live, identity: Option<Identity>)
    -> Result<(), SystemError>;

    /// Takes down what a killed process made, or a failed program left, as far as it is proved to be ours.
    fn recover(&self, identity: Option<Identity>) -> Recovered;

    /// What stands in the arguments of the program that makes it: one that a killed run had started lives on, and is
    /// awaited before anything is recovered.
    fn made_by(&self) -> Option<String> {
        None
    }

    /// Whether what is written through it stays in a page cache below it.
    fn caches(&self, _live: &Self::Live) -> bool {
        false
    }
}

/// Whether it was ours and is gone now, or why not; `None` if there is nothing.
pub(crate) type Recovered = Option<Result<bool, String>>;

/// What has its name is not what was made: it is left alone.
const NOT_OURS: Recovered = Some(Ok(false));

/// It was ours, and this is how removing it went.
fn removed<E: std::error::Error>(result: Result<(), E>) -> Recovered {
    Some(result.map(|()| true).map_err(|e| chain(&e)))
}

/// Lists the kinds under the names that lines of a journal have for them.
macro_rules! kinds {
    ($($(#[$about:meta])* $name:ident($kind:ty),)*) => {
        /// Something that must be taken down, of any kind, as a line of the journal has it.
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
            /// What it makes, or what it makes something of.
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
    /// A file created where none was.
    ScratchFile(ScratchFile),
    /// A directory made for a mount of ours.
    Directory(MountPoint),
    /// A directory that goes with all that is in it.
    WorkDirectory(WorkTree),
    /// A FUSE mount that this process serves.
    FuseMount(FuseMount),
    /// A loop device over a file.
    LoopDevice(LoopDevice),
    /// A file system mounted from a loop device.
    FileSystem(FileSystem),
    /// A program that works or serves.
    Daemon(Daemon),
    /// A mount that a program serves.
    ProgramMount(ProgramMount),
    /// A file system of the kernel mounted over a directory.
    StackedMount(StackedMount),
    /// A key of fscrypt in the kernel.
    FileSystemKey(FileSystemKey),
    /// A key in the user's keyring.
    UserKey(UserKey),
    /// A device-mapper device.
    Mapping(Mapping),
    /// A volume that VeraCrypt's own program has open.
    VeraCryptVolume(VeraCryptVolume),
    /// A directory mounted once more where only root can rename it.
    BindMount(BindMount),
    /// A file system mounted from a device-mapper device.
    MappedFileSystem(MappedFileSystem),
}
