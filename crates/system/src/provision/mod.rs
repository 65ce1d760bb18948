//! What the machine shows and offers to those who set something up on it: mounts, processes, signatures, directories.

pub mod filesystem;
pub mod mountinfo;
pub(crate) mod process;
pub(crate) mod secret;
mod signature;
mod state;

pub use signature::{Signature, signatures};
pub(crate) use state::make_private;
pub use state::{data_directory, runtime_directory, state_directories, trusted_state_directories};
