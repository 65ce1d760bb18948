//! A ZIP archive without compression (APPNOTE.TXT 6.3), because charts and tables are small, and every program can
//! open it.

use std::io::{Error, ErrorKind};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;

/// Version 2.0, with names in UTF-8.
const VERSION: u16 = 20;
const UTF8: u16 = 1 << 11;

/// 1 January 1980. The date is fixed, so that the same files always produce the same archive.
const DATE: u16 = 1 << 5 | 1;

/// Fails if there are more than 65,535 files or more than 4 GiB, which this format does not support.
pub fn archive(files: &[(String, Vec<u8>)]) -> Result<Vec<u8>, Error> {
    let too_large = || Error::new(ErrorKind::FileTooLarge, "too large for a ZIP archive");
    let mut out = Vec::new();
    let mut central = Vec::new();
    for (name, bytes) in files {
        let at = u32::try_from(out.len()).map_err(|_| too_large())?;
        let size = u32::try_from(bytes.len()).map_err(|_| too_large())?;
        let length = u16::try_from(name.len()).map_err(|_| too_large())?;
        let mut shared = Vec::new();
        for field in [VERSION, UTF8, 0, 0, DATE] {
            shared.extend(field.to_le_bytes());
        }
        for field in [crc32fast::hash(bytes), size, size] {
            shared.extend(field.to_le_bytes());
        }
        shared.extend(length.to_le_bytes());
        shared.extend([0; 2]);
        out.extend(LOCAL.to_le_bytes());
        out.extend(&shared);
        out.extend(name.as_bytes());
        out.extend(bytes);
        central.extend(CENTRAL.to_le_bytes());
        central.extend(VERSION.to_le_bytes());
        central.extend(&shared);
        // No comment, first disk, no attributes.
        central.extend([0; 10]);
        central.extend(at.to_le_bytes());
        central.extend(name.as_bytes());
    }
    let count = u16::try_from(files.len()).map_err(|_| too_large())?;
    let [size, at] = [central.len(), out.len()].map(u32::try_from);
    let (size, at) = (size.map_err(|_| too_large())?, at.map_err(|_| too_large())?);
    out.extend(central);
    out.extend(END.to_le_bytes());
    out.extend([0; 4]);
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend([0; 2]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_crc32() {
        assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn an_archive_has_its_directory_at_the_end() {
        let made =
            archive(&[("a".to_owned(), b"x".to_vec()), ("b/c".to_owned(), Vec::new())]).unwrap();
        let end = &made[made.len() - 22..];
        assert_eq!(end[..4], END.to_le_bytes());
        assert_eq!(u16::from_le_bytes([end[10], end[11]]), 2);
        let at = u32::from_le_bytes([end[16], end[17], end[18], end[19]]) as usize;
        assert_eq!(made[at..at + 4], CENTRAL.to_le_bytes());
        assert_eq!(at, 30 + 1 + 1 + 30 + 3);
    }
}
