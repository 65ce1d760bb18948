//! Setting things up on a user's machine so that they can always be taken down again.

mod ledger;
mod scratch;
mod state;

pub use ledger::{Act, Cleaned, Identity, Ledger, cleanup};
pub use scratch::Scratch;
pub use state::{data_directory, state_directories};
