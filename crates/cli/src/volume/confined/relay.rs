//! Runs in the keeper: makes the output of the confined process printable.

use std::fs::File;
use std::io::Read;
use std::thread::JoinHandle;

use crate::say;

/// Maximum length of printed messages in bytes; output beyond this length is read and dropped.
const MOST_MESSAGES: usize = 64 << 10;

/// Maximum length of printed output in bytes. The metadata of a LUKS2 header is at most 4 MiB long.
const MOST_OUTPUT: u64 = 4 << 20;

/// Prints the lines of the child's standard error as they arrive, until the child closes it.
pub(super) fn messages(from: File) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let (mut line, mut left) = (Vec::new(), MOST_MESSAGES);
        let mut piece = [0; 1024];
        let mut from = from;
        // Output beyond the limit is still read; otherwise the child would wait for ever.
        while let Ok(got @ 1..) = from.read(&mut piece) {
            for byte in &piece[..got.min(left)] {
                match byte {
                    b'\n' => say::note(&String::from_utf8_lossy(&std::mem::take(&mut line))),
                    byte => line.push(*byte),
                }
            }
            left = left.saturating_sub(got);
        }
        if !line.is_empty() {
            say::note(&String::from_utf8_lossy(&line));
        }
    })
}

/// The child's complete standard output; an error if the output is too long.
pub(super) fn output(from: File) -> JoinHandle<std::io::Result<Vec<u8>>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        from.take(MOST_OUTPUT + 1).read_to_end(&mut all)?;
        match all.len() as u64 > MOST_OUTPUT {
            true => Err(std::io::Error::other("the confined process printed more than 4 MiB")),
            false => Ok(all),
        }
    })
}
