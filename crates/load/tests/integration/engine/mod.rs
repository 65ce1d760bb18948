//! The load engines against real files and devices, whole and faulty ones.

mod basics;
mod devices;
mod faults;
mod fio;
mod jobs;
mod refusals;
mod slices;
mod stdio;
mod storage;
mod threads;
mod verify;

use std::sync::atomic::AtomicBool;

/// A stop flag that nobody raises.
static GO: AtomicBool = AtomicBool::new(false);
