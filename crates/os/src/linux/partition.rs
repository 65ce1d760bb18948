//! Partitions of a disk, as known to the kernel; the disk's partition table is neither read nor written.

use std::fs::File;
use std::io;

use super::call;

/// Adds partition `number` to `disk`: the `len` bytes that begin at `start`. Requires root.
///
/// # Errors
/// The operating system's error: `ResourceBusy` if the range overlaps with another partition.
pub fn add(disk: &File, number: u32, start: u64, len: u64) -> io::Result<()> {
    call::partition::add(disk, number, start, len)
}

/// Removes the kernel's entry for partition `number` of `disk`; the data remains. Requires root.
///
/// # Errors
/// The operating system's error: `ResourceBusy` if the partition is open, `ENXIO` if it does not exist.
pub fn remove(disk: &File, number: u32) -> io::Result<()> {
    call::partition::remove(disk, number)
}
