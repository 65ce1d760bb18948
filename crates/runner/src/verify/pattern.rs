//! The pattern: text in short lines, each with a marker unique to the run and its position.

/// Bytes of a marker. It appears by chance somewhere in a TiB with a probability of 2^-35.
pub(super) const MARKER: usize = 16;

/// Bytes of a line. Data split into pieces of at least two lines has a whole marker in each.
pub(super) const LINE: usize = 64;

/// A pattern with its own marker. It is text, so that unencrypted data is far from eight bits of
/// entropy per byte.
pub(super) struct Pattern {
    marker: [u8; MARKER],
    word: String,
}

impl Pattern {
    /// A new pattern that has never been written.
    pub(super) fn new() -> Self {
        Self { marker: letters(), word: String::from_utf8_lossy(&letters()).into_owned() }
    }

    /// A string that no ciphertext contains.
    pub(super) fn marker(&self) -> &[u8; MARKER] {
        &self.marker
    }

    /// Another marker for names of files, so that content and names are found separately.
    pub(super) fn word(&self) -> &str {
        &self.word
    }

    /// Fills `data` with the contents at `offset` of the stream, a multiple of the line length.
    pub(super) fn fill(&self, data: &mut [u8], stream: u16, offset: u64) {
        for (i, line) in data.chunks_mut(LINE).enumerate() {
            let at = offset + (i * LINE) as u64;
            let text = format!(" {stream:04x} {at:012x} a line of text one can read.\n");
            let whole = [&self.marker[..], text.as_bytes()].concat();
            line.copy_from_slice(&whole[..line.len()]);
        }
    }

    /// Whether `data` has the contents for this position.
    pub(super) fn is_at(&self, data: &[u8], stream: u16, offset: u64) -> bool {
        let mut expected = vec![0; data.len()];
        self.fill(&mut expected, stream, offset);
        expected == data
    }
}

/// Random letters and digits, with five random bits each.
fn letters() -> [u8; MARKER] {
    let mut random = [0; MARKER];
    getrandom::fill(&mut random).expect("the kernel's random generator answers");
    random.map(|byte| b"abcdefghijklmnopqrstuvwxyz234567"[usize::from(byte % 32)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_marker_stream_and_place() {
        let pattern = Pattern::new();
        let mut data = [0; 3 * LINE - 5];
        pattern.fill(&mut data, 2, 128);
        for (i, line) in data.chunks(LINE).enumerate() {
            assert_eq!(line[..MARKER], *pattern.marker());
            let text = std::str::from_utf8(line).unwrap();
            assert!(text.contains(&format!(" 0002 {:012x} ", 128 + i * LINE)), "{text}");
        }
        assert_eq!(data[LINE - 1], b'\n', "a line is whole");
        assert!(pattern.is_at(&data, 2, 128));
        assert!(!pattern.is_at(&data, 2, 192), "another position");
        assert!(!pattern.is_at(&data, 3, 128), "another stream");
        assert!(!Pattern::new().is_at(&data, 2, 128), "another run");
        data[100] ^= 1;
        assert!(!pattern.is_at(&data, 2, 128), "one bit");
    }
}
