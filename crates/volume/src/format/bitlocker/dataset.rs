//! Entries: the typed, length-prefixed parts of metadata and startup keys.

use crate::bytes::u16_at;

/// Bytes of an entry's header.
pub(super) const HEADER: usize = 8;

/// The purpose of an entry.
pub(super) mod role {
    /// A property of the enclosing entry.
    pub const PROPERTY: u16 = 0x0000;
    /// A protector: a sealed volume master key.
    pub const PROTECTOR: u16 = 0x0002;
    /// The sealed data key.
    pub const DATA_KEY: u16 = 0x0003;
    /// A startup key.
    pub const STARTUP_KEY: u16 = 0x0006;
    /// Computer, drive and date.
    pub const DESCRIPTION: u16 = 0x0007;
    /// The location of the file system's first sectors.
    pub const FIRST_SECTORS: u16 = 0x000f;
}

/// The content of an entry.
pub(super) mod kind {
    /// An unsealed key.
    pub const KEY: u16 = 0x0001;
    /// Text in UTF-16.
    pub const TEXT: u16 = 0x0002;
    /// Salt of a stretched key, and keys sealed with it.
    pub const STRETCHED: u16 = 0x0003;
    /// A key sealed with AES-CCM.
    pub const SEALED: u16 = 0x0005;
    /// A protector.
    pub const PROTECTOR: u16 = 0x0008;
    /// A startup key.
    pub const EXTERNAL: u16 = 0x0009;
    /// An offset and a length.
    pub const PLACE: u16 = 0x000f;
}

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub role: u16,
    pub kind: u16,
    pub data: &'a [u8],
}

/// The entries in `bytes`, up to an entry of length zero or a remainder that is too short for an entry.
///
/// # Errors
/// A message if an entry is shorter than its header or longer than its container.
pub(super) fn entries(mut bytes: &[u8]) -> Result<Vec<Entry<'_>>, String> {
    let mut entries = Vec::new();
    while let (Some(len), Some(role), Some(kind)) =
        (u16_at(bytes, 0), u16_at(bytes, 2), u16_at(bytes, 4))
    {
        let len = usize::from(len);
        if len == 0 {
            break;
        }
        let data = bytes.get(..len).and_then(|entry| entry.get(HEADER..)).ok_or_else(|| {
            format!("an entry is {len} bytes long, but only {} bytes are left", bytes.len())
        })?;
        entries.push(Entry { role, kind, data });
        bytes = &bytes[len..];
    }
    Ok(entries)
}

/// An entry with its header.
pub(super) fn entry(role: u16, kind: u16, data: &[&[u8]]) -> Vec<u8> {
    let len = HEADER + data.iter().map(|part| part.len()).sum::<usize>();
    let mut bytes = Vec::with_capacity(len);
    for number in [len as u16, role, kind, 1] {
        bytes.extend(number.to_le_bytes());
    }
    data.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

/// UTF-16 text up to its end or a NUL.
pub(super) fn text(data: &[u8]) -> String {
    let units = data.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
    let units: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
    String::from_utf16_lossy(&units)
}

/// Text as UTF-16 with a NUL.
pub(super) fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = entry(role::DESCRIPTION, kind::TEXT, &[&utf16("PC C:")]);
        bytes.extend(entry(role::PROPERTY, kind::KEY, &[&[1, 2], &[3]]));
        let found = entries(&bytes).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(text(found[0].data), "PC C:");
        assert_eq!(found[1], Entry { role: 0, kind: 1, data: &[1, 2, 3] });
        // Padding ends the list, and so does a remainder that is too short for an entry.
        bytes.extend([0; 12]);
        assert_eq!(entries(&bytes).unwrap().len(), 2);
        assert_eq!(entries(&bytes[..bytes.len() - 9]).unwrap().len(), 2);
    }

    #[test]
    fn lengths_that_cannot_be() {
        for len in [1_u16, 7, 40, u16::MAX] {
            let mut bytes = entry(0, 1, &[&[0; 20]]);
            bytes[..2].copy_from_slice(&len.to_le_bytes());
            assert!(entries(&bytes).is_err(), "{len}");
        }
        assert_eq!(entries(&[]).unwrap(), []);
    }
}
