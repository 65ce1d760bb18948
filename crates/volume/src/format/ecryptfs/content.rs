//! The content of a lower file: extents, each in CBC with a separate IV.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::header::{EXTENT, Header};
use super::key::Keys;
use super::md5;
use crate::VolumeError;

/// Extents per read.
const AT_ONCE: usize = 64;

/// Number of consecutive unreadable extents after which the disk is considered gone.
const GIVES_UP: u64 = 1024;

/// Writes the content of a lower file of `len` bytes, which `read` reads at an offset. Returns the parts that
/// are missing: the rest of a truncated file; extents that cannot be read, which are replaced with zeros; and
/// extents of zeros, which no cipher produces and which stay zeros.
///
/// # Errors
/// As for opening the header; an error of `write`, as [`VolumeError::Io`]; [`VolumeError::Stopped`].
pub fn copy(
    header: &Header,
    keys: &mut Keys,
    len: u64,
    mut read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
    stop: &AtomicBool,
) -> Result<Option<String>, VolumeError> {
    let tier = keys.tier;
    let (cipher, key) = header.key(keys)?;
    let (content, root) = (cipher.extents(&key, tier)?, md5(&[&key])?);
    let extents = header.size.div_ceil(EXTENT as u64);
    let there = len.saturating_sub(header.data) / EXTENT as u64;
    let mut problem = (len < header.data).then(|| "its header is truncated".to_owned());
    if there < extents {
        let rest = there * EXTENT as u64;
        problem = Some(format!("it is truncated: {rest} of {} bytes are present", header.size));
    }
    let mut buffer = vec![0; AT_ONCE * EXTENT];
    let (mut at, mut bytes, mut lost) = (0, 0, 0_u64);
    let (mut unreadable, mut in_a_row, mut why) = (0_u64, 0, None);
    while at < extents.min(there) {
        if stop.load(Ordering::Relaxed) {
            return Err(VolumeError::Stopped);
        }
        let now = (extents.min(there) - at).min(AT_ONCE as u64);
        let part = &mut buffer[..now as usize * EXTENT];
        let from = header.data + at * EXTENT as u64;
        if read(from, part).is_err() {
            // One by one, because the unreadable part of the disk may be smaller than the request.
            for (number, extent) in (0..).zip(part.chunks_mut(EXTENT)) {
                if stop.load(Ordering::Relaxed) {
                    return Err(VolumeError::Stopped);
                }
                match read(from + number * EXTENT as u64, extent) {
                    Ok(()) => in_a_row = 0,
                    Err(error) => {
                        extent.fill(0);
                        (unreadable, in_a_row) = (unreadable + 1, in_a_row + 1);
                        why = Some(error);
                    }
                }
            }
        }
        if in_a_row >= GIVES_UP {
            problem = Some(format!("its last {} bytes were omitted", header.size - bytes));
            break;
        }
        for (number, extent) in (at..).zip(part.chunks_mut(EXTENT)) {
            if extent.iter().all(|byte| *byte == 0) {
                lost += 1;
                continue;
            }
            content.decrypt_in_place(0, extent);
            // The extent's number in decimal. The kernel's buffer reserves the last byte for a terminating
            // zero.
            let mut digits = number.to_string().into_bytes();
            digits.truncate(15);
            digits.resize(16, 0);
            let iv = md5(&[&root, &digits])?;
            extent.iter_mut().zip(&iv[..cipher.block]).for_each(|(byte, iv)| *byte ^= iv);
        }
        at += now;
        let used = (header.size - bytes).min(part.len() as u64);
        write(&part[..used as usize]).map_err(VolumeError::io("writing the file"))?;
        bytes += used;
    }
    lost = lost.saturating_sub(unreadable);
    if let Some(error) = why.filter(|_| unreadable > 0) {
        let before = problem.map(|problem| problem + "; ").unwrap_or_default();
        let told = format!("extents were unreadable and were replaced with zeros: {error}");
        problem = Some(format!("{before}{unreadable} of its {extents} {told}"));
    }
    if lost > 0 {
        let before = problem.map(|problem| problem + "; ").unwrap_or_default();
        let told = "extents were never written and were replaced with zeros";
        problem = Some(format!("{before}{lost} of its {extents} {told}"));
    }
    Ok(problem)
}
