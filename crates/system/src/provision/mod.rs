//! Setting things up on a user's machine so that they can always be taken down again.

pub(crate) mod dm;
#[cfg(test)]
mod faults;
pub mod filesystem;
pub(crate) mod keys;
pub(crate) mod layers;
mod ledger;
mod ledgers;
pub mod loopdev;
pub(crate) mod mount_point;
pub mod mountinfo;
mod orphans;
mod private_directory;
pub(crate) mod process;
mod program_mount;
mod scratch;
pub(crate) mod secret;
mod signature;
pub(crate) mod stack;
pub(crate) mod stand;
mod state;
mod stuck;
mod undo;
pub(crate) mod veracrypt;
mod work_directory;

pub use ledger::{Act, Cleaned, Identity, Ledger, Living, cleanup, cleanup_by_subject, living};
pub use private_directory::PrivateDirectory;
pub(crate) use scratch::Left;
pub use scratch::Scratch;
pub use signature::{Signature, signatures};
pub use state::{data_directory, runtime_directory, state_directories, trusted_state_directories};
pub use work_directory::WorkDirectory;
