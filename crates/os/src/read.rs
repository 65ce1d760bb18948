//! Reads files that other users may have created, without blocking, and without filling the memory.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::system::open_without_waiting;

/// The contents of the regular file at `path`, at most `limit` bytes.
///
/// # Errors
/// `InvalidInput` for a pipe, a device or a directory, `FileTooLarge` for a longer file; otherwise
/// the operating system's error.
pub fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_without_waiting(path)?;
    let len = regular(&file)?;
    let too_long = || {
        let problem = format!("it is longer than {limit} bytes, the limit for such files");
        io::Error::new(io::ErrorKind::FileTooLarge, problem)
    };
    if len > limit {
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity(len as usize + 1);
    // A file in /proc reports length 0, and any file may grow.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_long()) } else { Ok(bytes) }
}

/// Like [`read_file`], but as text.
///
/// # Errors
/// Those of [`read_file`]; `InvalidData` if the file is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8");
    String::from_utf8(read_file(path, limit)?).map_err(not_text)
}

/// The first bytes of the regular file at `path`: `bytes`, or fewer if the file is shorter.
///
/// # Errors
/// `InvalidInput` for a pipe, a device or a directory; otherwise the operating system's error.
pub fn read_beginning(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_without_waiting(path)?;
    regular(&file)?;
    let mut beginning = Vec::new();
    file.take(bytes).read_to_end(&mut beginning)?;
    Ok(beginning)
}

/// The length of a regular file; an error for anything else.
pub(crate) fn regular(file: &File) -> io::Result<u64> {
    let found = file.metadata()?;
    match found.is_file() {
        true => Ok(found.len()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_last_length_that_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, [7; 100]).unwrap();
        assert_eq!(read_file(&path, 100).unwrap(), [7; 100]);
        assert_eq!(read_file(&path, 99).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_beginning(&path, 2).unwrap(), [7; 2]);
        assert_eq!(read_beginning(&path, 200).unwrap(), [7; 100]);
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_text(&path, 99).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
