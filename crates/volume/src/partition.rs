//! The partitions of a disk: GPT, MBR with logical partitions, and Apple's map.

use std::collections::BTreeSet;

use cryptbench_blockdev::{BlockDevice, Extent, MemoryDevice, read_bytes};

use crate::VolumeError;
use crate::detect::{Kind, detect};

/// A partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its number in Linux.
    pub number: u32,
    /// Its bytes.
    pub extent: Extent,
}

/// Sector sizes that partition tables use as their unit.
const SECTORS: [u64; 2] = [512, 4096];

/// Maximum number of entries of a GPT or an Apple partition map that are read; usually there are 128.
const MOST_ENTRIES: u32 = 1024;

/// Number of bytes at the start of a partition that are examined for contents.
const BEGINNING: u64 = 128 << 10;

/// The number of the first logical partition.
const FIRST_LOGICAL: u32 = 5;

/// Maximum number of logical partitions that are followed.
const MOST_LOGICAL: u32 = 128;

/// The type of the master boot record entry that represents a GPT.
const PROTECTIVE: u8 = 0xee;

/// The partitions on `device`, with their numbers; empty if it has no partition table.
///
/// # Errors
/// [`VolumeError::Io`].
pub fn partitions(device: &dyn BlockDevice) -> Result<Vec<Partition>, VolumeError> {
    for sector in SECTORS {
        if let Some(found) = gpt(device, sector)? {
            return Ok(found);
        }
    }
    let found = mbr(device)?;
    if found.is_empty() { apple(device) } else { Ok(found) }
}

/// The bytes of partition `number`.
///
/// # Errors
/// [`VolumeError::Invalid`] with a list of the partitions, if none has this number.
pub fn partition(device: &dyn BlockDevice, number: u32) -> Result<Extent, VolumeError> {
    let all = partitions(device)?;
    let found = all.iter().find(|partition| partition.number == number);
    found.map(|partition| partition.extent).ok_or_else(|| {
        let numbers: Vec<String> = all.iter().map(|found| found.number.to_string()).collect();
        VolumeError::Invalid(match numbers.as_slice() {
            [] => "it has no partition table that this program supports".to_owned(),
            all => format!("it has no partition {number}, only {}", all.join(", ")),
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

/// The partitions of a GPT (UEFI specification 2.10, 5.3). A GPT without a protective entry in the master boot
/// record is left over from an earlier use; Linux ignores it as well (block/partitions/efi.c).
fn gpt(device: &dyn BlockDevice, sector: u64) -> Result<Option<Vec<Partition>>, VolumeError> {
    let protects = |entry: &Entry| entry.kind == PROTECTIVE && entry.first == 1;
    let record = read(device, 0, 512)?;
    if !record.is_some_and(|record| entries(&record).iter().flatten().any(protects)) {
        return Ok(None);
    }
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

/// A master boot record does not state whether its disk has 512-byte or 4096-byte sectors, and neither does a
/// copy of a disk. The sector size is therefore inferred from the contents at the start of the partitions.
fn mbr(device: &dyn BlockDevice) -> Result<Vec<Partition>, VolumeError> {
    let small = mbr_in(device, SECTORS[0])?;
    let large = mbr_in(device, SECTORS[1])?;
    if large.is_empty() || device.sector() as u64 == SECTORS[1] {
        return Ok(if large.is_empty() { small } else { large });
    }
    let (in_small, in_large) = (begun(device, &small)?, begun(device, &large)?);
    let is_large = in_large.known > in_small.known
        || in_small.known + in_small.others == 0
            && in_large.others > 0
            && large.len() == small.len();
    Ok(if is_large { large } else { small })
}

/// Number of partitions with any contents at their start.
#[derive(Default)]
struct Begun {
    known: usize,
    /// With random or unknown contents, which may be encrypted.
    others: usize,
}

fn begun(device: &dyn BlockDevice, all: &[Partition]) -> Result<Begun, VolumeError> {
    let mut begun = Begun::default();
    for Partition { extent, .. } in all {
        let Some(bytes) = read(device, extent.offset, extent.len.min(BEGINNING))? else { continue };
        match detect(&MemoryDevice::new(bytes))?.kind {
            Kind::Zeros | Kind::Unreadable => {}
            Kind::Random { .. } | Kind::Unknown { .. } => begun.others += 1,
            _ => begun.known += 1,
        }
    }
    Ok(begun)
}

/// The partitions of a master boot record in units of this sector size.
fn mbr_in(device: &dyn BlockDevice, sector: u64) -> Result<Vec<Partition>, VolumeError> {
    let Some(first) = read(device, 0, 512)? else { return Ok(Vec::new()) };
    let (mut found, mut next) = (Vec::new(), FIRST_LOGICAL);
    for (number, entry) in (1..).zip(entries(&first)) {
        match entry {
            Some(entry) if entry.is_extended() => {
                logical(device, sector, &entry, &mut next, &mut found)?;
            }
            Some(entry) => {
                found.extend(within(device, number, entry.first, entry.sectors, sector));
            }
            None => {}
        }
    }
    found.sort_by_key(|partition: &Partition| partition.number);
    Ok(found)
}

/// The partitions in the chain of records of an extended partition. Each record usually has one partition and a
/// link to the next record. `number`, the number of the next partition, continues across extended partitions
/// (Linux, block/partitions/msdos.c).
fn logical(
    device: &dyn BlockDevice,
    sector: u64,
    whole: &Entry,
    number: &mut u32,
    found: &mut Vec<Partition>,
) -> Result<(), VolumeError> {
    let end = whole.first + whole.sectors;
    let (mut at, mut sectors) = (whole.first, whole.sectors);
    let mut seen = BTreeSet::new();
    while seen.insert(at) && seen.len() <= MOST_LOGICAL as usize {
        let Some(record) = read(device, at * sector, 512)? else { return Ok(()) };
        let entries = entries(&record);
        for (index, entry) in entries.iter().enumerate() {
            let Some(entry) = entry.as_ref().filter(|entry| !entry.is_extended()) else { continue };
            let first = at + entry.first;
            // The third and the fourth entry can be left over from something else.
            let fits = entry.first + entry.sectors <= sectors && first + entry.sectors <= end;
            if index >= 2 && !fits {
                continue;
            }
            if *number >= FIRST_LOGICAL + MOST_LOGICAL {
                return Ok(());
            }
            found.extend(within(device, *number, first, entry.sectors, sector));
            *number += 1;
        }
        let Some(next) = entries.into_iter().flatten().find(Entry::is_extended) else { break };
        (at, sectors) = (whole.first + next.first, next.sectors);
    }
    Ok(())
}

/// Apple's partition map, in units of the block size that its first block specifies (Linux,
/// block/partitions/mac.c).
fn apple(device: &dyn BlockDevice) -> Result<Vec<Partition>, VolumeError> {
    let big = |bytes: &[u8]| bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
    let mut found = Vec::new();
    let Some(first) = read(device, 0, 512)? else { return Ok(found) };
    let block = big(&first[2..4]);
    if !first.starts_with(b"ER") || block < 512 || !block.is_power_of_two() {
        return Ok(found);
    }
    let (mut number, mut count) = (1, 1);
    while number <= count {
        let entry = read(device, u64::from(number) * block, 512)?;
        let Some(entry) = entry.filter(|entry| entry.starts_with(b"PM")) else { break };
        if number == 1 {
            count = big(&entry[4..8]).min(u64::from(MOST_ENTRIES)) as u32;
        }
        let (start, blocks) = (big(&entry[8..12]), big(&entry[12..16]));
        if blocks > 0 {
            found.extend(within(device, number, start, blocks, block));
        }
        number += 1;
    }
    Ok(found)
}

/// A used entry of a master boot record.
struct Entry {
    kind: u8,
    first: u64,
    sectors: u64,
}

impl Entry {
    fn is_extended(&self) -> bool {
        matches!(self.kind, 0x05 | 0x0f | 0x85)
    }
}

fn entries(record: &[u8]) -> [Option<Entry>; 4] {
    let signed = record[510..] == [0x55, 0xaa];
    std::array::from_fn(|index| {
        let entry = &record[446 + 16 * index..462 + 16 * index];
        let (kind, first, sectors) = (entry[4], number::<4>(entry, 8), number::<4>(entry, 12));
        (signed && kind != 0 && sectors != 0).then_some(Entry { kind, first, sectors })
    })
}

/// The partition, truncated at the end of the device, because a copy of a disk can be incomplete; `None` if it
/// begins beyond the end.
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
        // A chain that leads back to a previous record ends.
        record(&device, 150, &[entry(0x83, 2, 20), entry(0x05, 0, 60)]);
        assert_eq!(found(&device).len(), 4);
        assert!(partition(&device, 2).unwrap_err().to_string().contains("1, 3, 5, 6"));
    }

    #[test]
    fn logical_partitions_are_counted_one_by_one_over_all_extended_ones() {
        let device = MemoryDevice::new(vec![0; 1 << 20]);
        record(&device, 0, &[entry(0x05, 100, 300), entry(0x0f, 500, 300)]);
        // Two partitions in one record; a chain that starts with only a link, leads backwards, and returns to
        // its start.
        let beyond = entry(0x83, 4, 900);
        record(&device, 100, &[entry(0x83, 2, 10), entry(0x07, 20, 10), beyond]);
        record(&device, 500, &[entry(0x05, 200, 60)]);
        record(&device, 700, &[entry(0x83, 2, 20), entry(0x05, 100, 60)]);
        record(&device, 600, &[entry(0x83, 3, 20), entry(0x05, 200, 60)]);
        let all = [(5, 102, 10), (6, 120, 10), (7, 702, 20), (8, 603, 20)];
        assert_eq!(found(&device), all);
    }

    #[test]
    fn a_gpt_that_nothing_protects_is_left_over() {
        let device = MemoryDevice::new(vec![0; 1 << 20]);
        write_bytes(&device, 512, &gpt_header()).unwrap();
        record(&device, 0, &[entry(0x83, 8, 16)]);
        assert_eq!(found(&device), [(1, 8, 16)]);
        // One of several entries is sufficient, but it starts at the same sector as the GPT.
        record(&device, 0, &[entry(0x83, 8, 16), entry(0xee, 9, 7)]);
        assert_eq!(found(&device), [(1, 8, 16), (2, 9, 7)]);
        record(&device, 0, &[entry(0x83, 8, 16), entry(0xee, 1, 7)]);
        assert_eq!(found(&device), []);
    }

    fn gpt_header() -> [u8; 512] {
        let mut header = [0; 512];
        header[..8].copy_from_slice(b"EFI PART");
        header[72..80].copy_from_slice(&2_u64.to_le_bytes());
        header[80..84].copy_from_slice(&4_u32.to_le_bytes());
        header[84..88].copy_from_slice(&128_u32.to_le_bytes());
        header
    }

    #[test]
    fn a_record_counts_in_the_sectors_in_which_something_begins() {
        let luks = |device: &MemoryDevice, at: u64| {
            write_bytes(device, at, b"LUKS\xba\xbe\0\x01").unwrap();
        };
        let new = || {
            let device = MemoryDevice::new(vec![0; 8 << 20]);
            record(&device, 0, &[entry(0x83, 100, 100), entry(0x05, 400, 400)]);
            device
        };
        let in_4096 = [(1, 800, 800), (5, 3216, 80)];
        // Without contents, sectors count as 512 bytes, as on most disks.
        let device = new();
        record(&device, 400, &[entry(0x83, 2, 10)]);
        assert_eq!(found(&device), [(1, 100, 100), (5, 402, 10)]);
        // A header in one of the partitions is decisive.
        luks(&device, 100 * 512);
        assert_eq!(found(&device), [(1, 100, 100), (5, 402, 10)]);
        let device = new();
        record(&device, 400 * 8, &[entry(0x83, 2, 10)]);
        luks(&device, 402 * 4096);
        assert_eq!(found(&device), in_4096);
        // Contents that may be encrypted are decisive only if there is nothing at the other offsets.
        let noise: Vec<u8> = (0..2 << 20)
            .scan(1_u32, |state, _| {
                *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                Some((*state >> 24) as u8)
            })
            .collect();
        let device = MemoryDevice::new(vec![0; 8 << 20]);
        record(&device, 0, &[entry(0x83, 100, 100)]);
        write_bytes(&device, 100 * 4096, &noise).unwrap();
        assert_eq!(found(&device), [(1, 800, 800)]);
        write_bytes(&device, 100 * 512, &noise[..4096]).unwrap();
        assert_eq!(found(&device), [(1, 100, 100)]);
    }

    /// Apple's map with these partitions: first block and blocks.
    fn map(device: &MemoryDevice, block: u16, all: &[(u32, u32)]) {
        write_bytes(device, 0, &[&b"ER"[..], &block.to_be_bytes(), &[0; 508]].concat()).unwrap();
        for (number, (start, blocks)) in (1..).zip(all) {
            let mut entry = [0; 512];
            entry[..2].copy_from_slice(b"PM");
            entry[4..8].copy_from_slice(&(all.len() as u32).to_be_bytes());
            entry[8..12].copy_from_slice(&start.to_be_bytes());
            entry[12..16].copy_from_slice(&blocks.to_be_bytes());
            write_bytes(device, number * u64::from(block), &entry).unwrap();
        }
    }

    #[test]
    fn apples_map_of_either_block_size() {
        for block in [512, 2048] {
            let device = MemoryDevice::new(vec![0; 1 << 20]);
            map(&device, block, &[(1, 63), (64, 32), (0, 0), (96, 9000)]);
            let in_sectors = u64::from(block) / 512;
            let all = [(1, 1, 63), (2, 64, 32), (4, 96, 2048 / in_sectors - 96)];
            let all = all.map(|(number, at, len)| (number, at * in_sectors, len * in_sectors));
            assert_eq!(found(&device), all);
        }
        let device = MemoryDevice::new(vec![0; 1 << 20]);
        map(&device, 512, &[(1, 63), (64, 32)]);
        // A record with partitions comes first, as in Linux.
        let mut first = [0; 512];
        device.read_at(0, &mut first).unwrap();
        first[446..462].copy_from_slice(&entry(0x83, 8, 16));
        first[510..].copy_from_slice(&[0x55, 0xaa]);
        write_bytes(&device, 0, &first).unwrap();
        assert_eq!(found(&device), [(1, 8, 16)]);
    }

    #[test]
    fn gpt_of_either_sector_size() {
        for sector in SECTORS {
            let device = MemoryDevice::new(vec![0; 1 << 20]);
            record(&device, 0, &[entry(0xee, 1, 2047)]);
            write_bytes(&device, sector, &gpt_header()).unwrap();
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
