//! Adds and removes the kernel's entries for a disk's partitions (linux/blkpg.h).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

/// `BLKPG`: `_IO(0x12, 105)`.
const BLKPG: libc::Ioctl = 0x1269;
const ADD: i32 = 1;
const REMOVE: i32 = 2;

/// `struct blkpg_partition`.
#[repr(C)]
struct Partition {
    start: i64,
    len: i64,
    number: i32,
    device_name: [u8; 64],
    volume_name: [u8; 64],
}

/// `struct blkpg_ioctl_arg`.
#[repr(C)]
struct Argument {
    act: i32,
    flags: i32,
    size: i32,
    partition: *mut Partition,
}

const _: () = assert!(size_of::<Partition>() == 152);

pub(in crate::linux) fn add(disk: &File, number: u32, start: u64, len: u64) -> io::Result<()> {
    act(disk, ADD, number, start, len)
}

pub(in crate::linux) fn remove(disk: &File, number: u32) -> io::Result<()> {
    act(disk, REMOVE, number, 0, 0)
}

fn act(disk: &File, act: i32, number: u32, start: u64, len: u64) -> io::Result<()> {
    let too_large = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let mut partition = Partition {
        start: start.try_into().map_err(too_large)?,
        len: len.try_into().map_err(too_large)?,
        number: number.try_into().map_err(too_large)?,
        device_name: [0; 64],
        volume_name: [0; 64],
    };
    let size = size_of::<Partition>() as i32;
    let argument = Argument { act, flags: 0, size, partition: &raw mut partition };
    // SAFETY: `argument` and `partition` are the structures that the request reads, and outlive the call.
    match unsafe { libc::ioctl(disk.as_raw_fd(), BLKPG, &raw const argument) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_disk_has_no_partitions() {
        let file = File::open("/dev/null").unwrap();
        assert!(add(&file, 1, 1 << 20, 1 << 20).is_err() && remove(&file, 1).is_err());
        let beyond = add(&file, 1, u64::MAX, 1).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::InvalidInput);
    }
}
