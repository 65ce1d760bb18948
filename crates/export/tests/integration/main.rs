//! Block devices served to real clients, one module for each subject.

mod fuse;
mod nbd;
