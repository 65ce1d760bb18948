//! How the file under an I/O target takes requests: at once, in their turn, or through worker threads of the kernel.

use cryptbench_blockdev::AlignedBuf;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fstatfs};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::engine::transfer::Transfer;

/// TMPFS_MAGIC of linux/magic.h.
const TMPFS: u64 = 0x0102_1994;

/// Beyond the end of any file, and a multiple of any sector.
const NOWHERE: u64 = 1 << 62;

/// How the kernel carries requests to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carriage {
    /// Copied in the submitting thread.
    AtOnce,
    /// Submitted in the submitting thread; what would block there goes to a worker.
    Submitted,
    /// Each handed to a worker thread (io-wq): two wake-ups that other files do not pay for.
    Workers,
    /// The file does not tell.
    Unknown,
}

impl Carriage {
    /// Of requests to a transfer's file, which is told not to block where that helps.
    pub(super) fn of(transfer: &Transfer) -> Self {
        if never_waits(transfer) {
            return Self::AtOnce;
        }
        // The kernel's own test (FMODE_NOWAIT) comes before anything is read, and nothing lies there that
        // could be: no device is waited for.
        let mut buffer = AlignedBuf::zeroed(AlignedBuf::ALIGN);
        let mut into = [std::io::IoSliceMut::new(&mut buffer)];
        match preadv2(&*transfer.file, &mut into, NOWHERE, ReadWriteFlags::NOWAIT) {
            Err(Errno::OPNOTSUPP) => Self::Workers,
            Ok(_) | Err(Errno::AGAIN) => Self::Submitted,
            Err(_) => Self::Unknown,
        }
    }

    /// For people; empty where there is nothing to say.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::AtOnce => "carried out at once (tmpfs), ",
            Self::Submitted => "submitted without worker threads where nothing blocks, ",
            Self::Workers => "each handed to a worker thread of the kernel (no RWF_NOWAIT), ",
            Self::Unknown => "",
        }
    }
}

/// Files in RAM never wait for a device, but the kernel does not know it of tmpfs and hands every request to a
/// worker thread: two wake-ups for a copy of 4 KiB. Told that the file must not block, it copies at once.
///
/// True if it was told so.
fn never_waits(transfer: &Transfer) -> bool {
    let file = &*transfer.file;
    fstatfs(file).is_ok_and(|fs| fs.f_type as u64 == TMPFS)
        && fcntl_getfl(file).and_then(|flags| fcntl_setfl(file, flags | OFlags::NONBLOCK)).is_ok()
}
