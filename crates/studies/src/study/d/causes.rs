//! Why study D's hybrid disk varies most: what its own numbers show about a cipher, a cache and the position on
//! the disk.

use crate::error::DataError;
use crate::files::Files;
use crate::study::Answer;

const READS: [&str; 2] = ["seq read 4M", "rand read 4K"];
const WRITES: [&str; 2] = ["seq write 4M", "rand write 4K"];

/// A speed of one of the six series: device, pattern, cipher, MB/s.
struct Speed<'a> {
    device: &'a str,
    pattern: &'a str,
    cipher: &'a str,
    mb_s: f64,
}

pub(super) fn answers(files: &Files) -> Result<Vec<Answer>, DataError> {
    let csv = files.csv("anvil")?;
    let mut all = Vec::new();
    for row in csv.rows() {
        all.push(Speed {
            device: row.text("device")?,
            pattern: row.text("pattern")?,
            cipher: row.text("algorithm")?,
            mb_s: row.number("mb_s")?.value(),
        });
    }
    let spread = |device: &str, pattern: &str| {
        let of = all.iter().filter(|s| s.device == device && s.pattern == pattern).map(|s| s.mb_s);
        let (low, high) = (of.clone().fold(f64::INFINITY, f64::min), of.fold(0.0, f64::max));
        100.0 * (high / low - 1.0)
    };
    let pair = |device: &str, [sequential, random]: [&str; 2]| {
        format!("{:.0} and {:.0} %", spread(device, sequential), spread(device, random))
    };
    let slowest = |cipher: &str, device: &str, pattern: &str| {
        let of = |s: &&Speed<'_>| s.device == device && s.pattern == pattern && s.cipher == cipher;
        all.iter().filter(of).map(|s| s.mb_s).fold(f64::INFINITY, f64::min)
    };
    let fastest = all.iter().filter(|s| s.device == "sshd" && s.pattern == READS[0]);
    let fastest = fastest.map(|s| s.mb_s).fold(0.0, f64::max);
    let lines = vec![
        format!(
            "The ciphers are not the cause. The same programs differ by {} on the HDD (sequential and random writes), \
             but by {} on the hybrid disk; and the slowest cipher, Serpent, reads {:.0} MB/s on the SSD, while the \
             hybrid disk reaches at most {fastest:.0}. Certain.",
            pair("hdd", WRITES),
            pair("sshd", WRITES),
            slowest("Serpent-256", "ssd", READS[0]),
        ),
        format!(
            "Reads that are served from its flash are not the cause. They would affect mainly random reads, which \
             differ by {:.0} %, and not writes, which differ by {:.0} %. Likely: an emulated hybrid disk whose flash \
             stores data that is read twice shows the opposite; see docs/why.md.",
            spread("sshd", READS[1]),
            spread("sshd", WRITES[1]),
        ),
        format!(
            "Sequential reads differ by {:.0} % and writes by {:.0} % in another order, so a fixed location on the \
             platter for each series is not the cause either. The remaining explanation is flash that buffers writes, \
             and how full it was. Not proven: no series was repeated, and none was measured without encryption.",
            spread("sshd", READS[0]),
            spread("sshd", WRITES[0]),
        ),
    ];
    Ok(vec![Answer { question: "Why do the figures of the hybrid disk vary most?", lines }])
}
