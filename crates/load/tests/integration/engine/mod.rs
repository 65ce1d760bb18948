//! Tests the load engines with real files and with sound and faulty devices.

mod basics;
#[cfg(target_os = "linux")]
mod devices;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod fio;
mod jobs;
#[cfg(target_os = "linux")]
mod passing;
mod refusals;
mod slices;
#[cfg(target_os = "linux")]
mod stdio;
mod storage;
mod threads;
#[cfg(target_os = "linux")]
mod verify;

use std::sync::atomic::AtomicBool;

/// A stop flag that is never set.
static GO: AtomicBool = AtomicBool::new(false);
