//! The answer of `cryptbench ciphers`: which cipher to use, and which disks each cipher keeps up with. Fits on one
//! screen.

use cryptbench_answer::quantity::thousands;
use cryptbench_cipher::{CipherInfo, find, find_to_measure};
use cryptbench_microbench::cipher::{Common, INTERFACES, Speed, Speeds};
use cryptbench_runner::DiskRates;
use cryptbench_view::columns::bare;
use cryptbench_view::wrap;

use super::{rate, threads};

/// If there are more ciphers than this, the cascades are grouped.
const MOST_ROWS: usize = 10;

/// Minimum rate, in MB/s, of a drive that counts as NVMe.
const NVME: f64 = 3500.0;

/// Key size of a 256-bit cipher in bytes.
const STRONG: usize = 32;

/// One cipher, or a group of cascades.
struct Row<'a> {
    name: String,
    /// The lowest and the highest rate of the group for each sector size. A cipher's rate is that of its slower
    /// direction.
    rates: Vec<(f64, f64)>,
    ciphers: Vec<&'a str>,
}

impl Row<'_> {
    fn least(&self) -> f64 {
        self.rates.iter().map(|(low, _)| *low).fold(f64::INFINITY, f64::min)
    }

    fn is_cascade(&self) -> bool {
        self.ciphers.iter().any(|cipher| stages(cipher) > 1)
    }

    fn is_strong(&self) -> bool {
        // XTS uses two keys.
        let keys = |wide| if wide { 1 } else { 2 };
        let strong = |info: &CipherInfo| info.key_bytes >= keys(info.is_wide()) * STRONG;
        self.ciphers.iter().all(|name| find(name).is_ok_and(strong))
    }
}

/// Renders the answer in at most `width` columns, and in at most 24 lines even with all registered ciphers.
pub fn render(speeds: &Speeds, disk: Option<&DiskRates>, width: usize) -> String {
    let fewest = speeds.rows.iter().map(|row| row.threads).min().unwrap_or(1);
    let rows: Vec<&Speed> = speeds.rows.iter().filter(|row| row.threads == fewest).collect();
    let mut units: Vec<u32> = rows.iter().map(|row| row.data_unit).collect();
    units.sort_unstable();
    units.dedup();
    let table = grouped(&rows, &units);
    let cores = if fewest == 1 { "one core".to_owned() } else { threads(fewest) };
    let mut parts = vec![wrap(&headline(&table, &cores), "", "", width), String::new()];
    parts.push(drawn(&table, &units, &cores, width));
    let mut notes =
        "Each figure is the slower of encryption and decryption. * sector size".to_owned();
    if let Some(disk) = disk {
        notes = format!("{notes}. {}", of_disk(disk));
    }
    parts.push(wrap(&notes, "", "", width));
    parts.push(wrap(
        "cryptbench ciphers --full   (cascades, all cores, cipher code, spread)",
        "More   ",
        "       ",
        width,
    ));
    parts.join("\n")
}

/// One row per cipher. If there are too many ciphers, all cascades of two ciphers share a row, as do all cascades of
/// three. The fastest row comes first.
fn grouped<'a>(rows: &[&'a Speed], units: &[u32]) -> Vec<Row<'a>> {
    let mut ciphers: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        if !ciphers.contains(&(row.cipher, row.label)) {
            ciphers.push((row.cipher, row.label));
        }
    }
    let many = ciphers.len() > MOST_ROWS;
    let name = |cipher: &str, label: &str| match (many, stages(cipher)) {
        (true, 2) => "Cascades of two".to_owned(),
        (true, n) if n > 2 => "Cascades of three".to_owned(),
        _ => plain(label),
    };
    let slower = |cipher: &str, unit: u32| {
        let own = rows.iter().find(|row| row.cipher == cipher && row.data_unit == unit);
        own.map(|row| row.encrypt.mb_s.min(row.decrypt.mb_s))
    };
    let mut table: Vec<Row<'_>> = Vec::new();
    for (cipher, label) in &ciphers {
        let name = name(cipher, label);
        match table.iter_mut().find(|row| row.name == name) {
            Some(row) => row.ciphers.push(cipher),
            None => table.push(Row { name, rates: Vec::new(), ciphers: vec![cipher] }),
        }
    }
    for row in &mut table {
        for unit in units {
            let rates = || row.ciphers.iter().filter_map(|cipher| slower(cipher, *unit));
            row.rates.push((rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max)));
        }
    }
    table.sort_by(|a, b| b.least().total_cmp(&a.least()));
    table
}

/// Number of ciphers that are applied in sequence: more than one only for a cascade.
fn stages(cipher: &str) -> usize {
    find_to_measure(cipher).map_or(1, CipherInfo::stages)
}

/// Shortens a label: leaves out the mode that nearly all ciphers have, and an uninformative key size or part. For
/// example, `Serpent-256-XTS` becomes `Serpent`.
fn plain(label: &str) -> String {
    let name = label.strip_suffix("-XTS").unwrap_or(label);
    match name.strip_suffix("-256").or_else(|| name.strip_suffix("-XChaCha12")) {
        Some(short) if short != "AES" => short.to_owned(),
        _ => name.to_owned(),
    }
}

/// The fastest 256-bit cipher, and whether another cipher keeps up with fast drives.
fn headline(table: &[Row<'_>], cores: &str) -> String {
    let mut strong: Vec<&Row<'_>> =
        table.iter().filter(|row| !row.is_cascade() && row.is_strong()).collect();
    if strong.is_empty() {
        strong = table.iter().collect();
    }
    strong.sort_by(|a, b| b.least().total_cmp(&a.least()));
    let Some((first, others)) = strong.split_first() else {
        return "No cipher was measured.".to_owned();
    };
    let speed = format!("{cores} encrypts {}", gigabytes(first.least()));
    let reach = match keeps_up_with(first.least()) {
        Some((common, _)) => format!(", more than {} reads", drive(common)),
        None => ", less than any common disk reads".to_owned(),
    };
    if others.is_empty() {
        return format!("{}: {speed}{reach}.", first.name);
    }
    let keeping: Vec<&str> =
        others.iter().filter(|row| row.least() >= NVME).map(|row| row.name.as_str()).collect();
    let rest = match keeping[..] {
        _ if first.least() < NVME => String::new(),
        [] => format!(" No other 256-bit cipher keeps up with NVMe on {cores}."),
        [one] => format!(" {one} also keeps up with NVMe (PCIe 3)."),
        ref several => format!(" {} also keep up with NVMe (PCIe 3).", several.join(", ")),
    };
    format!("Use {}: {speed}{reach}.{rest}", first.name)
}

/// `9.1 GB/s`, `450 MB/s`.
fn gigabytes(mb_s: f64) -> String {
    match mb_s {
        _ if mb_s >= 999.5 => format!("{:.1} GB/s", mb_s / 1000.0),
        _ => format!("{} MB/s", rate(mb_s)),
    }
}

/// The fastest interface that a cipher with this rate keeps up with.
fn keeps_up_with(mb_s: f64) -> Option<(Common, f64)> {
    INTERFACES.iter().copied().rev().find(|(_, needed)| mb_s >= *needed)
}

/// An interface's name in a table.
fn kind(common: Common) -> &'static str {
    match common {
        Common::Sata3 => "SATA SSD",
        Common::Pcie3 => "NVMe, PCIe 3",
        Common::Pcie4 => "NVMe, PCIe 4",
        Common::HardDisk | Common::Usb31Gen1 | Common::Usb31Gen2 => common.name(),
    }
}

/// The interface's name in a sentence.
fn drive(common: Common) -> String {
    match common {
        Common::Sata3 => "a SATA SSD".to_owned(),
        Common::HardDisk => "a hard disk".to_owned(),
        Common::Pcie3 => "a PCIe 3 NVMe drive".to_owned(),
        Common::Pcie4 => "a PCIe 4 NVMe drive".to_owned(),
        Common::Usb31Gen1 | Common::Usb31Gen2 => format!("a {} drive", common.name()),
    }
}

fn of_disk(disk: &DiskRates) -> String {
    let parts = [("reads", disk.read_mb_s), ("writes", disk.write_mb_s)];
    let known = parts
        .iter()
        .filter_map(|(verb, rate)| rate.map(|mb_s| format!("{verb} {} MB/s", self::rate(mb_s))));
    format!(
        "The disk that holds this directory ({}) {}.",
        disk.device,
        known.collect::<Vec<_>>().join(" and ")
    )
}

fn drawn(table: &[Row<'_>], units: &[u32], cores: &str, width: usize) -> String {
    let mut headings = vec![format!("MB/s on {cores}, RAM")];
    headings.extend(units.iter().map(|unit| format!("{unit} B*")));
    headings.push("fast enough for (MB/s)".to_owned());
    // Each interface is printed with its rate when it is first mentioned.
    let mut named: Vec<Common> = Vec::new();
    let mut rows = Vec::new();
    for row in table {
        let mut fields = vec![row.name.clone()];
        fields.extend(row.rates.iter().map(|(low, high)| match row.ciphers.len() {
            1 => rate(*low),
            _ => format!("{}-{}", rate(*low), rate(*high)),
        }));
        fields.push(match keeps_up_with(row.least()) {
            None => "no common disk".to_owned(),
            Some((common, _)) if named.contains(&common) => kind(common).to_owned(),
            Some((common, needed)) => {
                named.push(common);
                format!("{} ({})", kind(common), thousands(needed))
            }
        });
        rows.push(fields);
    }
    let last = headings.len() - 1;
    bare(headings, rows, last, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ciphers_are_called_as_people_call_them() {
        assert_eq!(
            ["AES-256-XTS", "Serpent-256-XTS", "Adiantum-XChaCha12", "AES-256-CBC"].map(plain),
            ["AES-256", "Serpent", "Adiantum", "AES-256-CBC"]
        );
        assert_eq!(
            [Common::Sata3, Common::Pcie4, Common::Usb31Gen2].map(kind),
            ["SATA SSD", "NVMe, PCIe 4", "USB 3.1 Gen 2"]
        );
        assert_eq!(drive(Common::Pcie4), "a PCIe 4 NVMe drive");
    }

    #[test]
    fn a_rate_suffices_for_what_is_no_faster() {
        assert_eq!(keeps_up_with(7000.0).map(|(name, _)| name), Some(Common::Pcie4));
        assert_eq!(keeps_up_with(6999.0).map(|(name, _)| name), Some(Common::Pcie3));
        assert_eq!(keeps_up_with(1.0), None);
    }
}
