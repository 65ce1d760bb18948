//! Writes the pattern through an arm.
#![expect(clippy::disallowed_methods, reason = "files of a run in an arm")]

use std::fs::{self, File, FileTimes};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use cryptbench_blockdev::{AlignedBuf, IoTarget};
use cryptbench_os::files::write_all_at;

use super::inspect::go_on;
use super::known_plaintext::{CHANGED, Known};
use super::pattern::Pattern;

/// Bytes written to the I/O target, if it is large enough; takes up to a second on the slowest systems.
pub(super) const REGION: u64 = 8 << 20;

/// The minimum, used if there is little time.
pub(super) const LEAST_REGION: u64 = 256 << 10;

/// Bytes of a request.
pub(super) const REQUEST: usize = 1 << 20;

/// A multiple of the data units of all formats and the sectors of all devices.
const WHOLE: u64 = 4096;

/// Writes at most `most` bytes of the pattern to the start of the I/O target, and returns their number.
///
/// # Errors
/// [`io::ErrorKind::Interrupted`] if `stop` was set.
pub(super) fn io_target(
    io_target: &IoTarget,
    pattern: &Pattern,
    most: u64,
    stop: &AtomicBool,
) -> io::Result<u64> {
    let IoTarget { file, extent, transform, .. } = io_target;
    let region = most.min(extent.len) / WHOLE * WHOLE;
    let (mut plain, mut stored) = (AlignedBuf::zeroed(REQUEST), AlignedBuf::zeroed(REQUEST));
    let mut at = 0;
    while at < region {
        go_on(stop)?;
        let len = REQUEST.min((region - at) as usize);
        pattern.fill(&mut plain[..len], 0, at);
        let data = match transform {
            Some(transform) => {
                transform.seal(at, &plain[..len], &mut stored[..len]);
                &stored[..len]
            }
            None => &plain[..len],
        };
        write_all_at(file, data, extent.offset + at)?;
        at += len as u64;
    }
    file.sync_all()?;
    Ok(region)
}

/// Creates the files below `root`.
///
/// # Errors
/// [`io::ErrorKind::Interrupted`] if `stop` was set.
pub(super) fn files(
    root: &Path,
    known: &Known,
    pattern: &Pattern,
    stop: &AtomicBool,
) -> io::Result<()> {
    for directory in &known.directories {
        fs::create_dir(root.join(directory))?;
    }
    for file in &known.files {
        go_on(stop)?;
        let mut made = File::create_new(root.join(&file.path))?;
        let mut data = vec![0; file.size as usize];
        pattern.fill(&mut data, file.stream, 0);
        made.write_all(&data)?;
        made.sync_all()?;
        // After the flush, because some file systems treat a later write-back as another change.
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(CHANGED);
        // Both times together, because libfuse 2 ignores a time that is set without the other.
        made.set_times(FileTimes::new().set_accessed(changed).set_modified(changed))?;
        made.sync_all()?;
    }
    Ok(())
}

/// Removes the files; remaining ones are removed with the arm.
pub(super) fn remove(root: &Path, known: &Known) {
    let _ = fs::remove_dir_all(root.join(&known.directories[0]));
}
