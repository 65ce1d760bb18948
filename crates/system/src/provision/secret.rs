//! Secrets of a run: generated at random, wiped when dropped, and passed to programs through a pipe.

use std::fmt::Write as _;

use zeroize::Zeroizing;

/// A passphrase of 256 random bits. It is never needed again, because its volume is removed after the run.
///
/// It consists of hexadecimal digits, which every program accepts.
pub(crate) fn passphrase() -> Zeroizing<String> {
    let raw = random_key(32);
    let mut digits = Zeroizing::new(String::with_capacity(64));
    for byte in raw.iter() {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// A passphrase as a line, as programs read it from their standard input.
pub(crate) fn line(passphrase: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut line = Zeroizing::new(Vec::with_capacity(passphrase.len() + 1));
    line.extend_from_slice(passphrase);
    line.push(b'\n');
    line
}

/// Random bytes.
///
/// # Panics
/// If the kernel's generator fails, which cannot happen after its first success.
pub(crate) fn random_key(len: usize) -> Zeroizing<Vec<u8>> {
    let mut key = Zeroizing::new(vec![0; len]);
    getrandom::fill(&mut key).expect("the kernel's random generator answers");
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_another_of_full_length() {
        let (one, two) = (passphrase(), passphrase());
        assert!(one.len() == 64 && one.bytes().all(|b| b.is_ascii_hexdigit()) && *one != *two);
        assert_eq!(line(b"abc").as_slice(), b"abc\n");
    }
}
