//! Error numbers of system calls, and the error number that clients get if the storage returns an I/O error.

use std::io;

use rustix::io::Errno;

use crate::ExportError;

impl ExportError {
    pub(crate) fn system(act: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::System { act: act.into(), source: source.into() }
    }
}

/// The error number for a client: the storage's error number if programs expect that number from a disk, otherwise
/// `EIO`.
pub(crate) fn errno(error: &io::Error) -> Errno {
    if let Some(raw) = error.raw_os_error() {
        // The kernel reserves numbers above 511 for itself (include/linux/errno.h). ENOSYS is excluded: after receiving
        // ENOSYS once, the kernel never sends that operation again and treats it as successful, including fsync.
        let told = (1..512).contains(&raw) && raw != Errno::NOSYS.raw_os_error();
        return if told { Errno::from_raw_os_error(raw) } else { Errno::IO };
    }
    match error.kind() {
        io::ErrorKind::InvalidInput => Errno::INVAL,
        io::ErrorKind::PermissionDenied => Errno::PERM,
        io::ErrorKind::ReadOnlyFilesystem => Errno::ROFS,
        io::ErrorKind::StorageFull | io::ErrorKind::WriteZero => Errno::NOSPC,
        io::ErrorKind::Unsupported => Errno::OPNOTSUPP,
        io::ErrorKind::OutOfMemory => Errno::NOMEM,
        _ => Errno::IO,
    }
}
