//! What setting up resources needs to know about the machine: mounts, processes, signatures, directories.

mod crypt_table;
mod dm_crypt;
mod file_system_kind;
pub mod filesystem;
pub(crate) mod kernel_crypto;
pub mod mountinfo;
pub(crate) mod process;
mod recognised;
pub(crate) mod secret;
mod signature;
mod state;
mod zfs;

pub use crypt_table::crypt_table;
pub use dm_crypt::CryptTable;
pub use recognised::Signature;
pub use signature::signatures;
pub(crate) use state::make_private;
pub use state::{data_directory, runtime_directory, state_directories, trusted_state_directories};
pub(crate) use zfs::{zfs_code, zfs_driver};
pub use zfs::{zfs_compression, zfs_encryption};
