//! Checks whether completions of requests to a file can be polled.
#![expect(clippy::disallowed_methods, reason = "files of the kernel")]

use std::os::unix::fs::{FileTypeExt, MetadataExt};

use cryptbench_blockdev::{IoMode, IoTarget};

use crate::LoadError;

/// Refuses files for which the kernel would refuse polling or silently use interrupts instead.
///
/// # Errors
/// [`LoadError::Unavailable`] for buffered I/O and for devices without poll queues.
pub(super) fn check(io_target: &IoTarget) -> Result<(), LoadError> {
    if io_target.mode != IoMode::Direct {
        return Err(unavailable("polling for completions requires direct I/O"));
    }
    if device_polls(io_target) == Some(false) {
        return Err(unavailable(NO_QUEUES));
    }
    Ok(())
}

/// Explains the only kind of refusal that is not detected before the first request.
pub(super) fn explain(e: LoadError) -> LoadError {
    match &e {
        LoadError::Io { source, .. } if source.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            unavailable(NO_QUEUES)
        }
        _ => e,
    }
}

const NO_QUEUES: &str = "the device or file system under the target has no poll queues (for NVMe: \
                         module parameter nvme.poll_queues)";

fn unavailable(reason: &str) -> LoadError {
    LoadError::Unavailable { engine: "polled io_uring", reason: reason.to_owned() }
}

/// Whether the block layer can poll the device. `None` if the target is not on one block device.
fn device_polls(io_target: &IoTarget) -> Option<bool> {
    let metadata = io_target.file.metadata().ok()?;
    let block = metadata.file_type().is_block_device();
    let device = if block { metadata.rdev() } else { metadata.dev() };
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    // A partition uses the queues of its disk.
    let read =
        |path: &str| std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/{path}")).ok();
    let answer = read("queue/io_poll").or_else(|| read("../queue/io_poll"))?;
    Some(answer.trim() == "1")
}
