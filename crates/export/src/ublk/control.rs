//! Creates and removes disks with commands to `/dev/ublk-control`. Requires root.
#![expect(clippy::disallowed_methods, reason = "nodes that the kernel makes in /dev")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use io_uring::squeue::Entry128;
use io_uring::{IoUring, cqueue, opcode, types};
use rustix::io::Errno;

use super::abi;
use super::disk::Disk;
use crate::rings::{cpus, depth};

/// The kernel's driver, which creates and removes disks.
pub struct Control {
    ring: IoUring<Entry128, cqueue::Entry>,
    file: File,
}

impl Control {
    /// The node that exists once the driver is loaded.
    pub const NODE: &str = "/dev/ublk-control";

    /// Opens the driver's control node.
    ///
    /// # Errors
    /// The operating system's error: the driver is missing (`ublk_drv`, Linux 6.5), or permission is denied.
    pub fn open() -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(Self::NODE)?;
        let mut control = Self { ring: IoUring::builder().build(2)?, file };
        let mut features = [0; 8];
        control.fill(abi::GET_FEATURES, u32::MAX, &mut features)?;
        Ok(control)
    }

    /// Path of a disk.
    pub fn path(number: u32) -> PathBuf {
        format!("/dev/ublkb{number}").into()
    }

    /// Creates the disk with this number. The disk appears once it is [started](Self::start); before that, it must be
    /// [served](super::serve) through the returned connection.
    ///
    /// # Errors
    /// The operating system's error; [`io::ErrorKind::AlreadyExists`] if a disk with this number exists.
    pub fn add(&mut self, number: u32, disk: &Disk) -> io::Result<File> {
        let unknown = || io::Error::other("the number of CPUs is not known");
        let queues = cpus("online").ok_or_else(unknown)?.len();
        let mut info =
            abi::info(number, queues as u16, depth(queues, super::MOST) as u16, disk.mark);
        self.fill(abi::ADD_DEV, number, &mut info)?;
        let mut params = abi::params(disk.size, disk.sector, disk.read_only);
        let connection = self.fill(abi::SET_PARAMS, number, &mut params).and_then(|()| {
            File::options().read(true).write(true).open(format!("/dev/ublkc{number}"))
        });
        if connection.is_err() {
            let _ = self.remove(number);
        }
        connection
    }

    /// Makes the disk appear. Waits until the disk is being served.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn start(&mut self, number: u32) -> io::Result<()> {
        // The kernel regards the process that opened the connection as the server; this process creates the disk for
        // another process.
        self.command(abi::START_DEV, number, (0, 0), u64::from(std::process::id()))
    }

    /// The [mark](Disk::mark) of the disk with this number; `None` if there is no such disk.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn mark(&mut self, number: u32) -> io::Result<Option<u64>> {
        let mut info = [0; abi::INFO_LEN];
        match self.fill(abi::GET_DEV_INFO, number, &mut info) {
            Ok(()) => {
                let mark = &info[abi::MARK_AT..abi::MARK_AT + 8];
                Ok(Some(u64::from_ne_bytes(mark.try_into().unwrap_or_default())))
            }
            Err(e) if Errno::from_io_error(&e) == Some(Errno::NODEV) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Removes a disk, even if it is in use: unwritten data is lost. The disk's server stops.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn remove(&mut self, number: u32) -> io::Result<()> {
        self.stop(number)?;
        self.delete(number)
    }

    /// Stops a disk: it disappears, even if it is in use, and its server stops. The disk's number remains in use until
    /// the disk is [deleted](Self::delete).
    ///
    /// # Errors
    /// The operating system's error.
    pub fn stop(&mut self, number: u32) -> io::Result<()> {
        self.command(abi::STOP_DEV, number, (0, 0), 0)
    }

    /// Deletes a disk that was stopped. Before Linux 6.9, this call waits until the disk's server has closed its
    /// connection.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn delete(&mut self, number: u32) -> io::Result<()> {
        // The older command waits until the disk's server has closed its connection.
        match self.command(abi::DEL_DEV_ASYNC, number, (0, 0), 0) {
            Err(e) if Errno::from_io_error(&e) == Some(Errno::OPNOTSUPP) => {
                self.command(abi::DEL_DEV, number, (0, 0), 0)
            }
            other => other,
        }
    }

    /// Executes a command that reads `data`, or fills it.
    fn fill(&mut self, operation: u32, number: u32, data: &mut [u8]) -> io::Result<()> {
        let place = (data.as_mut_ptr() as u64, data.len() as u16);
        self.command(operation, number, place, 0)
    }

    /// `place` is the address and length of memory that the caller keeps valid until this function returns.
    fn command(
        &mut self,
        operation: u32,
        number: u32,
        place: (u64, u16),
        word: u64,
    ) -> io::Result<()> {
        let body = abi::control(number, place, word);
        let request = opcode::UringCmd80::new(types::Fd(self.file.as_raw_fd()), operation);
        let request: Entry128 = request.cmd(body).build();
        // SAFETY: `place` stays valid until the completion has arrived, for which this function waits.
        unsafe { self.ring.submission().push(&request) }.map_err(io::Error::other)?;
        loop {
            match self.ring.submit_and_wait(1) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => drop(other?),
            }
            if let Some(done) = self.ring.completion().next() {
                return match done.result() {
                    0.. => Ok(()),
                    error => Err(io::Error::from_raw_os_error(-error)),
                };
            }
        }
    }
}
