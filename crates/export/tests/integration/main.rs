//! Block devices served to real clients, one module for each subject.

mod file_systems;
mod fuse;
mod nbd;
mod power;
mod volumes;
