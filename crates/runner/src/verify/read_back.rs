//! Reads the pattern back through an arm.
#![expect(clippy::disallowed_methods, reason = "files of a run in an arm")]

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use cryptbench_blockdev::{AlignedBuf, IoTarget};
use cryptbench_os::files::read_exact_at;

use super::inspect::go_on;
use super::known_plaintext::Known;
use super::pattern::{LINE, Pattern};
use super::write::REQUEST;

/// Number of intact bytes among the first `region` bytes of the I/O target, counted by lines.
///
/// # Errors
/// [`io::ErrorKind::Interrupted`] if `stop` was set.
pub(super) fn io_target(
    io_target: &IoTarget,
    pattern: &Pattern,
    region: u64,
    stop: &AtomicBool,
) -> io::Result<u64> {
    let IoTarget { file, extent, transform, .. } = io_target;
    let mut buffer = AlignedBuf::zeroed(REQUEST);
    let (mut at, mut whole) = (0, 0);
    while at < region {
        go_on(stop)?;
        let data = &mut buffer[..REQUEST.min((region - at) as usize)];
        read_exact_at(file, data, extent.offset + at)?;
        if let Some(transform) = transform {
            transform.open(at, data);
        }
        whole += intact(data, pattern, 0, at);
        at += data.len() as u64;
    }
    Ok(whole)
}

/// Number of intact bytes in the files below `root`. A file that has become longer counts as 0.
///
/// # Errors
/// [`io::ErrorKind::Interrupted`] if `stop` was set.
pub(super) fn files(
    root: &Path,
    known: &Known,
    pattern: &Pattern,
    stop: &AtomicBool,
) -> io::Result<u64> {
    let mut whole = 0;
    for file in &known.files {
        go_on(stop)?;
        let data = match fs::read(root.join(&file.path)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        if data.len() as u64 <= file.size {
            whole += intact(&data, pattern, file.stream, 0);
        }
    }
    Ok(whole)
}

/// Number of bytes in whole lines that have the contents for `offset`.
fn intact(data: &[u8], pattern: &Pattern, stream: u16, offset: u64) -> u64 {
    if pattern.is_at(data, stream, offset) {
        return data.len() as u64;
    }
    let lines = data.chunks(LINE).enumerate();
    lines
        .filter(|(i, line)| pattern.is_at(line, stream, offset + (i * LINE) as u64))
        .map(|(_, line)| line.len() as u64)
        .sum()
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::sync::Arc;

    use cryptbench_blockdev::{Extent, IoMode};

    use super::super::known_plaintext;
    use super::super::write;
    use super::*;

    static GO: AtomicBool = AtomicBool::new(false);

    fn place(len: u64) -> (tempfile::TempDir, IoTarget) {
        let dir = tempfile::tempdir().unwrap();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(dir.path().join("scratch"))
            .unwrap();
        file.set_len(len).unwrap();
        let extent = Extent { offset: 512, len: len - 512 };
        let io_target =
            IoTarget { file: Arc::new(file), extent, mode: IoMode::Buffered, transform: None };
        (dir, io_target)
    }

    #[test]
    fn what_was_written_is_counted_and_what_was_damaged_is_not() {
        let (_dir, io_target) = place((2 << 20) + 4096);
        let pattern = Pattern::new();
        let region = write::io_target(&io_target, &pattern, write::REGION, &GO).unwrap();
        assert_eq!(region, 2 << 20, "whole blocks");
        let verified = || super::io_target(&io_target, &pattern, region, &GO).unwrap();
        assert_eq!(verified(), region);
        cryptbench_os::files::write_all_at(&io_target.file, b"?", 512 + (1 << 20) + 70).unwrap();
        assert_eq!(verified(), region - LINE as u64);
    }

    #[test]
    fn who_is_stopped_writes_and_reads_no_further() {
        let (dir, io_target) = place(1 << 20);
        let (pattern, stop) = (Pattern::new(), AtomicBool::new(true));
        let known = Known::new(&pattern);
        let stopped = |e: io::Error| e.kind() == io::ErrorKind::Interrupted;
        assert!(write::io_target(&io_target, &pattern, write::REGION, &stop).is_err_and(stopped));
        assert!(super::io_target(&io_target, &pattern, 4096, &stop).is_err_and(stopped));
        assert!(files(dir.path(), &known, &pattern, &stop).is_err_and(stopped));
        assert!(write::files(dir.path(), &known, &pattern, &stop).is_err_and(stopped));
    }

    #[test]
    fn files_that_are_lost_short_or_longer_are_not_counted() {
        let (dir, _) = place(4096);
        let pattern = Pattern::new();
        let known = Known::new(&pattern);
        write::files(dir.path(), &known, &pattern, &GO).unwrap();
        let verified = || files(dir.path(), &known, &pattern, &GO).unwrap();
        assert_eq!(verified(), known_plaintext::BYTES);
        let path = |i: usize| dir.path().join(&known.files[i].path);
        fs::remove_file(path(0)).unwrap();
        assert_eq!(verified(), known_plaintext::BYTES - 70_001);
        OpenOptions::new().write(true).open(path(1)).unwrap().set_len(100_000).unwrap();
        assert_eq!(verified(), known_plaintext::BYTES - 70_001 - 70_002);
        OpenOptions::new().write(true).open(path(2)).unwrap().set_len(64).unwrap();
        assert_eq!(verified(), known_plaintext::BYTES - 70_001 - 70_002 - 20_011 + 64);
        write::remove(dir.path(), &known);
        assert_eq!(verified(), 0);
    }
}
