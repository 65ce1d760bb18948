//! The bytes that a run writes, as a fraction of a drive's rated endurance.

use cryptbench_record::{Device, PlaceKind};

use crate::DryRun;

/// Rated endurance of a consumer SSD in bytes written per byte of its size. Samsung's data sheet of the 870 EVO
/// (2021) specifies 150 TB for 250 GB, and the same ratio up to 2,400 TB for 4 TB.
const RATED: f64 = 600.0;

/// The assumed size of a drive whose size is unknown, in bytes.
const USUAL: u64 = 1_000_000_000_000;

/// Minimum number of written bytes for which a note is always given.
const MUCH: u64 = 200_000_000_000;

/// States how much these runs write to one disk, if it is a large amount: more than a tenth of the disk, or 200 GB.
pub fn wear(runs: &[DryRun]) -> Option<String> {
    let first = runs.first()?;
    // Nothing wears out: the data is in memory, or a model is used instead of a disk.
    if first.place.contains(&PlaceKind::Memory) || first.is_emulated {
        return None;
    }
    let written =
        runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.forecast.bytes_written));
    said(written, first.disk.as_ref(), first.measured.is_some())
}

/// `is_measured`: an earlier run measured this disk. Otherwise the amount is that of an assumed speed.
fn said(written: u64, disk: Option<&Device>, is_measured: bool) -> Option<String> {
    let size = disk.map(|disk| disk.size_bytes).filter(|size| *size > 0);
    let is_much = written > MUCH || size.is_some_and(|size| written > size / 10);
    if !is_much {
        return None;
    }
    let of_disk =
        size.map_or(String::new(), |size| format!(", {}", times(written as f64 / size as f64)));
    let speed = if is_measured { "" } else { " at the speed of a SATA SSD" };
    let drive = size.unwrap_or(USUAL);
    let rated = drive as f64 * RATED;
    let this = if size.is_some() { "this size" } else { "1 TB" };
    Some(format!(
        "This plan writes {}{speed}{of_disk}. That is {} of the {} that an SSD of {this} is typically rated for (Samsung \
         870 EVO: 600 TB per TB). A shorter budget writes less.",
        decimal(written as f64),
        percent(written as f64 / rated),
        decimal(rated),
    ))
}

/// `29 % of the disk's size`, `7.3 times the disk's size`.
fn times(ratio: f64) -> String {
    match ratio {
        r if r < 0.995 => format!("{:.0} % of the disk's size", 100.0 * r),
        r if r < 9.95 => format!("{r:.1} times the disk's size"),
        r => format!("{r:.0} times the disk's size"),
    }
}

fn percent(ratio: f64) -> String {
    match 100.0 * ratio {
        p if p < 0.095 => format!("{p:.2} %"),
        p if p < 9.5 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// Decimal, as disks are sold: `3.7 TB`.
fn decimal(bytes: f64) -> String {
    let (value, unit) = match bytes {
        b if b >= 999.5e9 => (b / 1e12, "TB"),
        b if b >= 999.5e6 => (b / 1e9, "GB"),
        b => (b / 1e6, "MB"),
    };
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(size_bytes: u64) -> Device {
        Device {
            name: "sda".to_owned(),
            model: None,
            size_bytes,
            rotational: false,
            logical_block_size: 512,
            physical_block_size: 512,
            scheduler: String::new(),
            write_cache: String::new(),
        }
    }

    #[test]
    fn what_is_much_is_said_with_its_part_of_the_endurance() {
        let gb = 1_000_000_000;
        let small = disk(64 * gb);
        assert_eq!(said(6 * gb, Some(&small), true), None);
        assert_eq!(said(190 * gb, None, true), None);
        assert_eq!(said(199 * gb, Some(&disk(2000 * gb)), true), None);
        let said = [
            said(7 * gb, Some(&small), true),
            said(3700 * gb, Some(&disk(512 * gb)), false),
            said(210 * gb, Some(&disk(4000 * gb)), true),
            said(3700 * gb, None, false),
        ]
        .map(Option::unwrap);
        insta::assert_snapshot!(said.join("\n"), @"
        This plan writes 7.0 GB, 11 % of the disk's size. That is 0.02 % of the 38 TB that an SSD of this size is typically rated for (Samsung 870 EVO: 600 TB per TB). A shorter budget writes less.
        This plan writes 3.7 TB at the speed of a SATA SSD, 7.2 times the disk's size. That is 1.2 % of the 307 TB that an SSD of this size is typically rated for (Samsung 870 EVO: 600 TB per TB). A shorter budget writes less.
        This plan writes 210 GB, 5 % of the disk's size. That is 0.01 % of the 2400 TB that an SSD of this size is typically rated for (Samsung 870 EVO: 600 TB per TB). A shorter budget writes less.
        This plan writes 3.7 TB at the speed of a SATA SSD. That is 0.6 % of the 600 TB that an SSD of 1 TB is typically rated for (Samsung 870 EVO: 600 TB per TB). A shorter budget writes less.
        ");
    }
}
