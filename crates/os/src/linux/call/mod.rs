//! The calls of Linux that no safe crate has. The only unsafe code of this crate on Linux.
#![allow(unsafe_code)]

pub(super) mod descriptors;
pub(super) mod loop_device;
