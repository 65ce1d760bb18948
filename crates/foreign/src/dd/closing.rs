//! The line with bytes, time and rate, in all languages.
//!
//! GNU dd, uutils, toybox and BusyBox print `BYTES bytes (SIZE) copied, TIME s, RATE`, the BSDs and macOS print
//! `BYTES bytes transferred in TIME secs (RATE bytes/sec)`. Translations of coreutils 5 to 9 differ in words,
//! separators (`, `, `，`, `、`, ` en `, ` -- `), decimal marks, units (`秒`, `с`, `giây`) and in the text before the
//! bytes (`скопировано 1073741824 байта`), but not in the order of time and rate. Numbers are therefore identified by
//! their order: the last two are time and rate, and the largest integer before them is the number of bytes.
//!
//! The speed is calculated from bytes and time. The printed rate has only two or three digits, so it serves only as a
//! check. If the time is so coarse that the rate is more precise (uutils before 0.0.18 prints `0.4 s`), the printed
//! rate is used instead.

use crate::number::{decimal, positive};

/// If the speed and the printed rate differ by more than this factor, a number was misread.
const AGREES_WITHIN: f64 = 1.2;

pub(super) struct Closing {
    pub(super) bytes: u64,
    /// Bytes per second.
    pub(super) speed: f64,
}

/// A number as printed, and the text up to the next number.
struct Printed<'a> {
    digits: &'a str,
    after: &'a str,
}

impl Printed<'_> {
    fn value(&self) -> Option<f64> {
        decimal(self.digits)
    }

    /// Maximum rounding error: half a unit of the last printed digit.
    fn rounding(&self) -> f64 {
        let (mantissa, exponent) = self.digits.split_once(['e', 'E']).unwrap_or((self.digits, "0"));
        let decimals = mantissa.split_once(['.', ',']).map_or(0, |(_, d)| d.len());
        let exponent: i32 = exponent.parse().unwrap_or(0);
        0.5 * 10_f64.powi(exponent - i32::try_from(decimals).unwrap_or(0))
    }

    /// The number as a byte count. In Czech, digits are grouped by spaces.
    fn whole(&self) -> Option<u64> {
        self.digits.replace([' ', '\u{a0}', '\u{202f}'], "").parse().ok()
    }
}

/// Whether the line ends like dd's closing line: `/s`, `/sec)`, `/秒`, preceded by numbers.
pub(super) fn is_report(line: &str) -> bool {
    let line = line.trim();
    let Some((before, per)) = line.rsplit_once('/') else { return false };
    let per = per.trim_end_matches(')').trim();
    // Words in other alphabets are damaged if the file is not UTF-8.
    let is_unit = |c: char| c.is_alphabetic() || c == '\u{fffd}';
    let unit = before.trim_end().ends_with(is_unit);
    !line.starts_with('#')
        && unit
        && (1..=7).contains(&per.chars().count())
        && per.chars().all(is_unit)
        && before.contains(|c: char| c.is_ascii_digit())
        && !before.contains("of=")
        && !before.contains("if=")
}

pub(super) fn parse(text: &str) -> Result<Closing, &'static str> {
    const EXPECTED: &str = "expected bytes, time and rate, as in `BYTES bytes copied, TIME s, RATE/s` or `BYTES bytes transferred \
                            in TIME secs (RATE bytes/sec)`";
    let numbers = numbers(text);
    let [.., time, rate] = numbers.as_slice() else { return Err(EXPECTED) };
    // The rate in `0 s, Infinity B/s` has no digits.
    let (time, rate, before) = match unit(rate.after) {
        Some(unit) => (time, Some((rate, unit)), &numbers[..numbers.len() - 2]),
        None => (rate, None, &numbers[..numbers.len() - 1]),
    };
    let bytes = before.iter().filter_map(Printed::whole).max().ok_or(EXPECTED)?;
    let seconds = time.value().ok_or(EXPECTED)?;
    if bytes == 0 {
        return Err("copied nothing");
    }
    const NO_TIME: &str = "took less time than dd can measure; copy more data";
    let Some((rate, unit)) = rate else {
        return Err(if seconds == 0.0 { NO_TIME } else { EXPECTED });
    };
    let base = if unit.binary || is_binary(before, bytes) { 1024_f64 } else { 1000.0 };
    let scale = base.powi(unit.power);
    let (value, rounding) = (rate.value().ok_or(EXPECTED)? * scale, rate.rounding() * scale);
    let speed =
        better((bytes as f64, seconds, time.rounding()), (value, rounding)).ok_or(NO_TIME)?;
    // Below 1 kB/s, both digits of a two-digit rate may be wrong because of rounding.
    let factor = value / speed;
    if value > 1000.0 && !(1.0 / AGREES_WITHIN..AGREES_WITHIN).contains(&factor) {
        return Err("the printed rate is not bytes divided by time, so a number was misread");
    }
    Ok(Closing { bytes, speed })
}

/// Bytes divided by time. The printed rate is used instead if it is more precise, and if rounding of the time explains
/// the difference between the two rates.
fn better((bytes, seconds, coarse): (f64, f64, f64), (rate, rounding): (f64, f64)) -> Option<f64> {
    let Some(speed) = positive(bytes / seconds).filter(|s| s.is_finite()) else {
        return positive(rate);
    };
    let (least, most) = (rate - rounding, rate + rounding);
    let agrees = (least..=most).contains(&speed);
    let shortest = (seconds - coarse).max(0.0);
    let explained = least <= bytes / shortest && bytes / (seconds + coarse) <= most;
    match !agrees && explained && coarse / seconds > rounding / rate {
        true => positive(rate),
        false => Some(speed),
    }
}

/// The numbers in a line, in order. A comma can be a decimal mark, and a space can group digits.
fn numbers(text: &str) -> Vec<Printed<'_>> {
    let bytes = text.as_bytes();
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    let run = |from: usize| (from..).find(|i| !digit(*i)).unwrap_or(from);
    let mut spans: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !digit(at) {
            at += 1;
            continue;
        }
        let mut end = run(at);
        if end - at <= 3 {
            while let Some(group) = grouped(text, end) {
                end = group;
            }
        }
        if bytes.get(end).is_some_and(|b| matches!(b, b'.' | b',')) && digit(end + 1) {
            end = run(end + 1);
        }
        if bytes.get(end).is_some_and(|b| matches!(b, b'e' | b'E')) {
            let sign = usize::from(bytes.get(end + 1).is_some_and(|b| matches!(b, b'-' | b'+')));
            if digit(end + 1 + sign) {
                end = run(end + 1 + sign);
            }
        }
        spans.push((at, end));
        at = end;
    }
    let next = |i: usize| spans.get(i + 1).map_or(text.len(), |(start, _)| *start);
    let printed = |(i, (start, end)): (usize, &(usize, usize))| Printed {
        digits: &text[*start..*end],
        after: &text[*end..next(i)],
    };
    spans.iter().enumerate().map(printed).collect()
}

/// The end of a group of three digits after a space that groups digits.
fn grouped(text: &str, end: usize) -> Option<usize> {
    let space = text[end..].chars().next().filter(|c| [' ', '\u{a0}', '\u{202f}'].contains(c))?;
    let start = end + space.len_utf8();
    let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
    (digits == 3).then_some(start + 3)
}

struct Unit {
    power: i32,
    /// Whether the unit is a power of 1024: `MiB`, toybox's `M` without B, and BusyBox's `MB` without a space before
    /// it.
    binary: bool,
}

/// The unit between a rate's number and its slash.
fn unit(after: &str) -> Option<Unit> {
    let (unit, _) = after.split_once('/')?;
    let spaced = unit.starts_with(char::is_whitespace);
    let unit = unit.trim();
    if unit.contains([' ', ',', '，', '、']) {
        return None;
    }
    let first = unit.chars().next()?.to_uppercase().next()?;
    let power = match first {
        'B' | 'Б' if unit.len() > 2 || unit.chars().count() == 1 => 0,
        'K' | 'К' => 1,
        'M' | 'М' => 2,
        'G' | 'Г' => 3,
        'T' | 'Т' => 4,
        'P' | 'П' => 5,
        _ => return None,
    };
    let alone = power > 0 && unit.chars().count() == 1;
    Some(Unit { power, binary: alone || unit.contains('i') && power > 0 || power > 0 && !spaced })
}

/// Whether the size in parentheses shows that `MB` means 2^20 bytes.
fn is_binary(before: &[Printed<'_>], bytes: u64) -> bool {
    let Some(size) = before.iter().find(|n| n.whole() != Some(bytes)) else { return false };
    let name = size.after.trim_start().split([')', ',', '，', '）']).next().unwrap_or("");
    let (Some(unit), Some(value)) = (unit(&format!("{name}/")), size.value()) else { return false };
    let agrees = |base: f64| {
        (value * base.powi(unit.power) - bytes as f64).abs()
            <= size.rounding() * base.powi(unit.power)
    };
    unit.power > 0 && !name.contains('i') && agrees(1024.0) && !agrees(1000.0)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn every_form_of_the_line() {
        // Bytes divided by seconds, by hand, unless a comment says otherwise.
        for (text, expected) in [
            ("1048576000 bytes (1.0 GB, 1000 MiB) copied, 2.5 s, 419 MB/s", 419_430_400.0),
            // coreutils 5 and 6.
            ("1048576000 bytes (1.0 GB) copied, 2.5 seconds, 419 MB/s", 419_430_400.0),
            ("1 byte copied, 0.000128686 s, 7.8 kB/s", 7770.8531),
            ("5242880 Bytes (5,2 MB, 5,0 MiB) kopiert, 0,00893239 s, 587 MB/s", 586_951_532.6),
            ("5242880 字节 (5.2 MB, 5.0 MiB) 已复制，0.013674 s，383 MB/s", 383_419_628.0),
            ("5242880 bytes (5.0MB) copied, 0.002500 seconds, 2.0GB/s", 2_097_152_000.0),
            // NetBSD's and older macOS's; newer macOS prints fewer digits.
            ("1048576000 bytes transferred in 5.2 secs (201649230 bytes/sec)", 201_649_230.77),
            ("104857600 bytes transferred in 0.021 secs (4993219048 bytes/sec)", 4_993_219_047.6),
            // NetBSD's msgfmt=human, FreeBSD's progress.
            ("1048576000 bytes (1.0 GB) transferred in 5.2 secs (202 MB/sec)", 201_649_230.77),
            ("1073741824 bytes (1074 MB, 1024 MiB) transferred 2.500s, 429 MB/s", 429_496_729.6),
            // toybox, whose M are 2^20.
            ("1073741824 bytes (1.0 G) copied, 2.500000 s, 410 M/s", 429_496_729.6),
            // uutils before 0.0.18: its 2.4 GB/s differ from 1073741824 / 0.4 = 2.68e9, so the printed rate counts.
            ("1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.4 s, 2.4 GB/s", 2.4e9),
            ("4096 bytes (4.1 KB, 4.0 KiB) copied, 0.0 s, 41.0 MB/s", 41.0e6),
            // uutils translated.
            ("1073741824 bajtoj (1.1 GB, 1.0 GiB) kopiitaj, 2.5 s, 429.5 MB/s", 429_496_729.6),
        ] {
            let found = parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).speed;
            assert!((found / expected - 1.0).abs() < 1e-6, "{text}: {found}");
        }
    }

    /// The translations of coreutils 8.32's message catalogues (`, %g s, %s/s` of 6.0 to 8.25 and what
    /// came after) that differ in more than words: 1 GiB in 2.5 s.
    #[test]
    fn translations_of_each_order_and_separator() {
        for text in [
            "1073741824字节(1.1 GB)已复制，2.5 秒，429 MB/秒",
            "1073741824字节（1.1 GB，1.0 GiB）已复制，2.5 s，429 MB/s",
            "1073741824位元組（1.1 GB，1.0 GiB）已複製，2.5 s，429 MB/s",
            " скопировано 1073741824 байта (1,1 GB), 2,5 c, 429 MB/c",
            "1073741824 байт (1,1 GB, 1,0 GiB) скопирован, 2,5 с, 429 MB/с",
            "скопійовано 1073741824 байтів (1,1 GB), 2,5 с, 429 MB/s",
            "1073741824 バイト (1.1 GB) コピーされました、 2.5 秒、 429 MB/秒",
            "1073741824 tavua (1,1 GB) kopioitu 2,5 sekunnissa, 429 MB/s",
            "1073741824 bajtoj kopiiĝis (1.1 GB = 1.0 GiB) en 2.5 sekundoj -- 429 MB/s",
            "1\u{a0}073\u{a0}741\u{a0}824 bajtů (1,1 GB) zkopírováno, 2,5 s, 429 MB/s",
            "1 073 741 824 bajtů (1,1 GB, 1,0 GiB) zkopírováno, 2,5 s, 429 MB/s",
            "đã sao chép 1073741824 byte (1.1 GB), 2.5 giây, 429 MB/giây",
            "cóipeáladh 1073741824 beart (1.1 GB), 2.5 shoicind, 429 MB/s",
            "1073741824 bájt (1,1 GB) másolva, 2,5 mp, 429 MB/s",
            "bayiti 1073741824 (1.1 GB) zikoppedwa, 2.5 s, 429 MB/s",
            "1073741824 bayt (1,1 GB) kopyalandı, 2,5 s, 429 MB/s",
        ] {
            assert!(super::is_report(text), "{text}");
            let found = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(found.bytes, 1 << 30, "{text}");
            assert!((found.speed / 429_496_729.6 - 1.0).abs() < 1e-6, "{text}: {}", found.speed);
        }
    }

    #[test]
    fn no_time_in_any_language() {
        for text in [
            "512 bytes copied, 0 s, Infinity B/s",
            "512字节(512 B)已复制，0 秒，无穷量 B/秒",
            "512 byte copiati, 0 s, B illimitato/s",
        ] {
            assert!(super::is_report(text), "{text}");
            assert!(parse(text).is_err_and(|e| e.contains("less time than dd")), "{text}");
        }
    }
}
