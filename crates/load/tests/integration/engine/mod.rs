//! Tests the load engines with real files and with sound and faulty devices.

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

/// A stop flag that is never set.
static GO: AtomicBool = AtomicBool::new(false);
