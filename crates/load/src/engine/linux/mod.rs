//! Linux features beyond positioned reads and writes: io_uring, the C library's streams, durable
//! writes.

mod stdio;
mod uring;

use std::io;

use rustix::io::{ReadWriteFlags, pwritev2};

pub(super) use self::stdio::Stream;
pub(super) use self::uring::Uring as Queue;
use super::transfer::Transfer;

/// Writes data, and returns only when the data is on stable storage.
pub(super) fn write_through(transfer: &Transfer, data: &[u8], at: u64) -> io::Result<usize> {
    let data = [io::IoSlice::new(data)];
    Ok(pwritev2(&*transfer.file, &data, at, ReadWriteFlags::DSYNC)?)
}
