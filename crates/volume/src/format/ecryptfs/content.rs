//! The content of a lower file: extents, each in CBC under an IV of its own.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_blockdev::LockedBytes;
use cryptbench_cipher::SectorCipher;

use super::header::{EXTENT, Header};
use super::key::Keys;
use crate::VolumeError;

/// Extents per read.
const AT_ONCE: usize = 64;

/// Bytes of an IV before a cipher takes as many as it has in a block.
const IV: usize = 16;

/// What came of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Bytes that were written: all, or as many as there are.
    pub bytes: u64,
    /// Why it is not whole.
    pub problem: Option<String>,
}

struct Content {
    cipher: Box<dyn SectorCipher>,
    root: [u8; IV],
    /// Bytes of a block.
    block: usize,
}

/// Writes the content of a lower file of `len` bytes, read by `read` at an offset. What is missing is told: the rest of a
/// file that is cut short, and extents of zeros, which no cipher makes and which are left as zeros.
///
/// # Errors
/// As of opening the header; those of `write`, as [`VolumeError::Io`]; [`VolumeError::Stopped`].
pub fn copy(
    header: &Header,
    keys: &mut Keys,
    len: u64,
    mut read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
    stop: &AtomicBool,
) -> Result<Copied, VolumeError> {
    let content = Content::of(header, keys)?;
    let extents = header.size.div_ceil(EXTENT as u64);
    let there = len.saturating_sub(header.data) / EXTENT as u64;
    let mut problem = match there < extents {
        true => {
            let rest = there * EXTENT as u64;
            Some(format!("it is cut short: {rest} of {} bytes are there", header.size))
        }
        false => (len < header.data).then(|| "its header is cut short".to_owned()),
    };
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
        lost += content.decrypt(at, part)?;
        at += now;
        let used = (header.size - bytes).min(part.len() as u64);
        write(&part[..used as usize]).map_err(VolumeError::io("writing the file"))?;
        bytes += used;
    }
    if lost > 0 {
        let told =
            format!("{lost} of its {extents} extents were never written, and are zeros here");
        problem = Some(problem.map_or(told.clone(), |problem| format!("{problem}; {told}")));
    }
    Ok(Copied { bytes, problem })
}

impl Content {
    fn of(header: &Header, keys: &mut Keys) -> Result<Self, VolumeError> {
        let tier = keys.tier;
        let (cipher, key): (_, LockedBytes) = header.key(keys)?;
        let content = cipher.extents(&key, tier)?;
        Ok(Self { cipher: content, root: md5(&[&key])?, block: cipher.block })
    }

    /// Decrypts extents from number `first` on, and returns how many are no ciphertext.
    fn decrypt(&self, first: u64, extents: &mut [u8]) -> Result<u64, VolumeError> {
        let zeros: Vec<bool> =
            extents.chunks(EXTENT).map(|extent| extent.iter().all(|byte| *byte == 0)).collect();
        self.cipher.decrypt_in_place(0, extents);
        for ((number, extent), is_zero) in (first..).zip(extents.chunks_mut(EXTENT)).zip(&zeros) {
            if *is_zero {
                extent.fill(0);
                continue;
            }
            let iv = self.iv(number)?;
            extent.iter_mut().zip(&iv[..self.block]).for_each(|(byte, iv)| *byte ^= iv);
        }
        Ok(zeros.iter().filter(|is_zero| **is_zero).count() as u64)
    }

    /// The hash of the root's IV and the number of the extent, written in decimal.
    fn iv(&self, number: u64) -> Result<[u8; IV], VolumeError> {
        let mut digits = [0; 16];
        let text = number.to_string();
        // The kernel's buffer has room for a zero behind them.
        let len = text.len().min(digits.len() - 1);
        digits[..len].copy_from_slice(&text.as_bytes()[..len]);
        md5(&[&self.root, &digits])
    }
}

fn md5(parts: &[&[u8]]) -> Result<[u8; IV], VolumeError> {
    let mut hash = [0; IV];
    cryptbench_kdf::find("md5")?.hash(parts, &mut hash);
    Ok(hash)
}
