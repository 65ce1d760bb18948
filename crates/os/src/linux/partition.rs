//! Partitions of a disk, as the kernel knows them; its table of partitions is not read or written.

use std::fs::File;
use std::io;

use super::call;

/// Makes the `len` bytes from `start` on of `disk` its partition `number`. Requires root.
///
/// # Errors
/// The operating system's error: `ResourceBusy` if it overlaps with another partition.
pub fn add(disk: &File, number: u32, start: u64, len: u64) -> io::Result<()> {
    call::partition::add(disk, number, start, len)
}

/// Makes the kernel forget partition `number` of `disk`, whose data stays. Requires root.
///
/// # Errors
/// The operating system's error: `ResourceBusy` if it is open, `ENXIO` if there is none.
pub fn remove(disk: &File, number: u32) -> io::Result<()> {
    call::partition::remove(disk, number)
}
