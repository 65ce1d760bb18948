//! The content of a lower file: extents, each in CBC with a separate IV.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::header::{EXTENT, Header};
use super::key::Keys;
use super::md5;
use crate::VolumeError;

/// Extents per read.
const AT_ONCE: usize = 64;

/// Writes the content of a lower file of `len` bytes, read by `read` at an offset. Returns the missing parts:
/// the rest of a truncated file, and extents of zeros, which no cipher produces and which are left as zeros.
///
/// # Errors
/// As for opening the header; those of `write`, as [`VolumeError::Io`]; [`VolumeError::Stopped`].
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
    let mut problem = (len < header.data).then(|| "its header is cut short".to_owned());
    if there < extents {
        let rest = there * EXTENT as u64;
        problem = Some(format!("it is cut short: {rest} of {} bytes are there", header.size));
    }
    let mut buffer = vec![0; AT_ONCE * EXTENT];
    let (mut at, mut bytes, mut lost) = (0, 0, 0_u64);
    while at < extents.min(there) {
        if stop.load(Ordering::Relaxed) {
            return Err(VolumeError::Stopped);
        }
        let now = (extents.min(there) - at).min(AT_ONCE as u64);
        let part = &mut buffer[..now as usize * EXTENT];
        if let Err(error) = read(header.data + at * EXTENT as u64, part) {
            problem = Some(format!("{bytes} of {} bytes are readable: {error}", header.size));
            break;
        }
        for (number, extent) in (at..).zip(part.chunks_mut(EXTENT)) {
            if extent.iter().all(|byte| *byte == 0) {
                lost += 1;
                continue;
            }
            content.decrypt_in_place(0, extent);
            // The number in decimal. The kernel's buffer has room for a terminating zero.
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
    if lost > 0 {
        let before = problem.map(|problem| problem + "; ").unwrap_or_default();
        let told = "extents were never written, and are zeros here";
        problem = Some(format!("{before}{lost} of its {extents} {told}"));
    }
    Ok(problem)
}
