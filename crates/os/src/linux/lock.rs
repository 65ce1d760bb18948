//! Record locks of fcntl(2).

use std::fs::File;

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;

/// The kernel turns a lock of flock(2) into another one by itself.
pub(crate) fn give_up(_: &File) {}

pub(crate) fn is_locked_by_record(file: &File) -> bool {
    let asked = fcntl_lock(file, FlockOperation::NonBlockingLockExclusive);
    matches!(asked, Err(Errno::AGAIN | Errno::ACCESS))
}
