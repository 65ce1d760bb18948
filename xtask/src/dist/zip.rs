//! A zip archive (PKWARE's APPNOTE 6.3.10) with deflated files of one time, so that it is the same each time.

use std::io::Write as _;

use anyhow::{Context as _, ensure};
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// An archive that is being written.
pub(super) struct Zip {
    bytes: Vec<u8>,
    /// The central directory so far.
    directory: Vec<u8>,
    files: u16,
    /// Time and date in the form of MS-DOS.
    when: [u8; 4],
}

impl Zip {
    /// `seconds` since 1970 are the time of all files.
    pub(super) fn new(seconds: u64) -> Self {
        let when = dos(seconds);
        Self { bytes: Vec::new(), directory: Vec::new(), files: 0, when }
    }

    /// Adds a file; directories in `name` are separated by `/`.
    ///
    /// # Errors
    /// It is longer than 4 GiB, or there are too many.
    pub(super) fn add(&mut self, name: &str, data: &[u8]) -> anyhow::Result<()> {
        let mut crc = Crc::new();
        crc.update(data);
        let mut deflated = DeflateEncoder::new(Vec::new(), Compression::best());
        deflated.write_all(data)?;
        let deflated = deflated.finish()?;
        let length = |len: usize| u32::try_from(len).context("a file is too long for a zip");
        let at = length(self.bytes.len())?;
        // Version 2.0, names in UTF-8, deflated.
        let mut about = vec![20, 0, 0, 8, 8, 0];
        about.extend(self.when);
        for number in [crc.sum(), length(deflated.len())?, length(data.len())?] {
            about.extend(number.to_le_bytes());
        }
        about.extend(u16::try_from(name.len())?.to_le_bytes());
        about.extend([0, 0]);
        self.bytes.extend(b"PK\x03\x04");
        self.bytes.extend(&about);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(deflated);
        self.directory.extend(b"PK\x01\x02\x14\0");
        self.directory.extend(about);
        // No comment, the first disk, no attributes.
        self.directory.extend([0; 10]);
        self.directory.extend(at.to_le_bytes());
        self.directory.extend(name.as_bytes());
        ensure!(self.files < u16::MAX, "too many files for a zip");
        self.files += 1;
        Ok(())
    }

    /// The whole archive.
    ///
    /// # Errors
    /// It is longer than 4 GiB.
    pub(super) fn end(mut self) -> anyhow::Result<Vec<u8>> {
        let at = u32::try_from(self.bytes.len()).context("the zip is too long")?;
        let len = u32::try_from(self.directory.len()).context("the zip is too long")?;
        self.bytes.extend(self.directory);
        self.bytes.extend(b"PK\x05\x06\0\0\0\0");
        self.bytes.extend([self.files.to_le_bytes(); 2].concat());
        self.bytes.extend(len.to_le_bytes());
        self.bytes.extend(at.to_le_bytes());
        self.bytes.extend([0, 0]);
        Ok(self.bytes)
    }
}

/// A time as MS-DOS has it: seconds in twos, and years from 1980 on.
fn dos(seconds: u64) -> [u8; 4] {
    let (days, in_day) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of the year 0, whose years end with their leap day (Howard Hinnant, chrono-Compatible
    // Low-Level Date Algorithms).
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let date = year.saturating_sub(1980).min(127) << 9 | month << 5 | day;
    let time = ((in_day / 3600) << 11) | (((in_day / 60) % 60) << 5) | (in_day % 60 / 2);
    ((date << 16 | time) as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let of = |seconds| u32::from_le_bytes(dos(seconds));
        // 29 February 2024, 23:59:58, and 1 January 1980.
        assert_eq!(of(1_709_251_198), (44 << 9 | 2 << 5 | 29) << 16 | 23 << 11 | 59 << 5 | 29);
        assert_eq!(of(315_532_800), (1 << 5 | 1) << 16);
    }

    #[test]
    fn another_program_unpacks_what_was_packed() {
        let mut zip = Zip::new(1_700_000_000);
        let long = vec![7; 100_000];
        zip.add("a.txt", b"hello").unwrap();
        zip.add("d/\u{fc}", &long).unwrap();
        zip.add("empty", b"").unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("x.zip"), zip.end().unwrap()).unwrap();
        let unpack = ["-m", "zipfile", "-e", "x.zip", "out"];
        let done = match Command::new("python3").args(unpack).current_dir(&directory).output() {
            Err(e) => return eprintln!("SKIPPED: python3: {e}"),
            Ok(done) => done,
        };
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let read = |name: &str| std::fs::read(directory.path().join("out").join(name)).unwrap();
        assert_eq!((read("a.txt"), read("empty")), (b"hello".to_vec(), Vec::new()));
        assert_eq!(read("d/\u{fc}"), long);
    }
}
