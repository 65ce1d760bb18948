//! The partitions of a disk: MBR with logical partitions, and GPT.

use cryptbench_blockdev::{BlockDevice, Extent, read_bytes};

use crate::VolumeError;

/// A partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its number, as Linux counts them.
    pub number: u32,
    /// Its bytes.
    pub extent: Extent,
}

/// Sectors that partition tables count in.
const SECTORS: [u64; 2] = [512, 4096];

/// Most entries of a GPT that are read; 128 are usual.
const MOST_ENTRIES: u32 = 1024;

/// Most logical partitions that are followed.
const MOST_LOGICAL: u32 = 128;

/// The partitions on `device`, by their numbers; none if it has no partition table.
///
/// # Errors
/// [`VolumeError::Io`].
pub fn partitions(device: &dyn BlockDevice) -> Result<Vec<Partition>, VolumeError> {
    for sector in SECTORS {
        if let Some(found) = gpt(device, sector)? {
            return Ok(found);
        }
    }
    mbr(device)
}

/// The bytes of partition `number`.
///
/// # Errors
/// [`VolumeError::Invalid`], which lists the partitions, if there is none of that number.
pub fn partition(device: &dyn BlockDevice, number: u32) -> Result<Extent, VolumeError> {
    let all = partitions(device)?;
    let found = all.iter().find(|partition| partition.number == number);
    found.map(|partition| partition.extent).ok_or_else(|| {
        let numbers: Vec<String> = all.iter().map(|found| found.number.to_string()).collect();
        VolumeError::Invalid(match numbers.as_slice() {
            [] => "it has no partition table that this program knows".to_owned(),
            all => format!("it has no partition {number}, but {}", all.join(", ")),
        })
    })
}

fn read(device: &dyn BlockDevice, at: u64, len: u64) -> Result<Option<Vec<u8>>, VolumeError> {
    if at.checked_add(len).is_none_or(|end| end > device.size()) {
        return Ok(None);
    }
    let read = read_bytes(device, at..at + len);
    read.map(Some).map_err(VolumeError::io("reading the partition table"))
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + N].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// UEFI specification 2.10, 5.3.
fn gpt(device: &dyn BlockDevice, sector: u64) -> Result<Option<Vec<Partition>>, VolumeError> {
    let Some(header) = read(device, sector, 512)? else { return Ok(None) };
    if !header.starts_with(b"EFI PART") {
        return Ok(None);
    }
    let (table, count, len) =
        (number::<8>(&header, 72), number::<4>(&header, 80) as u32, number::<4>(&header, 84));
    let count = count.min(MOST_ENTRIES);
    if !(128..=4096).contains(&len) {
        return Ok(Some(Vec::new()));
    }
    let mut found = Vec::new();
    for index in 0..count {
        let at = table.saturating_mul(sector).saturating_add(u64::from(index) * len);
        let Some(entry) = read(device, at, 128)? else { break };
        let (first, last) = (number::<8>(&entry, 32), number::<8>(&entry, 40));
        if entry[..16] == [0; 16] || first == 0 || last < first {
            continue;
        }
        let sectors = (last - first).saturating_add(1);
        found.extend(within(device, index + 1, first, sectors, sector));
    }
    Ok(Some(found))
}

fn mbr(device: &dyn BlockDevice) -> Result<Vec<Partition>, VolumeError> {
    let Some(first) = read(device, 0, 512)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (number, entry) in (1..).zip(entries(&first)) {
        match entry {
            Some(Entry { extended: true, first, .. }) => logical(device, first, &mut found)?,
            Some(entry) => {
                found.extend(within(device, number, entry.first, entry.sectors, SECTORS[0]));
            }
            None => {}
        }
    }
    found.sort_by_key(|partition: &Partition| partition.number);
    Ok(found)
}

/// The chain of records in an extended partition, each with one partition and the next record.
fn logical(
    device: &dyn BlockDevice,
    start: u64,
    found: &mut Vec<Partition>,
) -> Result<(), VolumeError> {
    let mut at = start;
    for number in 5..5 + MOST_LOGICAL {
        let Some(record) = read(device, at * SECTORS[0], 512)? else { return Ok(()) };
        let mut next = None;
        for entry in entries(&record).into_iter().flatten() {
            if entry.extended {
                next = Some(start + entry.first);
            } else {
                let first = at + entry.first;
                found.extend(within(device, number, first, entry.sectors, SECTORS[0]));
            }
        }
        match next {
            Some(next) if next > at => at = next,
            _ => return Ok(()),
        }
    }
    Ok(())
}

/// An entry of a master boot record that is in use.
struct Entry {
    extended: bool,
    first: u64,
    sectors: u64,
}

fn entries(record: &[u8]) -> [Option<Entry>; 4] {
    let signed = record[510..] == [0x55, 0xaa];
    std::array::from_fn(|index| {
        let entry = &record[446 + 16 * index..462 + 16 * index];
        let (kind, first, sectors) = (entry[4], number::<4>(entry, 8), number::<4>(entry, 12));
        let extended = matches!(kind, 0x05 | 0x0f | 0x85);
        (signed && kind != 0 && sectors != 0).then_some(Entry { extended, first, sectors })
    })
}

/// The partition, cut at the end of the device as a copy of a disk can be; `None` if it begins beyond.
fn within(
    device: &dyn BlockDevice,
    number: u32,
    first: u64,
    sectors: u64,
    sector: u64,
) -> Option<Partition> {
    let offset = first.checked_mul(sector)?;
    let left = device.size().checked_sub(offset).filter(|left| *left > 0)?;
    let len = sectors.saturating_mul(sector).min(left);
    Some(Partition { number, extent: Extent { offset, len } })
}

#[cfg(test)]
mod tests {
    use cryptbench_blockdev::{MemoryDevice, write_bytes};

    use super::*;

    fn entry(kind: u8, first: u32, sectors: u32) -> [u8; 16] {
        let mut entry = [0; 16];
        entry[4] = kind;
        entry[8..12].copy_from_slice(&first.to_le_bytes());
        entry[12..].copy_from_slice(&sectors.to_le_bytes());
        entry
    }

    fn record(device: &MemoryDevice, sector: u64, all: &[[u8; 16]]) {
        let mut record = [0; 512];
        record[446..446 + 16 * all.len()].copy_from_slice(all.as_flattened());
        record[510..].copy_from_slice(&[0x55, 0xaa]);
        write_bytes(device, sector * 512, &record).unwrap();
    }

    fn found(device: &MemoryDevice) -> Vec<(u32, u64, u64)> {
        let all = partitions(device).unwrap();
        all.iter().map(|p| (p.number, p.extent.offset / 512, p.extent.len / 512)).collect()
    }

    #[test]
    fn primary_and_logical_partitions_are_numbered_as_linux_does() {
        let device = MemoryDevice::new(vec![0; 1 << 20]);
        assert_eq!(found(&device), []);
        record(&device, 0, &[entry(0x83, 8, 16), entry(0x05, 100, 400), entry(0x07, 600, 9000)]);
        record(&device, 100, &[entry(0x83, 2, 10), entry(0x05, 50, 60)]);
        record(&device, 150, &[entry(0x83, 2, 20)]);
        assert_eq!(found(&device), [(1, 8, 16), (3, 600, 2048 - 600), (5, 102, 10), (6, 152, 20)]);
        // A chain that leads back ends.
        record(&device, 150, &[entry(0x83, 2, 20), entry(0x05, 0, 60)]);
        assert_eq!(found(&device).len(), 4);
        assert!(partition(&device, 2).unwrap_err().to_string().contains("1, 3, 5, 6"));
    }

    #[test]
    fn gpt_of_either_sector_size() {
        for sector in SECTORS {
            let device = MemoryDevice::new(vec![0; 1 << 20]);
            record(&device, 0, &[entry(0xee, 1, 2047)]);
            let mut header = [0; 512];
            header[..8].copy_from_slice(b"EFI PART");
            header[72..80].copy_from_slice(&2_u64.to_le_bytes());
            header[80..84].copy_from_slice(&4_u32.to_le_bytes());
            header[84..88].copy_from_slice(&128_u32.to_le_bytes());
            write_bytes(&device, sector, &header).unwrap();
            let mut entry = [0; 128];
            entry[0] = 1;
            entry[32..40].copy_from_slice(&8_u64.to_le_bytes());
            entry[40..48].copy_from_slice(&15_u64.to_le_bytes());
            write_bytes(&device, 2 * sector + 128, &entry).unwrap();
            let extent = Extent { offset: 8 * sector, len: 8 * sector };
            assert_eq!(partitions(&device).unwrap(), [Partition { number: 2, extent }]);
        }
    }
}
