//! Bytes and texts damaged at random, reproducible from a seed.

/// A small random number generator ("SplitMix64", Steele, Lea and Flood, 2014). The same seed gives the same
/// numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Begins with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number less than `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % (end.max(1) as u64)) as usize
    }

    /// True with a probability of 1 in `n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Picks one item at random.
    ///
    /// # Panics
    /// If there are none.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Fills with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(8) {
            piece.copy_from_slice(&self.number().to_le_bytes()[..piece.len()]);
        }
    }
}

/// Typical causes of parser failures.
const EXTREMES: [u64; 14] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 62,
    u64::MAX / 2,
    u64::MAX - 511,
    u64::MAX,
];

/// Changes bits, bytes, and numbers of 2, 4 and 8 bytes in either byte order at a few positions; never changes the
/// length.
pub fn damage(bytes: &mut [u8], random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        let left = bytes.len() - at;
        match random.below(4) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.number() as u8,
            2 => {
                let len = random.below(64).min(left);
                random.fill(&mut bytes[at..at + len]);
            }
            _ => {
                let len = [2, 4, 8][random.below(3)].min(left);
                let number = *random.one_of(&EXTREMES);
                if random.once_in(2) {
                    bytes[at..at + len].copy_from_slice(&number.to_le_bytes()[..len]);
                } else {
                    bytes[at..at + len].copy_from_slice(&number.to_be_bytes()[8 - len..]);
                }
            }
        }
    }
}

/// Numbers and words used as replacements.
const WORDS: [&str; 16] = [
    "0",
    "-1",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "1e308",
    "1e999",
    "0.0",
    "NaN",
    "null",
    "\"\"",
    "[]",
    "{}",
    "true",
    "\u{1b}[2J",
    "\0",
];

/// Changes a few positions of a text: numbers and words are replaced, pieces are removed, duplicated or swapped,
/// brackets are nested, and some bytes are damaged so that the result may not be valid text.
pub fn damage_text(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(bytes.len());
        let len = random.below(200).min(bytes.len() - at);
        match random.below(8) {
            0 => drop(bytes.drain(at..at + len)),
            1 => bytes.truncate(at),
            2 => {
                let piece = bytes[at..at + len].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            3 => {
                let open = *random.one_of(b"[{(\"");
                let many = [10, 200, 20_000][random.below(3)];
                bytes.splice(at..at, std::iter::repeat_n(open, many));
            }
            4 | 5 => {
                // The next number or word.
                let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
                let Some(start) = bytes[at..].iter().position(is_part).map(|i| at + i) else {
                    continue;
                };
                let len =
                    bytes[start..].iter().position(|b| !is_part(b)).unwrap_or(bytes.len() - start);
                bytes.splice(start..start + len, random.one_of(&WORDS).bytes());
            }
            _ if bytes.is_empty() => {}
            _ => damage(&mut bytes, random),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_says_how() {
        let whole = b"{\"size\": 4096, \"name\": \"x\"}".repeat(10);
        let once = |seed| {
            let mut bytes = whole.clone();
            damage(&mut bytes, &mut Random::new(seed));
            (bytes, damage_text(&whole, &mut Random::new(seed)))
        };
        let all: std::collections::HashSet<_> = (0..1000).map(once).collect();
        assert!(all.len() > 900, "{}", all.len());
        assert_eq!(once(5), once(5));
        assert_eq!(once(5).0.len(), whole.len());
        for seed in 0..100 {
            let _ = damage_text(b"", &mut Random::new(seed));
        }
    }
}
