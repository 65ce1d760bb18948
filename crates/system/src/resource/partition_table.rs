//! A partition table on a disk that its owner gave to a run, and its partitions in the kernel. Requires root.
//!
//! The table is a GPT without its copy at the end of the disk: it exists only during a run, and everything else there
//! stays as it is. The table's random number proves to a cleanup that it is ours.
#![expect(
    clippy::disallowed_methods,
    reason = "a disk that its owner gave, checked once it is open"
)]

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cryptbench_os::files::{Opening, read_exact_at, write_all_at};
use cryptbench_os::lock::{Lock, lock_within};
use cryptbench_os::storage::{Node, Tree};
use cryptbench_os::{Details, partition};
use cryptbench_text::{quoted_path, shown};
use serde::{Deserialize, Serialize};
use tracing::info;

use super::{Identity, Journal, Recovered, Resource, ResourceStack, loop_device, removed};
use crate::SystemError;
use crate::provision::filesystem::once_let_go;
use crate::provision::secret::random_key;

/// Bytes before the first partition and after the last one, as partitioning programs leave them.
const BORDER: u64 = 1 << 20;

/// Entries of a GPT, and bytes of each (UEFI 2.10, section 5.3).
const ENTRIES: usize = 128;
const ENTRY: usize = 128;
const HEADER: usize = 92;

/// Offset of the table's random number in its header.
const GUID: usize = 56;

/// The type "Linux filesystem", 0FC63DAF-8483-4772-8E79-3D69D8477DE4, as it is stored.
const LINUX: [u8; 16] = [
    0xaf, 0x3d, 0xc6, 0x0f, 0x83, 0x84, 0x72, 0x47, 0x8e, 0x79, 0x3d, 0x69, 0xd8, 0x47, 0x7d, 0xe4,
];

/// Time limit for the nodes of partitions to appear.
const NODE_LIMIT: Duration = Duration::from_secs(10);

/// Maximum time that udev may hold a disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// A partition table and its partitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionTable {
    /// Path of the disk.
    pub path: PathBuf,
    /// The random number of the table.
    pub guid: [u8; 16],
    /// Start and length of each partition in bytes; they are numbered from 1.
    pub partitions: Vec<(u64, u64)>,
}

/// The partitions of a disk, until they are removed together with their table.
pub struct Partitions {
    stack: ResourceStack,
    paths: Vec<PathBuf>,
}

impl Partitions {
    /// Bytes of a disk for partitions of these lengths.
    pub fn space(lens: &[u64]) -> u64 {
        BORDER + lens.iter().map(|len| len.next_multiple_of(BORDER)).sum::<u64>() + BORDER
    }

    /// Bytes at the start of the disk that the table occupies.
    pub const fn before() -> u64 {
        BORDER
    }

    /// Writes a table to `disk`, open as `file`, and adds partitions of these lengths. The disk must not have
    /// partitions.
    ///
    /// # Errors
    /// [`SystemError::Target`] if it has partitions or is too small, [`SystemError::Io`]; nothing is left.
    pub fn create(
        disk: &Path,
        file: &File,
        lens: &[u64],
        journal: &Journal,
    ) -> Result<Self, SystemError> {
        let what = PartitionTable::new(disk, lens);
        let mut stack = ResourceStack::new(journal);
        stack.create(what.clone(), || what.make(file))?;
        let paths = what.nodes(file)?;
        info!("{} has {} partitions", shown(disk), paths.len());
        Ok(Self { stack, paths })
    }

    /// Paths of the partitions.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Removes partitions and table; their data stays.
    ///
    /// # Errors
    /// [`SystemError::Busy`] if a partition is in use.
    pub fn remove(mut self) -> Result<(), SystemError> {
        self.stack.destroy()
    }
}

impl PartitionTable {
    fn new(disk: &Path, lens: &[u64]) -> Self {
        let mut start = BORDER;
        let next = |len: &u64| {
            let partition = (start, len.next_multiple_of(BORDER));
            start += partition.1;
            partition
        };
        let partitions = lens.iter().map(next).collect();
        let mut guid = [0; 16];
        guid.copy_from_slice(&random_key(16));
        Self { path: disk.to_owned(), guid, partitions }
    }

    fn make(&self, file: &File) -> Result<((), Option<Identity>), SystemError> {
        let refuse = |problem| SystemError::Target { path: self.path.clone(), problem };
        let (number, node) = self.node(file)?;
        if !node.partitions().is_empty() {
            return Err(refuse(has_partitions(&self.path)));
        }
        let size = node.bytes().unwrap_or(0);
        let end = self.partitions.last().map_or(0, |(start, len)| start + len + BORDER);
        if self.partitions.len() > ENTRIES || end > size {
            return Err(refuse(format!("has {size} bytes, but its partitions need {end}")));
        }
        let failed = || SystemError::io("write the partition table of", &self.path);
        write_all_at(file, &self.image(size, sector(&node)), 0).map_err(failed())?;
        file.sync_data().map_err(failed())?;
        for (number, (start, len)) in (1..).zip(&self.partitions) {
            partition::add(file, number, *start, *len)
                .map_err(SystemError::io("add a partition to", &self.path))?;
        }
        Ok(((), Some(Identity::number(number))))
    }

    /// The number of the open disk and its node in sysfs.
    fn node(&self, file: &File) -> Result<(u64, Node), SystemError> {
        let failed = || SystemError::io("examine", &self.path);
        let number = Details::of(&file.metadata().map_err(failed())?).device;
        let node = Tree::this().of_number(number);
        Ok((number, node.ok_or_else(|| failed()(io::ErrorKind::NotFound.into()))?))
    }

    /// The first bytes of a disk of `size` bytes with logical sectors of `sector` bytes.
    fn image(&self, size: u64, sector: usize) -> Vec<u8> {
        let in_sectors = |bytes: u64| bytes / sector as u64;
        let last = in_sectors(size) - 1;
        let mut bytes = vec![0; BORDER as usize];
        // The protective master boot record: one partition over everything, for programs that do not know a GPT.
        bytes[446..454].copy_from_slice(&[0, 0, 2, 0, 0xee, 0xff, 0xff, 0xff]);
        bytes[454..458].copy_from_slice(&1_u32.to_le_bytes());
        bytes[458..462].copy_from_slice(&u32::try_from(last).unwrap_or(u32::MAX).to_le_bytes());
        bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
        let mut entries = vec![0; ENTRIES * ENTRY];
        for (number, (entry, (start, len))) in
            (1..).zip(entries.chunks_mut(ENTRY).zip(&self.partitions))
        {
            let mut own = self.guid;
            own[15] ^= number;
            entry[..16].copy_from_slice(&LINUX);
            entry[16..32].copy_from_slice(&own);
            entry[32..40].copy_from_slice(&in_sectors(*start).to_le_bytes());
            entry[40..48].copy_from_slice(&(in_sectors(start + len) - 1).to_le_bytes());
            for (to, from) in entry[56..].chunks_mut(2).zip("cryptbench".encode_utf16()) {
                to.copy_from_slice(&from.to_le_bytes());
            }
        }
        let mut header = [0; HEADER];
        header[..12].copy_from_slice(b"EFI PART\0\0\x01\0");
        header[12..16].copy_from_slice(&(HEADER as u32).to_le_bytes());
        let numbers =
            [(24, 1), (32, last), (40, in_sectors(BORDER)), (48, in_sectors(size - BORDER) - 1)];
        for (at, number) in numbers {
            header[at..at + 8].copy_from_slice(&u64::to_le_bytes(number));
        }
        header[GUID..GUID + 16].copy_from_slice(&self.guid);
        header[72..80].copy_from_slice(&2_u64.to_le_bytes());
        header[80..84].copy_from_slice(&(ENTRIES as u32).to_le_bytes());
        header[84..88].copy_from_slice(&(ENTRY as u32).to_le_bytes());
        header[88..92].copy_from_slice(&crc32(&entries).to_le_bytes());
        let sum = crc32(&header);
        header[16..20].copy_from_slice(&sum.to_le_bytes());
        bytes[sector..sector + HEADER].copy_from_slice(&header);
        bytes[2 * sector..2 * sector + entries.len()].copy_from_slice(&entries);
        bytes
    }

    /// The paths of the partitions, once they exist.
    fn nodes(&self, file: &File) -> Result<Vec<PathBuf>, SystemError> {
        let (_, node) = self.node(file)?;
        let until = Instant::now() + NODE_LIMIT;
        loop {
            let there: Vec<_> = self.own(&node).into_iter().map(|(_, own)| own).collect();
            let have = |own: &Node| loop_device::number(&own.device_path()) == own.number();
            if there.len() == self.partitions.len() && there.iter().all(have) {
                return Ok(there.iter().map(Node::device_path).collect());
            }
            if Instant::now() >= until {
                let problem = "the device nodes of its partitions did not appear; is udev running?";
                return Err(SystemError::Target {
                    path: self.path.clone(),
                    problem: problem.to_owned(),
                });
            }
            sleep(Duration::from_millis(10));
        }
    }

    /// The kernel's partitions with these numbers and positions.
    fn own(&self, disk: &Node) -> Vec<(u32, Node)> {
        let all = disk.partitions();
        let found = |(number, (start, len)): (u32, &(u64, u64))| {
            let is_it = |node: &&Node| {
                node.attribute("partition") == Some(number.to_string())
                    && node.start() == *start
                    && node.bytes() == Some(*len)
            };
            Some((number, all.iter().find(is_it)?.clone()))
        };
        (1..).zip(&self.partitions).filter_map(found).collect()
    }

    /// Opens the disk if it is still there.
    fn open(&self) -> Option<(File, Node)> {
        let file = Opening::to_write().open(&self.path).ok()?;
        let (_, node) = self.node(&file).ok()?;
        Some((file, node))
    }

    /// Whether the disk still has this table.
    fn is_on(&self, file: &File, node: &Node) -> bool {
        let mut header = [0; HEADER];
        read_exact_at(file, &mut header, sector(node) as u64).is_ok()
            && header.starts_with(b"EFI PART")
            && header[GUID..GUID + 16] == self.guid
    }

    /// Makes the kernel forget the partitions, then overwrites the table if the disk still has it.
    fn take_away(&self, file: &File, disk: &Node) -> Result<(), SystemError> {
        for (number, node) in self.own(disk) {
            partition::remove(file, number).map_err(|e| match e.kind() {
                io::ErrorKind::ResourceBusy => SystemError::Busy { path: node.device_path() },
                _ => SystemError::io("remove the partition", node.device_path())(e),
            })?;
        }
        if !self.is_on(file, disk) {
            return Ok(());
        }
        let failed = || SystemError::io("remove the partition table of", &self.path);
        let zeros = vec![0; 2 * sector(disk) + ENTRIES * ENTRY];
        write_all_at(file, &zeros, 0).map_err(failed())?;
        file.sync_data().map_err(failed())
    }
}

impl Resource for PartitionTable {
    type Live = ();

    fn destroy(&self, (): &mut (), identity: Option<Identity>) -> Result<(), SystemError> {
        let Some((file, node)) = self.open() else { return Ok(()) };
        // The name may now belong to another disk.
        match node.number() == identity.map(|identity| identity.device) {
            true => self.take_away(&file, &node),
            false => Ok(()),
        }
    }

    fn recover(&self, _: Option<Identity>) -> Recovered {
        let (file, node) = self.open()?;
        // After a restart, the same name may refer to another disk.
        if !self.is_on(&file, &node) {
            return None;
        }
        // Keeps udev from opening the partitions. Without the lock, removing them may only take more attempts.
        let _ = lock_within(&file, Lock::Exclusive, PATIENCE);
        removed(once_let_go(|| self.take_away(&file, &node)))
    }
}

/// Why a disk with partitions is refused.
pub fn has_partitions(disk: &Path) -> String {
    let disk = quoted_path(disk);
    format!(
        "has partitions, but on=partition makes its own: to remove them, run `wipefs --all {disk}` and \
         `partx --delete {disk}`"
    )
}

/// Bytes of a logical sector.
fn sector(disk: &Node) -> usize {
    let size = disk.attribute("queue/logical_block_size").and_then(|size| size.parse().ok());
    size.filter(|size: &usize| (512..=65536).contains(size)).unwrap_or(512)
}

/// CRC-32 of the GPT (IEEE 802.3).
fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), bit))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_table_is_what_partition_programs_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        let table = PartitionTable::new(&path, &[16 * MIB, 3 * MIB + 5, 8 * MIB]);
        assert_eq!(table.partitions, [(MIB, 16 * MIB), (17 * MIB, 4 * MIB), (21 * MIB, 8 * MIB)]);
        let mut bytes = table.image(64 * MIB, 512);
        bytes.resize(64 << 20, 0);
        std::fs::write(&path, bytes).unwrap();
        let show = ["--show", "--noheadings", "--output", "NR,START,SECTORS,NAME"];
        let Ok(shown) = Command::new("partx").args(show).arg(&path).output() else {
            return eprintln!("SKIPPED: no partx (apt install util-linux)");
        };
        let shown = String::from_utf8(shown.stdout).unwrap();
        let words: Vec<_> = shown.split_whitespace().collect();
        let expected = "1 2048 32768 cryptbench 2 34816 8192 cryptbench 3 43008 16384 cryptbench";
        assert_eq!(words.join(" "), expected);
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926, "the check value of the standard");
        // With sectors of 4 KiB the kernel reads the header from the second one.
        let large = table.image(64 * MIB, 4096);
        assert_eq!((&large[4096..4104], large[8192 + 32]), (&b"EFI PART"[..], 0));
        assert_eq!(large[8192 + 33], 1, "sector 256");
    }

    #[test]
    fn partitions_appear_and_go_and_a_cleanup_removes_only_its_own() {
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
            return eprintln!("SKIPPED: loop devices require root and the loop module");
        }
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("disk");
        File::create(&image).unwrap().set_len(64 * MIB).unwrap();
        let journal = Journal::create_in(&[dir.path().join("state")], "partitions").unwrap();
        let mut loops = ResourceStack::new(&journal);
        let disk = loop_device::create_with(&mut loops, &image, None).unwrap();
        let file = Opening::to_write().open(&disk).unwrap();
        let start = || std::fs::read(&image).unwrap()[..BORDER as usize].to_vec();
        let create = |lens: &[u64]| Partitions::create(&disk, &file, lens, &journal);
        let large = create(&[63 * MIB]).err().unwrap().to_string();
        assert!(large.contains("need"), "{large}");
        let made = create(&[16 * MIB, 8 * MIB]).unwrap();
        let second = made.paths()[1].clone();
        let again = create(&[MIB]).err().unwrap().to_string();
        assert!(again.contains("has partitions"), "{again}");
        let held = File::open(&second).unwrap();
        let kept = std::mem::ManuallyDrop::new(made);
        let table = PartitionTable {
            path: disk.clone(),
            guid: start()[512 + GUID..512 + GUID + 16].try_into().unwrap(),
            partitions: vec![(MIB, 16 * MIB), (17 * MIB, 8 * MIB)],
        };
        let of_another = PartitionTable { guid: [7; 16], ..table.clone() };
        assert_eq!(of_another.recover(None), None);
        assert!(second.exists());
        let busy = table.recover(None).unwrap().unwrap_err();
        assert!(busy.contains("in use"), "{busy}");
        drop(held);
        assert_eq!(table.recover(None), Some(Ok(true)));
        assert!(!second.exists() && start().iter().all(|byte| *byte == 0));
        assert_eq!(table.recover(None), None, "nothing is left");
        drop(std::mem::ManuallyDrop::into_inner(kept));
        drop(file);
        loops.destroy().unwrap();
    }
}
