//! Queries whether a drive encrypts itself (linux/sed-opal.h).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use crate::storage::OpalDrive;

/// `struct opal_status`.
#[repr(C)]
#[derive(Default)]
struct Status {
    flags: u32,
    reserved: u32,
}

/// `IOC_OPAL_GET_STATUS`: `_IOR('p', 236, struct opal_status)`. The bits for direction and size have the same positions
/// on x86 and ARM.
const GET_STATUS: libc::Ioctl =
    (2 << 30 | (size_of::<Status>() as u32) << 16 | 0x70 << 8 | 236) as libc::Ioctl;

/// An open drive.
pub(in crate::linux) struct Drive(pub(in crate::linux) File);

impl OpalDrive for Drive {
    fn status(&self) -> io::Result<u32> {
        let mut status = Status::default();
        // SAFETY: `status` is the structure that the request writes, and outlives the call.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), GET_STATUS, &raw mut status) } {
            0 => Ok(status.flags),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_is_the_kernels_and_a_file_is_no_drive() {
        assert_eq!(GET_STATUS as u32, 0x8008_70ec);
        assert!(Drive(File::open("/dev/null").unwrap()).status().is_err());
    }
}
