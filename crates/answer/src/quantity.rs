//! Numbers for users: with a unit, and with no more digits than are significant.

use std::fmt::Display;

use cryptbench_record::{Cell, Estimate, Headline, Workload};

/// Placeholder for a number that is not available.
pub const NONE: &str = "–";

/// A percentage without its sign: integers from 10 up, one decimal below 10, `<0.1` for traces.
pub fn percent_digits(percent: f64) -> String {
    let size = percent.abs();
    if !percent.is_finite() {
        NONE.to_owned()
    } else if size >= 9.95 {
        thousands(percent.round())
    } else if size > 0.0 && size < 0.05 {
        "<0.1".to_owned()
    } else {
        trim_zero(format!("{percent:.1}"))
    }
}

/// As [`percent_digits`] with the sign: `14 %`.
pub fn percent(percent: f64) -> String {
    format!("{} %", percent_digits(percent))
}

/// A fraction as a percentage.
pub fn fraction(fraction: f64) -> String {
    percent(fraction * 100.0)
}

/// A ratio to plain and its interval, as percentages: `86 [83, 89]`.
pub fn kept(e: &Estimate) -> String {
    let (ratio, interval) = kept_parts(e);
    format!("{ratio} {interval}")
}

/// The parts of [`kept`].
pub fn kept_parts(e: &Estimate) -> (String, String) {
    let [ratio, low, high] = kept_numbers(e);
    (ratio, format!("[{low}, {high}]"))
}

/// As [`kept`] with the sign: `86 % [83, 89]`.
pub fn kept_percent(e: &Estimate) -> String {
    let [ratio, low, high] = kept_numbers(e);
    format!("{ratio} % [{low}, {high}]")
}

/// A ratio as a percentage, and the larger distance to the ends of its interval, such as `51` and `±3`, rounded to the
/// same precision as in [`kept`].
pub fn kept_spread(ratio: f64, low: f64, high: f64, fine_below: f64) -> (String, String) {
    let values = [ratio, low, high].map(|v| v * 100.0);
    let decimals = decimals(values, fine_below);
    let unit = 10f64.powi(decimals as i32);
    let [value, low, high] = values.map(|v| (v * unit).round() / unit);
    let spread = (high - value).max(value - low);
    let written = |v: f64| match v.is_finite() {
        true if v >= 1000.0 => thousands(v.round()),
        true => format!("{v:.decimals$}"),
        false => NONE.to_owned(),
    };
    (written(value), format!("±{}", written(spread)))
}

/// A percentage of plain speed with its interval, in the form of tables: `58 ±2`.
pub fn share_words(ratio: f64, low: f64, high: f64) -> String {
    let (value, spread) = kept_spread(ratio, low, high, FINE_BELOW);
    format!("{value} {spread}")
}

/// Percentage below which [`kept`] shows a decimal.
pub const FINE_BELOW: f64 = 9.95;

/// Ratio, low and high as percentages with the same number of decimals. Decimals are used only if the three would
/// otherwise look the same, which would hide the interval, or if whole percentages are too coarse.
fn kept_numbers(e: &Estimate) -> [String; 3] {
    let values = [e.ratio, e.low, e.high].map(|v| v * 100.0);
    let decimals = decimals(values, FINE_BELOW);
    values.map(|v| match v.is_finite() {
        true if v >= 1000.0 => thousands(v.round()),
        true => format!("{v:.decimals$}"),
        false => NONE.to_owned(),
    })
}

fn decimals(values: [f64; 3], fine_below: f64) -> usize {
    let alike = values.iter().all(|v| v.round() == values[0].round());
    usize::from(alike || values[0].abs() < fine_below)
}

/// The usual figure for a workload: decimal megabytes, requests or files per second, the mean time of a request, or
/// the time of the whole trial.
pub fn headline(workload: &Workload, cell: &Cell) -> String {
    value_words(workload, headline_value(workload, cell.bandwidth, cell.iops))
}

/// A [`headline_value`] with its unit.
pub fn value_words(workload: &Workload, value: f64) -> String {
    match workload.figure() {
        Some(Headline::Iops) => requests(value),
        Some(Headline::Files) => files(value),
        Some(Headline::Latency | Headline::Seconds) => latency(value * 1e6),
        _ => megabytes(value),
    }
}

/// [`headline`] as a number: bytes, requests or files per second, or seconds.
///
/// Times follow from rates: the mean time of a request is the number in flight divided by the requests per second
/// (Little's law), so that the figure agrees with the ratio on which the verdict is based.
pub fn headline_value(workload: &Workload, bandwidth: f64, iops: f64) -> f64 {
    match workload.figure() {
        Some(Headline::Iops | Headline::Files) => iops,
        Some(Headline::Latency) => f64::from(workload.in_flight().max(1)) / iops,
        Some(Headline::Seconds) => match (workload.trial_bytes, workload.files) {
            (Some(bytes), _) if bytes > 0 => bytes as f64 / bandwidth,
            (_, Some(files)) => f64::from(files) / iops,
            _ => 1.0 / iops,
        },
        _ => bandwidth,
    }
}

/// Whether a smaller headline is better.
pub fn is_time(workload: &Workload) -> bool {
    matches!(workload.figure(), Some(Headline::Latency | Headline::Seconds))
}

/// Files per second: `812 files/s`, `12.3k files/s`.
pub fn files(per_s: f64) -> String {
    with_unit(rate(per_s), per_s, "files/s")
}

/// Seconds as [`latency`] writes them: `1.21 s`, `83.0 ms`.
pub fn seconds(seconds: f64) -> String {
    latency(seconds * 1e6)
}

/// A file or record size in the form of iozone's tables: `512`, `4K`, `16M`.
pub fn short_bytes(bytes: u64) -> String {
    let (number, unit) = scaled(bytes, 1024.0, ["", "K", "M", "G", "T"]);
    format!("{number}{unit}")
}

/// Bytes per second: `512 MB/s`, `1.85 GB/s`.
pub fn megabytes(bytes_per_s: f64) -> String {
    let mb = bytes_per_s / 1e6;
    if !mb.is_finite() {
        NONE.to_owned()
    } else if mb >= 9999.5 {
        format!("{} GB/s", digits(mb / 1e3))
    } else {
        format!("{} MB/s", digits(mb))
    }
}

/// Requests per second: `812 IOPS`, `12.3k IOPS`.
pub fn requests(per_s: f64) -> String {
    with_unit(rate(per_s), per_s, "IOPS")
}

/// Requests per second without their unit: `812`, `12.3k`.
pub fn rate(per_s: f64) -> String {
    if !per_s.is_finite() {
        NONE.to_owned()
    } else if per_s >= 999_500.0 {
        format!("{}M", digits(per_s / 1e6))
    } else if per_s >= 9_999.5 {
        format!("{}k", digits(per_s / 1e3))
    } else {
        digits(per_s)
    }
}

fn with_unit(written: String, value: f64, unit: &str) -> String {
    if value.is_finite() { format!("{written} {unit}") } else { written }
}

/// About three significant digits, but at least the whole integer part: `1,234`, `56.7`, `5.31`.
pub fn digits(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        NONE.to_owned()
    } else if size >= 99.95 {
        thousands(value.round())
    } else if size >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// CPU seconds per GiB: two significant digits above 0.1, three decimals below.
pub fn cpu(seconds_per_gib: f64) -> String {
    let size = seconds_per_gib.abs();
    if !seconds_per_gib.is_finite() {
        NONE.to_owned()
    } else if size >= 9.95 {
        thousands(seconds_per_gib.round())
    } else if size >= 0.995 {
        format!("{seconds_per_gib:.1}")
    } else if size >= 0.0995 {
        format!("{seconds_per_gib:.2}")
    } else {
        format!("{seconds_per_gib:.3}")
    }
}

/// A latency given in microseconds: `83 µs`, `1.24 ms`, `2.1 s`.
pub fn latency(us: f64) -> String {
    let significant = |v: f64| match v {
        v if v >= 99.5 => format!("{v:.0}"),
        v if v >= 9.95 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    };
    if !us.is_finite() {
        NONE.to_owned()
    } else if us >= 999_500.0 {
        format!("{} s", significant(us / 1e6))
    } else if us >= 999.5 {
        format!("{} ms", significant(us / 1e3))
    } else {
        format!("{} µs", significant(us))
    }
}

/// Bytes in binary units, as usual for memory and files: `4 GiB`.
pub fn binary_bytes(bytes: u64) -> String {
    let (number, unit) = scaled(bytes, 1024.0, ["B", "KiB", "MiB", "GiB", "TiB"]);
    format!("{number} {unit}")
}

/// Bytes in decimal units, as usual for disks: `512 GB`.
pub fn decimal_bytes(bytes: u64) -> String {
    let (number, unit) = scaled(bytes, 1000.0, ["B", "kB", "MB", "GB", "TB"]);
    format!("{number} {unit}")
}

fn scaled(bytes: u64, base: f64, units: [&'static str; 5]) -> (String, &'static str) {
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= base && unit + 1 < units.len() {
        value /= base;
        unit += 1;
    }
    let number = if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") };
    (trim_zero(number), units[unit])
}

/// Seconds in a readable form: `45 s`, `12 min`, `1 h 20 min`.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return NONE.to_owned();
    }
    let minutes = (seconds / 60.0).round();
    if seconds < 9.95 {
        format!("{} s", trim_zero(format!("{seconds:.1}")))
    } else if seconds < 119.5 {
        format!("{seconds:.0} s")
    } else if minutes < 120.0 {
        format!("{minutes:.0} min")
    } else {
        format!("{:.0} h {:.0} min", (minutes / 60.0).floor(), minutes % 60.0)
    }
}

/// A count with its noun: `1 pair`, `12 pairs`.
pub fn count(n: usize, singular: &str, plural: &str) -> String {
    format!("{} {}", thousands(n as f64), if n == 1 { singular } else { plural })
}

/// Keeps numbers together at line breaks: no-break spaces before `%`, before and within
/// brackets.
pub fn unbroken(text: &str) -> String {
    let mut depth = 0_u32;
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let glued = c == ' ' && (depth > 0 || matches!(chars.peek(), Some('%' | '[')));
        out.push(if glued { NO_BREAK } else { c });
    }
    out
}

/// The space that [`unbroken`] inserts.
pub const NO_BREAK: char = '\u{a0}';

fn trim_zero(number: String) -> String {
    match number.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(integer) => integer.to_owned(),
        None => number,
    }
}

/// A number without its decimals, and with a comma before every three digits.
pub fn thousands(value: impl Display) -> String {
    // The precision in the format has no effect on an integer.
    let plain = format!("{value:.0}");
    let (sign, number) = match plain.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", plain.as_str()),
    };
    let mut out = String::from(sign);
    for (i, c) in number.chars().enumerate() {
        if i > 0 && (number.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        assert_eq!([0, 999, 1000, 10_014_000].map(thousands), ["0", "999", "1,000", "10,014,000"]);
        assert_eq!([-1234.4, 0.6, 1e6].map(thousands), ["-1,234", "1", "1,000,000"]);
    }

    fn estimate(ratio: f64, low: f64, high: f64) -> Estimate {
        Estimate {
            ratio,
            low,
            high,
            hodges_lehmann: ratio,
            signed_rank_low: None,
            signed_rank_high: None,
            p_value: 0.5,
            p_holm: 0.5,
            pairs: 10,
        }
    }

    #[test]
    fn headlines_are_rates_or_times() {
        let workload = |headline: &str| Workload {
            headline: headline.to_owned(),
            queue_depth: 4,
            trial_bytes: Some(128 << 20),
            ..Workload::default()
        };
        let cell = Cell {
            bandwidth: 64.0 * 1_048_576.0,
            iops: 16_384.0,
            ..serde_json::from_str(EMPTY_CELL).unwrap()
        };
        assert_eq!(headline(&workload("bandwidth"), &cell), "67.1 MB/s");
        assert_eq!(headline(&workload("iops"), &cell), "16.4k IOPS");
        assert_eq!(headline(&workload("files"), &cell), "16.4k files/s");
        // 4 in flight over 16,384 per second.
        assert_eq!(headline(&workload("latency"), &cell), "244 µs");
        // 128 MiB at 64 MiB/s.
        assert_eq!(headline(&workload("seconds"), &cell), "2.00 s");
        let files = Workload { trial_bytes: None, files: Some(8_192), ..workload("seconds") };
        assert_eq!(headline(&files, &cell), "500 ms");
    }

    const EMPTY_CELL: &str = r#"{"workload":"","arm":"","trials":1,"bandwidth":0,"iops":0,
        "latency":{"p50_us":0,"p99_us":null,"p999_us":null},
        "cpu":{"process_s_per_gib":0,"machine_s_per_gib":0,"machine_percent":0},
        "device_ratio":null,"cached":false,"noise_floor":null,"kept":null,"verdict":null}"#;

    #[test]
    fn sizes_are_short_in_heat_maps() {
        assert_eq!([512, 4096, 65_536, 16 << 20].map(short_bytes), ["512", "4K", "64K", "16M"]);
    }

    #[test]
    fn percentages_carry_no_false_precision() {
        let written: Vec<_> =
            [14.4, 9.96, 9.94, 4.0, 0.26, 0.04, 0.0, -3.25, 1234.4].map(percent).into();
        assert_eq!(
            written,
            ["14 %", "10 %", "9.9 %", "4 %", "0.3 %", "<0.1 %", "0 %", "-3.2 %", "1,234 %"]
        );
        assert_eq!(percent(f64::NAN), "– %");
    }

    #[test]
    fn kept_shows_a_decimal_only_where_the_interval_carries_it() {
        assert_eq!(kept(&estimate(0.862, 0.831, 0.894)), "86 [83, 89]");
        assert_eq!(kept_percent(&estimate(0.9962, 0.9954, 0.9968)), "99.6 % [99.5, 99.7]");
        assert_eq!(kept(&estimate(0.411, 0.407, 0.413)), "41.1 [40.7, 41.3]");
        assert_eq!(kept(&estimate(0.042, 0.039, 0.046)), "4.2 [3.9, 4.6]");
        assert_eq!(kept(&estimate(f64::INFINITY, 0.5, f64::NAN)), "– [50, –]");
    }

    #[test]
    fn a_spread_reaches_to_the_farther_end_as_it_is_rounded() {
        let of = |ratio, low, high| {
            let (value, spread) = kept_spread(ratio, low, high, FINE_BELOW);
            format!("{value} {spread}")
        };
        assert_eq!(of(0.65, 0.49, 0.85), "65 ±20");
        assert_eq!(of(0.584, 0.566, 0.602), "58 ±2", "58 [57, 60]");
        assert_eq!(of(0.584, 0.5815, 0.5849), "58.4 ±0.2", "not 58 ±0");
        assert_eq!(of(0.042, 0.039, 0.046), "4.2 ±0.4");
        assert_eq!(of(0.9962, 0.9954, 0.9968), "99.6 ±0.1");
        assert_eq!(of(f64::NAN, 0.5, 0.6), "– ±–");
    }

    #[test]
    fn numbers_are_kept_together() {
        assert_eq!(
            unbroken("keeps 82 % [81, 82] of it").replace(NO_BREAK, "_"),
            "keeps 82_%_[81,_82] of it"
        );
    }

    #[test]
    fn rates_sizes_and_times_have_units() {
        assert_eq!(megabytes(1_234_567_890.0), "1,235 MB/s");
        assert_eq!(megabytes(12_345_678_900.0), "12.3 GB/s");
        assert_eq!(megabytes(5_310_000.0), "5.31 MB/s");
        assert_eq!(requests(812.4), "812 IOPS");
        assert_eq!(requests(123_456.0), "123k IOPS");
        assert_eq!(binary_bytes(4 << 30), "4 GiB");
        assert_eq!(decimal_bytes(512_110_190_592), "512 GB");
        assert_eq!(duration(4.0), "4 s");
        assert_eq!(duration(4800.0), "80 min");
        assert_eq!(duration(9000.0), "2 h 30 min");
        assert_eq!(latency(83.44), "83.4 µs");
        assert_eq!(latency(1240.0), "1.24 ms");
        assert_eq!(cpu(0.314), "0.31");
        assert_eq!(cpu(0.0314), "0.031");
        assert_eq!(cpu(-1.26), "-1.3");
        assert_eq!(count(1, "pair", "pairs"), "1 pair");
    }
}
