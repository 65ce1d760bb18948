//! Parses values in the same way as fio: sizes, times, numbers, flags.

/// The number of bytes in a size in fio's units; `None` if the size is invalid.
///
/// By default, fio's `kb_base` is 1024. Then `4k`, `4K` and `4kb` are 4096 bytes but, contrary to the standard, `4KiB`
/// is 4000 bytes (HOWTO, "Parameter types"). With a `kb_base` of 1000, the two meanings are swapped.
pub(super) fn size(text: &str, kb_base: u64) -> Option<u64> {
    let (number, unit) = split(text)?;
    let unit = unit.to_ascii_lowercase();
    let (prefix, base) = match unit.strip_suffix("ib") {
        Some(prefix) if !prefix.is_empty() => (prefix, if kb_base == 1000 { 1024 } else { 1000 }),
        _ => (unit.strip_suffix('b').unwrap_or(&unit), kb_base),
    };
    let power = match prefix {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    number.checked_mul(base.checked_pow(power)?)
}

/// The number of seconds in a time; a number without a unit is in seconds.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "s" => 1.0,
        "us" | "usec" => 1e-6,
        "ms" | "msec" => 1e-3,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Some(number as f64 * factor)
}

/// An integer without a unit.
pub(super) fn count(text: &str) -> Option<u64> {
    split(text).filter(|(_, unit)| unit.is_empty()).map(|(number, _)| number)
}

/// An option without a value is set; with a value, `1` sets it and `0` clears it.
pub(super) fn flag(text: Option<&str>) -> Option<bool> {
    match text {
        None | Some("1") => Some(true),
        Some("0") => Some(false),
        Some(_) => None,
    }
}

fn split(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit))
}
