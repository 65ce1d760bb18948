//! The request size of a job: as stated in its options, and as derived from its counts.

use serde_json::Value;

use super::number;

/// Bytes transferred in one direction, and fio's rounding error: fio 3 prints `io_bytes` in bytes, fio 2 in KiB.
fn moved(part: &Value) -> (f64, f64) {
    let io = number(part, "io_bytes");
    let expected = 1024.0 * number(part, "bw") * number(part, "runtime") / 1000.0;
    let named = part.get("io_kbytes").is_some() || part.get("bw_bytes").is_some();
    // The two units differ by a factor of 1024, so the threshold is the square root of 1024.
    match named || expected > 0.0 && io > expected / 32.0 {
        true => (io, 0.0),
        false => (1024.0 * io, 1024.0),
    }
}

/// Bytes per request. The counts take precedence over the options, because for a group fio prints the options of the
/// last job, and the meaning of `4k` depends on `kb_base`. `None` if the requests differ in size.
pub(super) fn of_requests(part: &Value, stated: Option<u64>, summed: bool) -> Option<u64> {
    let (bytes, rounded) = moved(part);
    let requests = number(part, "total_ios");
    if requests < 1.0 || bytes <= 0.0 {
        return stated.filter(|_| !summed);
    }
    let mean = bytes / requests;
    let within = |size: f64, by: f64| (mean - size).abs() <= by.max(rounded / requests);
    if let Some(stated) = stated.filter(|s| within(*s as f64, 0.0)) {
        return Some(stated);
    }
    // The mean of different sizes can be a multiple of a sector by chance, but is unlikely to be a power of two.
    let is_size = |size: u64| match summed {
        true => size.is_power_of_two(),
        false => size.is_multiple_of(512) || size.is_multiple_of(1000),
    };
    let grain = if rounded > 0.0 { 512.0 } else { 1.0 };
    let whole = (mean / grain).round() * grain;
    if whole >= 1.0 && within(whole, 0.0) && is_size(whole as u64) {
        return Some(whole as u64);
    }
    // A few requests may be shorter than the other requests, or unfinished.
    let short = |size: u64| within(size as f64, 0.05 * size as f64);
    match stated {
        Some(stated) if !summed => Some(stated).filter(|s| short(*s)),
        _ => None,
    }
}

/// A size as fio parses it (parse.c): with `kb_base=1024`, `4k` and `4Ki` are 4096 and `4KiB` is 4000; with
/// `kb_base=1000`, the two meanings are swapped.
pub(super) fn stated(text: &str, thousand: bool) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().filter(|n| *n > 0);
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let suffix = suffix.trim();
    let power = match suffix.chars().next() {
        None | Some('b') => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some('p') => 5,
        Some(_) => return None,
    };
    if !["", "b", "i", "ib"].contains(&suffix.get(1..).unwrap_or("")) {
        return None;
    }
    let base: u64 = if suffix.ends_with("ib") != thousand { 1000 } else { 1024 };
    number.parse::<u64>().ok()?.checked_mul(base.pow(power)).filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{of_requests, stated};

    #[test]
    fn suffixes_are_fios() {
        // Tried with fio 3.33: io_bytes / total_ios of `--bs=` with either kb_base.
        for (text, by_1024, by_1000) in
            [("4k", 4096, 4000), ("4Ki", 4096, 4000), ("4kb", 4096, 4000), ("4KiB", 4000, 4096)]
        {
            assert_eq!((stated(text, false), stated(text, true)), (Some(by_1024), Some(by_1000)));
        }
        assert_eq!((stated("512", true), stated("1M", false)), (Some(512), Some(1 << 20)));
        assert_eq!(stated("0x1000", true), Some(4096));
        assert_eq!(
            (stated("4k-8k", false), stated("4q", false), stated("0", false)),
            (None, None, None)
        );
    }

    #[test]
    fn counts_decide_between_sizes() {
        let part = |bytes: u64, requests: u64| json!({"io_bytes": bytes, "io_kbytes": bytes / 1024, "total_ios": requests});
        // Stated and observed; stated differently; 69 started requests of which 68 completed.
        assert_eq!(of_requests(&part(4_096_000, 1000), Some(4096), false), Some(4096));
        assert_eq!(of_requests(&part(4_000_000, 1000), Some(4096), false), Some(4000));
        assert_eq!(of_requests(&part(278_528, 69), Some(4096), false), Some(4096));
        // 64 requests of 4 KiB and 32 of 8 KiB: 5461.3 bytes each. 6144 is the mean for equal numbers of both.
        assert_eq!(of_requests(&part(524_288, 96), Some(8192), false), None);
        assert_eq!(of_requests(&part(6_144_000, 1000), Some(8192), true), None);
        // fio 2 rounds to KiB: 1,000 512-byte requests are 500 KiB.
        let two = json!({"io_bytes": 500, "bw": 50, "runtime": 10_000, "total_ios": 1000});
        assert_eq!(of_requests(&two, None, false), Some(512));
    }
}
