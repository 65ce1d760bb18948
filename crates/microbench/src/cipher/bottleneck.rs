//! Relates cipher speeds to disks: which cipher keeps up with which disk, with one thread or only with all threads.

use super::Speed;

/// The transfer direction of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Both directions: the slower of encryption and decryption must keep up.
    Both,
    /// Reading, which decrypts.
    Reading,
    /// Writing, which encrypts.
    Writing,
}

/// An interface with its data rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// Name, such as `SATA 3`.
    pub name: String,
    /// Payload rate in MB/s (10^6 bytes per second).
    pub mb_s: f64,
    /// The direction in which the rate was specified or measured.
    pub direction: Direction,
}

/// Typical payload rates in MB/s, slowest first: the sequential speed of good disks behind these interfaces, after line
/// coding (8b/10b for USB 3.1 Gen 1 and SATA, 128b/132b for Gen 2, 128b/130b for PCIe) and protocol overhead. The rate
/// for a hard disk is that of its outer tracks.
pub const INTERFACES: [(Common, f64); 6] = [
    (Common::HardDisk, 250.0),
    (Common::Usb31Gen1, 450.0),
    (Common::Sata3, 560.0),
    (Common::Usb31Gen2, 1060.0),
    (Common::Pcie3, 3500.0),
    (Common::Pcie4, 7000.0),
];

/// A common disk or interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Common {
    /// A hard disk on any interface.
    HardDisk,
    /// USB with 5 Gbit/s.
    Usb31Gen1,
    /// SATA with 6 Gbit/s.
    Sata3,
    /// USB with 10 Gbit/s.
    Usb31Gen2,
    /// NVMe with four lanes of PCIe 3.
    Pcie3,
    /// NVMe with four lanes of PCIe 4.
    Pcie4,
}

impl Common {
    /// Its name, such as `SATA 3`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HardDisk => "hard disk",
            Self::Usb31Gen1 => "USB 3.1 Gen 1",
            Self::Sata3 => "SATA 3",
            Self::Usb31Gen2 => "USB 3.1 Gen 2",
            Self::Pcie3 => "PCIe 3.0 x4",
            Self::Pcie4 => "PCIe 4.0 x4",
        }
    }
}

/// The ciphers that keep up with one interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// The interface.
    pub interface: Interface,
    /// For each measured number of threads, ascending: the ciphers that keep up with this number of threads but not
    /// with fewer threads, with the fastest first. The name includes the data unit if the units differ.
    pub keep_up: Vec<(usize, Vec<String>)>,
    /// Ciphers that do not keep up with any of the measured numbers of threads.
    pub too_slow: Vec<String>,
}

/// The bottleneck for one interface. Omits ciphers that were measured only with other numbers of
/// threads.
pub fn bottleneck(rows: &[Speed], interface: Interface) -> Bottleneck {
    let rate = |row: &Speed| match interface.direction {
        Direction::Both => row.encrypt.mb_s.min(row.decrypt.mb_s),
        Direction::Reading => row.decrypt.mb_s,
        Direction::Writing => row.encrypt.mb_s,
    };
    let mut threads: Vec<_> = rows.iter().map(|r| r.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    // The smallest sufficient number of threads; `None` if no measured number suffices.
    let needed = |cipher: &str, unit: u32| {
        let own = || rows.iter().filter(|r| r.cipher == cipher && r.data_unit == unit);
        own().filter(|r| rate(r) >= interface.mb_s).map(|r| r.threads).min()
    };
    let mut found: Vec<(Option<usize>, String)> = Vec::new();
    let fewest = threads.first().copied().unwrap_or(1);
    for row in super::by_mean(rows, fewest) {
        let need = needed(row.cipher, row.data_unit);
        let mut units = rows.iter().filter(|r| r.cipher == row.cipher).map(|r| r.data_unit);
        let name = match units.all(|unit| needed(row.cipher, unit) == need) {
            true => row.label.to_owned(),
            false => format!("{} ({} B)", row.label, row.data_unit),
        };
        if !found.contains(&(need, name.clone())) {
            found.push((need, name));
        }
    }
    let with = |need: Option<usize>| -> Vec<String> {
        found.iter().filter(|(n, _)| *n == need).map(|(_, name)| name.clone()).collect()
    };
    Bottleneck {
        keep_up: threads.iter().map(|&n| (n, with(Some(n)))).collect(),
        too_slow: with(None),
        interface,
    }
}

#[cfg(test)]
mod tests {
    use super::super::throughput::tests::row;
    use super::*;

    fn at(mb_s: f64, direction: Direction) -> Interface {
        Interface { name: "a disk".to_owned(), mb_s, direction }
    }

    fn rows() -> Vec<Speed> {
        vec![
            row("slow", 512, 1, (90.0, 110.0)),
            row("slow", 512, 4, (360.0, 440.0)),
            row("slow", 4096, 1, (95.0, 115.0)),
            row("slow", 4096, 4, (410.0, 460.0)),
            row("fast", 512, 1, (900.0, 500.0)),
            row("fast", 512, 4, (3600.0, 2000.0)),
        ]
    }

    #[test]
    fn the_slower_direction_decides() {
        let m = bottleneck(&rows(), at(100.0, Direction::Both));
        let names = |n: &[&str]| n.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(m.keep_up, [(1, names(&["fast"])), (4, names(&["slow"]))]);
        assert!(m.too_slow.is_empty());
        // Reading decrypts, writing encrypts.
        let m = bottleneck(&rows(), at(800.0, Direction::Reading));
        assert_eq!(m.keep_up, [(1, vec![]), (4, names(&["fast"]))]);
        assert_eq!(m.too_slow, ["slow"]);
        let m = bottleneck(&rows(), at(800.0, Direction::Writing));
        assert_eq!(m.keep_up[0].1, ["fast"]);
    }

    #[test]
    fn data_units_are_named_where_they_differ() {
        let m = bottleneck(&rows(), at(400.0, Direction::Both));
        assert_eq!(m.keep_up[1].1, ["slow (4096 B)"]);
        assert_eq!(m.too_slow, ["slow (512 B)"]);
    }

    #[test]
    fn a_rate_that_is_just_reached_is_reached() {
        let m = bottleneck(&rows(), at(500.0, Direction::Both));
        assert_eq!(m.keep_up[0].1, ["fast"]);
        assert_eq!(bottleneck(&[], at(1.0, Direction::Both)).too_slow, Vec::<String>::new());
    }
}
