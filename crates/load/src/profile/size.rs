//! Sizes as people write them: `4KiB`, `1 MiB`, `512`.

/// Bytes of a size; `None` when it is none.
///
/// Only binary units are accepted: `KB` and `MB` mean 1000 to some and 1024 to others.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::parse_size;

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
        fn whole_kibibytes_survive(n in 0u64..1 << 50) {
            prop_assert_eq!(parse_size(&format!("{n}KiB")), Some(n << 10));
        }
    }
}
