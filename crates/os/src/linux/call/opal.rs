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

/// `struct opal_geometry`.
#[repr(C)]
#[derive(Default)]
struct Geometry {
    must_align: u8,
    block: u32,
    granularity: u64,
    lowest_aligned: u64,
    padding: [u8; 3],
}

/// `IOC_OPAL_GET_STATUS`: `_IOR('p', 236, struct opal_status)`.
const GET_STATUS: libc::Ioctl = reads(236, size_of::<Status>());

/// `IOC_OPAL_GET_GEOMETRY`: `_IOR('p', 238, struct opal_geometry)`.
const GET_GEOMETRY: libc::Ioctl = reads(238, size_of::<Geometry>());

/// A request that fills a structure. The bits for direction and size have the same positions on x86 and ARM.
const fn reads(number: u32, size: usize) -> libc::Ioctl {
    (2 << 30 | (size as u32) << 16 | 0x70 << 8 | number) as libc::Ioctl
}

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

    fn granularity(&self) -> io::Result<u64> {
        let mut geometry = Geometry::default();
        // SAFETY: `geometry` is the structure that the request writes, and outlives the call.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), GET_GEOMETRY, &raw mut geometry) } {
            0 if geometry.must_align == 0 => Ok(0),
            0 => Ok(geometry.granularity.saturating_mul(geometry.block.into())),
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
        assert_eq!(GET_GEOMETRY as u32, 0x8020_70ee);
        let file = Drive(File::open("/dev/null").unwrap());
        assert!(file.status().is_err() && file.granularity().is_err());
    }
}
