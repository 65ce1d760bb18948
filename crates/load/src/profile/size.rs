//! Sizes as people write them: `4KiB`, `1 MiB`, `512`.

/// The number of bytes in a size; `None` if the text is not a size.
///
/// Only binary units are accepted, because the meaning of `KB` and `MB` is ambiguous (1000 or 1024).
pub(super) fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim_start() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// Formats a size with the largest binary unit in which the size is an integer: `64 KiB`.
pub(super) fn format_size(bytes: u64) -> String {
    let (number, unit) = in_unit(bytes);
    format!("{number} {}", if unit.is_empty() { "B".to_owned() } else { format!("{unit}iB") })
}

/// Like [`format_size`], but as short as possible: `64K`, `512`.
pub(super) fn short_size(bytes: u64) -> String {
    let (number, unit) = in_unit(bytes);
    format!("{number}{unit}")
}

fn in_unit(bytes: u64) -> (u64, &'static str) {
    for (shift, unit) in [(30, "G"), (20, "M"), (10, "K")] {
        if bytes > 0 && bytes.trailing_zeros() >= shift {
            return (bytes >> shift, unit);
        }
    }
    (bytes, "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{format_size, parse_size, short_size};

    #[test]
    fn sizes_are_written_in_their_largest_whole_unit() {
        for (bytes, long, short) in [
            (0, "0 B", "0"),
            (512, "512 B", "512"),
            (1536, "1536 B", "1536"),
            (1 << 10, "1 KiB", "1K"),
            (12 << 20, "12 MiB", "12M"),
            (1 << 30, "1 GiB", "1G"),
        ] {
            assert_eq!((format_size(bytes).as_str(), short_size(bytes).as_str()), (long, short));
        }
    }

    #[test]
    fn known_sizes() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("512B", 512),
            ("4KiB", 4096),
            (" 1 MiB ", 1 << 20),
            ("2GiB", 2 << 30),
        ] {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        for text in ["", "KiB", "-1", "4KB", "4kib", "1.5MiB", "99999999999999999999", "1 Mi B"] {
            assert!(parse_size(text).is_none(), "{text}");
        }
        assert!(parse_size(&format!("{}GiB", u64::MAX)).is_none());
    }

    proptest! {
        #[test]
        fn never_panics(text: String) {
            let _ = parse_size(&text);
        }

        #[test]
        fn what_is_written_is_read(bytes: u64) {
            prop_assert_eq!(parse_size(&format_size(bytes)), Some(bytes));
        }

        #[test]
        fn whole_kibibytes_survive(n in 0u64..1 << 50) {
            prop_assert_eq!(parse_size(&format!("{n}KiB")), Some(n << 10));
        }
    }
}
