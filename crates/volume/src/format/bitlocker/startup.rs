//! Startup keys: files with the extension `.BEK`, whose only entry contains a key.

use cryptbench_blockdev::LockedBytes;

use super::dataset::{entries, kind, role};
use super::guid::Guid;
use crate::VolumeError;
use crate::bytes::{array_at, u32_at};

/// Size of the file's header in bytes; it has the same form as the header of the metadata's entries.
const FILE_HEADER: usize = 48;
/// Size in bytes of a startup key's header: identifier and time. Its properties follow.
const KEY_HEADER: usize = 24;
/// Number of bytes before the key in an entry that contains a key.
const NUMBER: usize = 4;

/// A startup key.
pub(super) struct StartupKey {
    /// The protector that it opens.
    pub id: Guid,
    pub key: LockedBytes,
}

impl StartupKey {
    /// Reads the contents of a startup key file.
    pub(super) fn parse(file: &[u8]) -> Result<Self, VolumeError> {
        let invalid =
            |why: &str| VolumeError::Invalid(format!("the startup key file is not valid: {why}"));
        let len = u32_at(file, 0).map(|len| len as usize);
        if u32_at(file, 4) != Some(1) || u32_at(file, 8) != Some(FILE_HEADER as u32) {
            return Err(invalid("it has no startup key header"));
        }
        let body = len.and_then(|len| file.get(FILE_HEADER..len));
        let body = body.ok_or_else(|| invalid("it is shorter than its header states"))?;
        for entry in entries(body).map_err(|why| invalid(&why))? {
            if entry.role != role::STARTUP_KEY || entry.kind != kind::EXTERNAL {
                continue;
            }
            let id = array_at(entry.data, 0).map(Guid).ok_or_else(|| invalid("it is too short"))?;
            let properties = entry.data.get(KEY_HEADER..).unwrap_or_default();
            for property in entries(properties).map_err(|why| invalid(&why))? {
                if property.kind == kind::KEY
                    && let Some(key) = property.data.get(NUMBER..).filter(|key| key.len() == 32)
                {
                    return Ok(Self { id, key: LockedBytes::copy_of(key) });
                }
            }
        }
        Err(invalid("it contains no key"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::dataset::{entry, utf16};
    use super::*;

    fn file() -> Vec<u8> {
        let name = entry(role::PROPERTY, kind::TEXT, &[&utf16("ExternalKey")]);
        let key = entry(role::PROPERTY, kind::KEY, &[&0x2002_u32.to_le_bytes(), &[9; 32]]);
        let body = entry(role::STARTUP_KEY, kind::EXTERNAL, &[&[5; 16], &[0; 8], &name, &key]);
        let mut file = Vec::new();
        let len = (FILE_HEADER + body.len()) as u32;
        for number in [len, 1, FILE_HEADER as u32, len] {
            file.extend(number.to_le_bytes());
        }
        file.extend([5; 16]);
        file.extend([0; 16]);
        file.extend(body);
        file
    }

    #[test]
    fn the_key_in_a_file_is_found() {
        let file = file();
        assert_eq!(file.len(), 156, "as long as those of Windows");
        let key = StartupKey::parse(&file).unwrap();
        assert_eq!((key.id, &*key.key), (Guid([5; 16]), &[9; 32][..]));
    }

    #[test]
    fn anything_else_is_refused_and_never_panics() {
        let file = file();
        for len in 0..file.len() {
            assert!(StartupKey::parse(&file[..len]).is_err(), "{len}");
        }
        for at in 0..file.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut file = file.clone();
                file[at] = byte;
                let _ = StartupKey::parse(&file);
            }
        }
    }
}
