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
}
