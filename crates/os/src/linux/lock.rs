//! Record locks of fcntl(2).

use std::fs::File;

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;

/// For flock(2), the kernel itself converts an existing lock.
pub(crate) fn give_up(_: &File) {}

/// Whether another program holds a record lock on a file, of either kind: a process's lock, or an open file description
/// lock as used by QEMU. Tries to acquire a lock, because for an open file description lock F_GETLK reports a PID (-1)
/// that rustix does not accept. False if the file is not open for writing.
pub(crate) fn is_locked_by_record(file: &File) -> bool {
    match fcntl_lock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            let _ = fcntl_lock(file, FlockOperation::Unlock);
            false
        }
        Err(error) => matches!(error, Errno::AGAIN | Errno::ACCESS),
    }
}
