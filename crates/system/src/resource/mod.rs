//! Resources on a user's machine. The module of each kind defines how it is created, destroyed, and recovered
//! after a kill. All resources are recorded in the [`Journal`] first.

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
mod kinds;
pub mod loop_device;
pub(crate) mod mapping;
pub(crate) mod mount;
pub(crate) mod mount_point;
mod orphans;
mod ours;
mod partition_table;
pub(crate) mod place;
mod private_directory;
mod recover;
mod reserve;
mod scratch_file;
mod stack;
mod stuck;
pub(crate) mod ublk_disk;
pub(crate) mod veracrypt_volume;
mod walk;
mod work_directory;
pub(crate) mod zfs_pool;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use bind_mount::BindMount;
pub use daemon::Daemon;
pub use fuse_server::FuseMount;
pub use identity::Identity;
pub use journal::{Journal, Living, living};
pub use kernel_parameter::{ForTrials, KernelParameter};
pub use key::{FileSystemKey, UserKey};
use kinds::{NOT_OURS, kinds, removed};
pub(crate) use kinds::{Recovered, Resource};
pub use loop_device::LoopDevice;
pub use mapping::Mapping;
pub use mount::{FileSystem, MappedFileSystem, ProgramMount, StackedMount};
pub use mount_point::MountPoint;
pub use partition_table::{PartitionTable, Partitions, has_partitions};
pub use place::Place;
pub use private_directory::PrivateDirectory;
pub use recover::{Cleaned, cleanup, cleanup_by_subject};
pub use reserve::{Reserve, allocate_in_turn};
pub(crate) use scratch_file::Left;
pub use scratch_file::{Scratch, ScratchFile};
pub use stack::ResourceStack;
pub use ublk_disk::{DiskFileSystem, UblkDisk};
pub use veracrypt_volume::VeraCryptVolume;
pub use work_directory::{WorkDirectory, WorkTree};
pub use zfs_pool::ZfsPool;

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
    LoopDevice(LoopDevice) at file,
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
    UserKey(UserKey) at description,
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
    /// A disk that a child of this process serves through ublk.
    UblkDisk(UblkDisk),
    /// A file system mounted from a ublk device.
    DiskFileSystem(DiskFileSystem),
    /// A ZFS pool on a loop device.
    ZfsPool(ZfsPool),
    /// A partition table and its partitions.
    PartitionTable(PartitionTable),
}

impl AnyResource {
    /// The resource's paths, for the journal, which writes paths that are not Unicode in a special form.
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::ScratchFile(file) => vec![&mut file.path],
            Self::Directory(directory) => vec![&mut directory.path],
            Self::WorkDirectory(tree) => vec![&mut tree.path],
            Self::FuseMount(mount) => vec![&mut mount.path],
            Self::LoopDevice(device) => vec![&mut device.file],
            Self::FileSystem(mounted) => vec![&mut mounted.path, &mut mounted.file],
            Self::Daemon(daemon) => vec![&mut daemon.path],
            Self::ProgramMount(mount) => vec![&mut mount.path],
            Self::StackedMount(mount) => vec![&mut mount.path],
            Self::FileSystemKey(key) => vec![&mut key.path],
            Self::UserKey(key) => vec![&mut key.description],
            Self::Mapping(mapping) => vec![&mut mapping.path],
            Self::VeraCryptVolume(volume) => vec![&mut volume.path],
            Self::KernelParameter(parameter) => vec![&mut parameter.path],
            Self::BindMount(mount) => vec![&mut mount.path],
            Self::MappedFileSystem(mounted) => vec![&mut mounted.path, &mut mounted.device],
            Self::UblkDisk(disk) => vec![&mut disk.path],
            Self::DiskFileSystem(mounted) => vec![&mut mounted.path, &mut mounted.disk.path],
            Self::ZfsPool(pool) => vec![&mut pool.path],
            Self::PartitionTable(table) => vec![&mut table.path],
        }
    }

    /// Whether a volume is in use through it.
    pub fn is_mount(&self) -> bool {
        matches!(self, Self::FileSystem(_) | Self::FuseMount(_) | Self::DiskFileSystem(_))
    }
}
