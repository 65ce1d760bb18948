//! The Linux calls for which there is no safe crate. The only unsafe code of this crate on Linux.
#![allow(unsafe_code)]

pub(super) mod descriptors;
pub(super) mod loop_device;
pub(super) mod opal;
pub(super) mod partition;
