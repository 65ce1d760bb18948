//! The lines that study B's script prints around dd's: ` *** … *** ` before each series of copies and ` .. round N ..
//! ` before each copy. Lines such as `===== bench start =====` also start a series.
//!
//! The script writes zeros first, then random data; its author ran it on plain storage, and again on encrypted storage.
//! The line or the commands of a series state which data it contains (`if=/dev/zero`, `test_rand1`). If neither does,
//! series of zeros and of random data alternate, starting with zeros. A series also starts when the rounds restart at
//! 1.

use crate::read::Half;

/// The data and the storage of a copy, as far as the lines specify them.
#[derive(Default)]
pub(super) struct Series {
    /// Number of series started so far; 0 before the first line that starts a series.
    number: u32,
    /// The number of the last round in the series.
    round: u32,
    data: Option<&'static str>,
    storage: Option<Half>,
    /// Number of series that have started, with zeros and with random data.
    passes: [u32; 2],
    /// Whether the series contains a copy so far.
    copied: bool,
}

/// The storage of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// Outside of any series.
    Unknown,
    /// A line specifies it.
    Named(Half),
    /// Number of the script's current pass, counted from 1.
    Pass(u32),
}

impl Series {
    /// Whether a line comes from the script; updates the state accordingly.
    pub(super) fn take(&mut self, line: &str) -> bool {
        if let Some(words) = heading(line) {
            if !["end", "finish", "done"].iter().any(|end| words.to_lowercase().contains(end)) {
                self.begin();
            }
            self.hear(line);
            return true;
        }
        let Some(round) = round(line) else { return false };
        if self.number == 0 || round <= self.round {
            self.begin();
        }
        self.round = round;
        true
    }

    /// Starts a series. Two lines that start a series, without a copy between them, start only one series.
    fn begin(&mut self) {
        if self.number > 0 && !self.copied {
            return;
        }
        (self.number, self.round, self.data, self.copied) = (self.number + 1, 0, None, false);
    }

    /// Processes a line that may specify the data or the storage.
    pub(super) fn hear(&mut self, line: &str) {
        if self.number > 0 {
            self.data = data(line).or(self.data);
            self.storage = storage(line).or(self.storage);
        }
    }

    /// The data and the storage of a copy, `None` before the script's first line; adds a remark if no line specifies
    /// the data.
    pub(super) fn copy(&mut self, remarks: &mut Vec<String>) -> (Option<String>, Storage) {
        if self.number == 0 {
            return (None, Storage::Unknown);
        }
        let name = self.data.unwrap_or_else(|| {
            let remark = "no line states what its series copy: they are assumed to alternate between zeros and random \
                data, beginning with zeros";
            if !remarks.iter().any(|known| known == remark) {
                remarks.push(remark.to_owned());
            }
            if self.number % 2 == 1 { ZEROS } else { RANDOM }
        });
        let passes = &mut self.passes[usize::from(name == RANDOM)];
        *passes += u32::from(!self.copied);
        self.copied = true;
        let storage = self.storage.map_or(Storage::Pass(*passes), Storage::Named);
        (Some(name.to_owned()), storage)
    }
}

const ZEROS: &str = "zeros";
const RANDOM: &str = "random";

/// The data that a line specifies.
fn data(line: &str) -> Option<&'static str> {
    let line = line.to_lowercase();
    match (line.contains("zero"), line.contains("rand")) {
        (true, false) => Some(ZEROS),
        (false, true) => Some(RANDOM),
        _ => None,
    }
}

/// The storage that a line specifies.
fn storage(line: &str) -> Option<Half> {
    let line = line.to_lowercase();
    let plain = ["plain", "unencrypt", "non-encrypt", "not encrypt", "no encrypt"];
    match plain.iter().any(|word| line.contains(word)) {
        true => Some(Half::Plain),
        false => line.contains("encrypt").then_some(Half::Encrypted),
    }
}

/// The words of ` *** … *** ` or `=== … ===`.
fn heading(line: &str) -> Option<&str> {
    let words = |edge: &str| line.trim().strip_prefix(edge)?.strip_suffix(edge);
    let words = words("***").or_else(|| words("==="))?;
    Some(words.trim_matches(['*', '=']).trim())
}

/// The number of ` .. round N .. `.
fn round(line: &str) -> Option<u32> {
    let words = line.trim().strip_prefix("..")?.strip_suffix("..")?.trim();
    words.to_lowercase().strip_prefix("round")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data and storage of the copies, each of which is a line `copy`.
    fn copies(log: &str) -> Vec<(String, Storage)> {
        let mut series = Series::default();
        let mut found = Vec::new();
        for line in log.lines() {
            if line == "copy" {
                let (data, storage) = series.copy(&mut Vec::new());
                found.push((data.unwrap(), storage));
            } else if !series.take(line) {
                series.hear(line);
            }
        }
        found
    }

    #[test]
    fn passes_are_counted_for_each_kind_of_data() {
        let log = " *** zero *** \n .. round 1 .. \ncopy\n .. round 2 .. \ncopy\n *** random *** \n .. round 1 .. \ncopy\n";
        let found = copies(&log.repeat(2));
        let of = |i: usize| (found[i].0.as_str(), found[i].1);
        assert_eq!([of(0), of(1)], [(ZEROS, Storage::Pass(1)); 2]);
        assert_eq!([of(2), of(5)], [1, 2].map(|pass| (RANDOM, Storage::Pass(pass))));
        assert_eq!(of(3), (ZEROS, Storage::Pass(2)));
    }

    #[test]
    fn rounds_that_begin_again_begin_a_series() {
        let found = copies(".. round 1 ..\ncopy\n.. round 2 ..\ncopy\n.. round 1 ..\ncopy\n");
        let data: Vec<&str> = found.iter().map(|(data, _)| data.as_str()).collect();
        assert_eq!(data, [ZEROS, ZEROS, RANDOM]);
    }

    #[test]
    fn a_line_may_name_the_storage() {
        let named = |word: &str| copies(&format!("*** {word} ***\n.. round 1 ..\ncopy\n"))[0].1;
        assert_eq!(named("zeros on the encrypted drive"), Storage::Named(Half::Encrypted));
        assert_eq!(named("unencrypted"), Storage::Named(Half::Plain));
        assert_eq!(named("zeros"), Storage::Pass(1));
    }
}
