//! Record locks of fcntl(2).

use std::fs::File;

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;

/// The kernel turns a lock of flock(2) into another one by itself.
pub(crate) fn give_up(_: &File) {}

/// Whether another program holds a record lock on a file, of either kind: of a process, or of an open
/// file as QEMU does. Tries to take one, because F_GETLK names holders of open files by a process
/// number that rustix does not accept. False if the file is not open for writing.
pub(crate) fn is_locked_by_record(file: &File) -> bool {
    match fcntl_lock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            let _ = fcntl_lock(file, FlockOperation::Unlock);
            false
        }
        Err(error) => matches!(error, Errno::AGAIN | Errno::ACCESS),
    }
}
