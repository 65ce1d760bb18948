//! Windows has no FUSE: its options alone.

#[path = "../fuse/options.rs"]
mod options;

pub use options::{FuseOptions, Transport};
