//! Converts paths to text and back: JSON supports only Unicode, but a path can contain any bytes except zero.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::system::files::name_of_bytes;

/// The prefix of a text that differs from its path. No path contains this character.
const ESCAPED: char = '\0';

/// A Unicode path is unchanged. Any other path becomes a zero character followed by the path's bytes; bytes that are
/// not printable ASCII are written as `%` and two hexadecimal digits.
pub fn text_of_path(path: &Path) -> String {
    if let Some(text) = path.to_str() {
        return text.to_owned();
    }
    let mut text = String::from(ESCAPED);
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'!'..=b'~' if *byte != b'%' => text.push(char::from(*byte)),
            _ => drop(write!(text, "%{byte:02x}")),
        }
    }
    text
}

/// The path that [`text_of_path`] converted to this text.
pub fn path_of_text(text: &str) -> PathBuf {
    match text.strip_prefix(ESCAPED) {
        Some(escaped) => name_of_bytes(bytes_of(escaped)).into(),
        None => PathBuf::from(text),
    }
}

/// The parts of a name before and after the first `separator`, an ASCII character.
pub fn split_once(name: &OsStr, separator: u8) -> Option<(OsString, OsString)> {
    let bytes = name.as_encoded_bytes();
    let at = bytes.iter().position(|byte| *byte == separator)?;
    let part = |bytes: &[u8]| name_of_bytes(bytes.to_vec());
    Some((part(&bytes[..at]), part(&bytes[at + 1..])))
}

fn bytes_of(escaped: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.map(|digits| u8::from_str_radix(digits, 16)) {
            Some(Ok(value)) if byte == b'%' => {
                bytes.push(value);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::os::unix::ffi::OsStrExt as _;

    #[cfg(unix)]
    use super::*;

    #[cfg(unix)]
    #[test]
    fn every_path_is_read_as_it_was_written() {
        for bytes in [
            &b"/tmp/plain"[..],
            b"/tmp/100%41 caf\xc3\xa9\n",
            b"/tmp/caf\xe9",
            b"/tmp/\xe9%41\n %",
            b"\xff",
            b"%",
            b"",
        ] {
            let path = Path::new(OsStr::from_bytes(bytes));
            let text = text_of_path(path);
            assert_eq!(path_of_text(&text), path, "{text:?}");
            assert_eq!(text.starts_with('\0'), path.to_str().is_none(), "{text:?}");
        }
        assert_eq!(text_of_path(Path::new(OsStr::from_bytes(b"a \xe9%"))), "\0a%20%e9%25");
        let named = OsStr::from_bytes(b"name=/caf\xe9=x");
        let expected = ("name".into(), OsStr::from_bytes(b"/caf\xe9=x").to_owned());
        assert_eq!(split_once(named, b'='), Some(expected));
        assert_eq!(split_once(OsStr::new("none"), b'='), None);
        // What was torn or forged is some path, and no panic.
        for odd in ["\0%", "\0%z", "\0%é9", "\0%+1", "\0"] {
            let _ = path_of_text(odd);
        }
    }
}
