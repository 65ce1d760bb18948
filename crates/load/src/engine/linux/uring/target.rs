//! How requests to the file of an I/O target are executed: directly, queued, or by kernel worker threads.

use cryptbench_blockdev::{AlignedBuf, never_waits};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::engine::transfer::Transfer;

/// An offset beyond the end of any file, and a multiple of any sector size.
const NOWHERE: u64 = 1 << 62;

/// How the kernel executes the requests to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carriage {
    /// Copied in the submitting thread.
    AtOnce,
    /// Executed in the submitting thread. Requests that would block there are passed to a worker.
    Submitted,
    /// Each request is passed to a worker thread (io-wq), which costs two wake-ups.
    Workers,
    /// For this file, the kernel does not reveal how requests are executed.
    Unknown,
}

impl Carriage {
    /// Determines how requests to a transfer's file are executed. Marks the file as non-blocking if this avoids worker
    /// threads.
    pub(super) fn of(transfer: &Transfer) -> Self {
        if never_waits(&transfer.file) {
            return Self::AtOnce;
        }
        // The kernel tests for FMODE_NOWAIT before it reads anything. There is no data at this offset, so the call
        // does not wait for a device.
        let mut buffer = AlignedBuf::zeroed(AlignedBuf::ALIGN);
        let mut into = [std::io::IoSliceMut::new(&mut buffer)];
        match preadv2(&*transfer.file, &mut into, NOWHERE, ReadWriteFlags::NOWAIT) {
            Err(Errno::OPNOTSUPP) => Self::Workers,
            Ok(_) | Err(Errno::AGAIN) => Self::Submitted,
            Err(_) => Self::Unknown,
        }
    }

    /// Text for display; empty if nothing needs to be reported.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::AtOnce => "completed immediately (tmpfs), ",
            Self::Submitted => "submitted without worker threads where nothing blocks, ",
            Self::Workers => "each handed to a worker thread of the kernel (no RWF_NOWAIT), ",
            Self::Unknown => "",
        }
    }
}
