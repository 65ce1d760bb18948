//! Numbers and sizes in the notation of other programs.

/// Parses a decimal number with a point or a comma. Digit grouping is not supported: `1,234` means 1.234, because none
/// of the supported programs groups digits.
pub fn decimal(text: &str) -> Option<f64> {
    let number: f64 = text.trim().replace(',', ".").parse().ok()?;
    number.is_finite().then_some(number)
}

/// A positive number.
pub fn positive(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then_some(value)
}

/// Parses fio's `bs=`, such as `4k`, `1m`, `4096` or `4KiB`; suffixes are powers of 1024 (the
/// default, `kb_base` of 1024).
pub fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let shift = match suffix.trim() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift).filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use super::{decimal, size};

    #[test]
    fn numbers_and_sizes() {
        assert_eq!(decimal("2,5"), Some(2.5));
        assert_eq!(decimal("3.142e-05"), Some(3.142e-5));
        assert_eq!((decimal("inf"), decimal("1,2,3"), decimal("")), (None, None, None));
        assert_eq!(size("4k"), Some(4096));
        assert_eq!((size("1MiB"), size("512")), (Some(1 << 20), Some(512)));
        assert_eq!((size("0"), size("4k-8k"), size("99999999999g")), (None, None, None));
    }
}
