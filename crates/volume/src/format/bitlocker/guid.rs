//! GUIDs, as Windows writes them.

use std::fmt;

/// A GUID, whose first three parts are little-endian numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guid(pub(super) [u8; 16]);

impl Guid {
    /// Marks a fully encrypted volume: 4967d63b-2e29-4ad8-8399-f6a339e3d001.
    pub(super) const WHOLE: Self =
        Self(*b"\x3b\xd6\x67\x49\x29\x2e\xd8\x4a\x83\x99\xf6\xa3\x39\xe3\xd0\x01");
    /// Identifies a volume with maps of its encrypted chunks: 92a84d3b-dd80-4d0e-9e4e-b1e3284eaed8.
    pub(super) const ON_WRITE: Self =
        Self(*b"\x3b\x4d\xa8\x92\x80\xdd\x0e\x4d\x9e\x4e\xb1\xe3\x28\x4e\xae\xd8");

    /// A random GUID (RFC 9562, version 4).
    pub(super) fn random() -> Result<Self, crate::VolumeError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        bytes[7] = bytes[7] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Ok(Self(bytes))
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
        for (place, index) in order.into_iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{:02x}", self.0[index])?;
        }
        Ok(())
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl serde::Serialize for Guid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_guids_read_as_documented() {
        assert_eq!(Guid::WHOLE.to_string(), "4967d63b-2e29-4ad8-8399-f6a339e3d001");
        assert_eq!(Guid::ON_WRITE.to_string(), "92a84d3b-dd80-4d0e-9e4e-b1e3284eaed8");
    }
}
