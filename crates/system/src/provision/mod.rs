//! Setting things up on a user's machine so that they can always be taken down again.

pub mod filesystem;
mod ledger;
pub mod loopdev;
pub mod mountinfo;
mod scratch;
mod state;
mod undo;

pub use ledger::{Act, Cleaned, Identity, Ledger, Living, cleanup, cleanup_by_subject, living};
pub use scratch::Scratch;
pub use state::{data_directory, runtime_directory, state_directories};
