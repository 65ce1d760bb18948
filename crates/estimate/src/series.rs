//! Workloads whose labels show that they differ only in sizes.

/// A label without the parts that vary within a series: sizes, their units, and numbers.
///
/// `reread 512M/16M` belongs to the series `reread`, and `sequential write 1 MiB QD8` belongs to `sequential write`.
pub fn series_name(label: &str) -> String {
    let is_unit = |word: &str| {
        matches!(
            word,
            "B" | "KB" | "MB" | "GB" | "KiB" | "MiB" | "GiB" | "K" | "M" | "G" | "/" | "x"
        )
    };
    let words: Vec<&str> = label
        .split_whitespace()
        .filter(|word| !word.bytes().any(|b| b.is_ascii_digit()) && !is_unit(word))
        .collect();
    if words.is_empty() { label.to_owned() } else { words.join(" ") }
}

/// An identifier without the parts that contain numbers: `rand-read-4k-q32` belongs to the series `rand-read`.
pub fn series_of(id: &str) -> String {
    let has_number = |part: &str| part.bytes().any(|b| b.is_ascii_digit());
    let parts: Vec<&str> = id.split('-').filter(|part| !has_number(part)).collect();
    if parts.is_empty() { id.to_owned() } else { parts.join("-") }
}

#[cfg(test)]
mod tests {
    use super::{series_name, series_of};

    #[test]
    fn a_series_is_a_label_without_its_numbers() {
        for (label, series) in [
            ("reread 512M/16M", "reread"),
            ("record rewrite 64K/4K", "record rewrite"),
            ("sequential write 1 MiB QD8", "sequential write"),
            ("write 512 B", "write"),
            ("4K", "4K"),
        ] {
            assert_eq!(series_name(label), series);
        }
        assert_eq!(["rand-read-4k-q32", "4k"].map(series_of), ["rand-read", "4k"]);
    }
}
