//! Workloads that differ in sizes only, by their labels.

/// A label without the parts that vary within a series: sizes, their units, and numbers.
///
/// `reread 512M/16M` is of the series `reread`, `sequential write 1 MiB QD8` of `sequential write`.
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

#[cfg(test)]
mod tests {
    use super::series_name;

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
    }
}
