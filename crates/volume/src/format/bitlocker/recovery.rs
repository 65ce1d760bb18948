//! Recovery passwords: 48 digits in eight groups, each of which is a 16-bit number multiplied by eleven.

use cryptbench_blockdev::LockedBytes;

use crate::VolumeError;

/// Groups of a recovery password.
const GROUPS: usize = 8;
/// Digits of a group.
const DIGITS: usize = 6;
/// Each group is a multiple of this number, which reveals typing errors.
const FACTOR: u32 = 11;

/// Length in characters of a recovery password with its hyphens.
const WRITTEN: usize = GROUPS * (DIGITS + 1) - 1;

/// The ASCII characters of a UTF-8 or UTF-16 text, with hyphens for dashes of any kind. UTF-16 is recognised by
/// a byte order mark, or by a zero in every other byte at the start.
fn narrow(text: &[u8]) -> LockedBytes {
    let (big, units) = match text {
        [0xff, 0xfe, units @ ..] => (false, units),
        [0xfe, 0xff, units @ ..] => (true, units),
        [1..=0x7f, 0, 1..=0x7f, 0, ..] => (false, text),
        [0, 1..=0x7f, 0, 1..=0x7f, ..] => (true, text),
        _ => return narrow_utf8(text),
    };
    let units = units.as_chunks::<2>().0;
    let mut narrow = LockedBytes::zeroed(units.len());
    for (byte, unit) in narrow.iter_mut().zip(units) {
        let unit = if big { u16::from_be_bytes(*unit) } else { u16::from_le_bytes(*unit) };
        *byte = match unit {
            0x2010..=0x2015 | 0x2212 => b'-',
            // Anything else is treated as a separator.
            unit => u8::try_from(unit).ok().filter(u8::is_ascii).unwrap_or(b'?'),
        };
    }
    narrow
}

fn narrow_utf8(text: &[u8]) -> LockedBytes {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut narrow = LockedBytes::copy_of(text);
    let (mut from, mut to) = (0, 0);
    while from < text.len() {
        let (byte, len) = match &text[from..] {
            [0xe2, 0x80, 0x90..=0x95, ..] | [0xe2, 0x88, 0x92, ..] => (b'-', 3),
            [byte, ..] => (*byte, 1),
            [] => break,
        };
        narrow[to] = byte;
        (from, to) = (from + len, to + 1);
    }
    narrow.resize(to);
    narrow
}

/// The 16 bytes encoded by a recovery password.
#[derive(Debug)]
pub struct RecoveryPassword(LockedBytes);

impl RecoveryPassword {
    /// A new one.
    ///
    /// # Errors
    /// [`VolumeError::Random`].
    pub fn random() -> Result<Self, VolumeError> {
        let mut bytes = LockedBytes::zeroed(2 * GROUPS);
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// Finds the recovery password in the text that Windows saves, in UTF-16 or UTF-8, or parses a user's
    /// input, as [`parse`](Self::parse) does.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse); also if the text contains more than one recovery password.
    pub fn find(text: &[u8]) -> Result<Self, VolumeError> {
        let text = narrow(text);
        let typed = Self::parse(&text);
        if typed.is_ok() {
            return typed;
        }
        let mut found: Vec<Self> = Vec::new();
        let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
        for (at, window) in text.windows(WRITTEN).enumerate() {
            let alone = (at == 0 || !is_digit(at - 1)) && !is_digit(at + WRITTEN);
            let formed = window.iter().enumerate().all(|(place, byte)| {
                if place % (DIGITS + 1) == DIGITS { *byte == b'-' } else { byte.is_ascii_digit() }
            });
            if alone && formed {
                found.push(Self::parse(window)?);
            }
        }
        let first = found.pop();
        match first {
            Some(one) if found.iter().all(|other| *other.0 == *one.0) => Ok(one),
            Some(_) => Err(VolumeError::Invalid(
                "it contains several recovery passwords; keep only one".to_owned(),
            )),
            None => typed,
        }
    }

    /// Parses a user's input: groups may be separated by hyphens, spaces or line breaks, or be contiguous.
    ///
    /// # Errors
    /// [`VolumeError::Invalid`], which states the defect without repeating the input.
    pub fn parse(text: &[u8]) -> Result<Self, VolumeError> {
        let invalid = |what: &str| {
            Err(VolumeError::Invalid(format!(
                "a recovery password has eight groups of six digits; {what}"
            )))
        };
        let mut digits = LockedBytes::zeroed(GROUPS * DIGITS);
        let mut count = 0;
        for &byte in text.trim_ascii() {
            match byte {
                b'0'..=b'9' if count < digits.len() => digits[count] = byte - b'0',
                b'0'..=b'9' => return invalid("this one has more digits"),
                b'-' | b' ' | b'\t' | b'\r' | b'\n' if count.is_multiple_of(DIGITS) => continue,
                _ => return invalid("this one contains other characters"),
            }
            count += 1;
        }
        if count < digits.len() {
            return invalid("this one has fewer digits");
        }
        let mut bytes = LockedBytes::zeroed(2 * GROUPS);
        for (index, group) in digits.chunks(DIGITS).enumerate() {
            let number = group.iter().fold(0, |number, &digit| 10 * number + u32::from(digit));
            let (value, rest) = (number / FACTOR, number % FACTOR);
            let value = match u16::try_from(value) {
                Ok(value) if rest == 0 => value,
                _ => return invalid(&format!("group {} is mistyped", index + 1)),
            };
            bytes[2 * index..][..2].copy_from_slice(&value.to_le_bytes());
        }
        Ok(Self(bytes))
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// In the usual notation: digits and hyphens.
    pub fn digits(&self) -> LockedBytes {
        let mut text = LockedBytes::zeroed(GROUPS * (DIGITS + 1) - 1);
        text.fill(b'-');
        let values = self.0.as_chunks::<2>().0;
        for (group, value) in text.chunks_mut(DIGITS + 1).zip(values) {
            let mut number = FACTOR * u32::from(u16::from_le_bytes(*value));
            for digit in group[..DIGITS].iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of libbde's format document.
    const EXAMPLE: &[u8] = b"471207-278498-422125-177177-561902-537405-468006-693451";

    #[test]
    fn what_is_written_is_read() {
        let password = RecoveryPassword::parse(EXAMPLE).unwrap();
        assert_eq!(&*password.digits(), EXAMPLE);
        assert_eq!(password.bytes()[..2], (471_207_u32 / 11).to_le_bytes()[..2]);
        for other in [
            b"471207278498422125177177561902537405468006693451".to_vec(),
            b" 471207 278498 422125 177177 561902 537405 468006 693451\r\n".to_vec(),
        ] {
            assert_eq!(RecoveryPassword::parse(&other).unwrap().bytes(), password.bytes());
        }
        for _ in 0..50 {
            let random = RecoveryPassword::random().unwrap();
            let again = RecoveryPassword::parse(&random.digits()).unwrap();
            assert_eq!(again.bytes(), random.bytes());
        }
    }

    #[test]
    fn it_is_found_in_what_windows_saves() {
        let digits = std::str::from_utf8(EXAMPLE).unwrap();
        let text = format!(
            "Identifier:\r\n 0123ABCD-000000-111111\r\nRecovery Key:\r\n\r\n{digits}\r\n\r\nÄ"
        );
        let little = text.encode_utf16().flat_map(u16::to_le_bytes);
        let big = text.encode_utf16().flat_map(u16::to_be_bytes);
        let password = RecoveryPassword::parse(EXAMPLE).unwrap();
        for bytes in [
            text.clone().into_bytes(),
            [0xef, 0xbb, 0xbf].into_iter().chain(text.bytes()).collect(),
            [0xff, 0xfe].into_iter().chain(little).collect(),
            [0xfe, 0xff].into_iter().chain(big).collect(),
            format!("{digits}\n{digits}").into_bytes(),
            // As modified by editors and printers.
            text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            text.replace('-', "\u{2013}").into_bytes(),
            text.replace('-', "\u{2011}").encode_utf16().flat_map(u16::to_le_bytes).collect(),
            digits.replace('-', "\r\n").into_bytes(),
            digits.replace('-', " - ").into_bytes(),
        ] {
            assert_eq!(RecoveryPassword::find(&bytes).unwrap().bytes(), password.bytes());
        }
        let other = "000011-000022-000033-000044-000055-000066-000077-000088";
        let error = RecoveryPassword::find(format!("{digits}\n{other}").as_bytes()).unwrap_err();
        assert!(error.to_string().contains("several"), "{error}");
        assert!(RecoveryPassword::find(format!("9{digits}").as_bytes()).is_err());
        assert!(RecoveryPassword::find(b"nothing").is_err());
    }

    #[test]
    fn slips_are_told() {
        let error = |text: &[u8]| RecoveryPassword::parse(text).unwrap_err().to_string();
        let mut slip = EXAMPLE.to_vec();
        slip[15] = b'3';
        assert!(error(&slip).contains("group 3"), "{}", error(&slip));
        let mut high = EXAMPLE.to_vec();
        high[..6].copy_from_slice(b"720896");
        assert!(error(&high).contains("group 1"), "{}", error(&high));
        assert!(error(&EXAMPLE[..50]).contains("fewer"));
        assert!(error(&[EXAMPLE, b"0"].concat()).contains("more"));
        assert!(error(b"anaconda").contains("other characters"));
        assert!(error(b"4712-07278498").contains("other characters"));
        assert!(error(b"").contains("fewer"));
    }
}
