//! The table of magics: fixed byte sequences that identify a format.

use super::Kind;

/// Bytes at a fixed offset, and the kind they identify.
struct Magic {
    offset: usize,
    bytes: &'static [u8],
    kind: Kind,
}

const fn file_system(name: &'static str, offset: usize, bytes: &'static [u8]) -> Magic {
    Magic { offset, bytes, kind: Kind::FileSystem { name } }
}

const fn bit_locker(offset: usize, bytes: &'static [u8], to_go: bool) -> Magic {
    Magic { offset, bytes, kind: Kind::BitLocker { to_go } }
}

/// Ordered: encrypted formats come first because BitLocker To Go poses as FAT; unencrypted contents
/// follow. The values come from the databases of file(1) and libblkid and from libbde's format
/// document.
static MAGICS: &[Magic] = &[
    bit_locker(3, b"-FVE-FS-", false),
    // The GUID 4967d63b-2e29-4ad8-8399-f6a339e3d001 in the boot sector of BitLocker To Go.
    bit_locker(424, b"\x3b\xd6\x67\x49\x29\x2e\xd8\x4a\x83\x99\xf6\xa3\x39\xe3\xd0\x01", true),
    // The same while it is being encrypted: 92a84d3b-dd80-4d0e-9e4e-b1e3284eaed8.
    bit_locker(424, b"\x3b\x4d\xa8\x92\x80\xdd\x0e\x4d\x9e\x4e\xb1\xe3\x28\x4e\xae\xd8", true),
    file_system("NTFS", 3, b"NTFS    "),
    file_system("exFAT", 3, b"EXFAT   "),
    file_system("FAT", 54, b"FAT12   "),
    file_system("FAT", 54, b"FAT16   "),
    file_system("FAT", 82, b"FAT32   "),
    file_system("XFS", 0, b"XFSB"),
    file_system("SquashFS", 0, b"hsqs"),
    file_system("APFS", 32, b"NXSB"),
    file_system("ext2, ext3 or ext4", 1024 + 56, b"\x53\xef"),
    file_system("F2FS", 1024, b"\x10\x20\xf5\xf2"),
    file_system("HFS+", 1024, b"H+\0\x04"),
    file_system("HFS+", 1024, b"HX\0\x05"),
    file_system("LVM2 physical volume", 512, b"LABELONE"),
    file_system("Linux software RAID", 4096, b"\xfc\x4e\x2b\xa9\x01\0\0\0"),
    file_system("swap", 4096 - 10, b"SWAPSPACE2"),
    file_system("ISO 9660", 32769, b"CD001"),
    file_system("btrfs", 65536 + 64, b"_BHRfS_M"),
    Magic { offset: 512, bytes: b"EFI PART", kind: Kind::PartitionTable { name: "GPT" } },
    Magic { offset: 4096, bytes: b"EFI PART", kind: Kind::PartitionTable { name: "GPT" } },
];

/// The kind that the first bytes of a device identify, if any.
pub(super) fn find(start: &[u8]) -> Option<Kind> {
    if is_core_storage(start) {
        return Some(Kind::FileVault);
    }
    let matching = |magic: &&Magic| {
        start.get(magic.offset..).is_some_and(|rest| rest.starts_with(magic.bytes))
    };
    match MAGICS.iter().find(matching) {
        Some(magic) => Some(magic.kind.clone()),
        None => is_mbr(start).then_some(Kind::PartitionTable { name: "MBR" }),
    }
}

/// The first block of a CoreStorage physical volume: version 1 at 8, block type 0x10 at 10, "CS" at 88
/// (libfvde's format document, section 2.1).
fn is_core_storage(start: &[u8]) -> bool {
    start.len() >= 512 && start[8..12] == [1, 0, 0x10, 0] && start[88..90] == *b"CS"
}

/// Whether this is a master boot record with at least one partition and only valid entries. The
/// signature alone would mistake one random volume in 65,536 for a partition table.
fn is_mbr(start: &[u8]) -> bool {
    if start.len() < 512 || start[510..512] != [0x55, 0xaa] {
        return false;
    }
    let mut used = 0;
    for entry in start[446..510].chunks_exact(16) {
        let number = |at: usize| {
            u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]])
        };
        let (status, kind, first, sectors) = (entry[0], entry[4], number(8), number(12));
        if status & 0x7f != 0 {
            return false;
        }
        match (kind, sectors) {
            (0, _) | (_, 0) => {}
            _ if first == 0 => return false,
            _ => used += 1,
        }
    }
    used > 0
}
