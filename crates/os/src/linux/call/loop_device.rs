//! Attaches an open file to a loop device (linux/loop.h, loop(4)).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;

const GET_FREE: libc::Ioctl = 0x4C82;
const CONFIGURE: libc::Ioctl = 0x4C0A;
const READ_ONLY: u32 = 1;
const DIRECT_IO: u32 = 16;

/// Maximum number of attempts, which are needed because another process may take the free device first.
const TRIES: u32 = 64;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Info {
    device: u64,
    inode: u64,
    represented_device: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encryption: u32,
    key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct Config {
    file: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<Info>() == 232 && size_of::<Config>() == 304);

/// Attaches `file` to a free loop device with direct I/O, if the file supports it, and returns the device's number.
/// losetup(8) shows `name` if the kernel has no name for the file.
pub(in crate::linux) fn attach(file: &File, name: &Path, read_only: bool) -> io::Result<u32> {
    let control = File::options().read(true).write(true).open("/dev/loop-control")?;
    let mut file_name = [0; 64];
    for (to, from) in file_name[..63].iter_mut().zip(name.as_os_str().as_encoded_bytes()) {
        *to = *from;
    }
    let config = Config {
        file: file.as_raw_fd().cast_unsigned(),
        block_size: 0,
        info: Info {
            device: 0,
            inode: 0,
            represented_device: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encryption: 0,
            key_size: 0,
            flags: DIRECT_IO | if read_only { READ_ONLY } else { 0 },
            file_name,
            crypt_name: [0; 64],
            key: [0; 32],
            init: [0; 2],
        },
        reserved: [0; 8],
    };
    for _ in 0..TRIES {
        // SAFETY: the request takes no argument.
        let number = unsafe { libc::ioctl(control.as_raw_fd(), GET_FREE) };
        let number = u32::try_from(number).map_err(|_| io::Error::last_os_error())?;
        let node = format!("/dev/loop{number}");
        let device = File::options().read(true).write(!read_only).open(node)?;
        // SAFETY: `config` is the structure that the request reads, and outlives the call; the kernel takes its own
        // reference to the file.
        match unsafe { libc::ioctl(device.as_raw_fd(), CONFIGURE, &raw const config) } {
            0 => return Ok(number),
            _ => match io::Error::last_os_error() {
                e if e.raw_os_error() == Some(libc::EBUSY) => {}
                e => return Err(e),
            },
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}
