//! UUIDs as CoreStorage stores them: in big-endian bytes, and as text.

use std::fmt;

/// A UUID.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Uuid(pub(super) [u8; 16]);

impl Uuid {
    /// Reads 32 hexadecimal digits, with hyphens anywhere.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 16];
        let mut digits = 0;
        for digit in text.chars().filter(|c| *c != '-') {
            let place = bytes.get_mut(digits / 2)?;
            *place = *place << 4 | digit.to_digit(16)? as u8;
            digits += 1;
        }
        (digits == 32).then_some(Self(bytes))
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, byte) in self.0.iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl serde::Serialize for Uuid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::Uuid;

    #[test]
    fn what_is_written_is_read() {
        let text = "33a76caa-1481-4bc5-8d04-1ac1707c19c0";
        let uuid = Uuid::parse(&text.to_uppercase()).unwrap();
        assert_eq!((uuid.to_string().as_str(), uuid.0[0]), (text, 0x33));
        for wrong in ["", "33a76caa", &text.replace('c', "x"), &format!("{text}0"), "none"] {
            assert_eq!(Uuid::parse(wrong), None, "{wrong}");
        }
    }
}
