//! Formats sizes for users.

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// A number of bytes in binary units.
pub fn human(bytes: u64) -> String {
    let (value, unit) = match bytes {
        0..KIB => return format!("{bytes} B"),
        KIB..MIB => (bytes as f64 / KIB as f64, "KiB"),
        MIB..GIB => (bytes as f64 / MIB as f64, "MiB"),
        _ => (bytes as f64 / GIB as f64, "GiB"),
    };
    let digits = if value < 10.0 && value.fract() > 0.05 { 1 } else { 0 };
    format!("{value:.digits$} {unit}")
}

/// Two sizes, of which the first is larger, in words that differ: if [`human`] rounds both alike, they are given in MiB or bytes.
pub fn human_both(larger: u64, smaller: u64) -> (String, String) {
    let (one, other) = (human(larger), human(smaller));
    if one != other {
        return (one, other);
    }
    let (one, other) = (larger.div_ceil(MIB), smaller / MIB);
    if smaller >= GIB && one != other {
        (format!("{one} MiB"), format!("{other} MiB"))
    } else {
        (format!("{larger} B"), format!("{smaller} B"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(human(512), "512 B");
        assert_eq!(human(4096), "4 KiB");
        assert_eq!(human(3 * GIB / 2), "1.5 GiB");
        assert_eq!(human(256 * GIB), "256 GiB");
    }

    #[test]
    fn two_sizes_that_round_alike_are_told_apart() {
        let both = |x, y| {
            let (x, y) = human_both(x, y);
            format!("{x} {y}")
        };
        assert_eq!(both(3 * GIB / 2, GIB), "1.5 GiB 1 GiB");
        assert_eq!(both(GIB + 40 * MIB, GIB + 20 * MIB), "1064 MiB 1044 MiB");
        assert_eq!(both(GIB + 5, GIB + 4), "1025 MiB 1024 MiB");
        assert_eq!(both(4097, 4096), "4097 B 4096 B");
    }
}
