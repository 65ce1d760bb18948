//! The storage under the target (Linux: mountinfo and /sys).

mod block;
pub(crate) mod emulate;
mod existing;
mod pair;
mod places;
mod refusal;
mod seclusion;
mod site;
mod stretch;
mod uses;

pub use emulate::EmulateRequest;
pub(crate) use emulate::Emulation;
pub use existing::Consent;
pub(crate) use places::{Places, containers, makes_a_disk};
pub(crate) use site::Site;
pub(crate) use stretch::Stretch;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Bytes for people, in binary units.
pub fn human(bytes: u64) -> String {
    let (value, unit) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..MIB => (bytes as f64 / 1024.0, "KiB"),
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
