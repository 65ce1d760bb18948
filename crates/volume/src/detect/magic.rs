//! The table of magics: byte sequences at fixed offsets that identify contents.

use super::Kind;
use super::reader::Reader;

/// Something with a known magic on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The content that the magic identifies.
    pub kind: Kind,
    /// The name of its type in libblkid, such as `ext4`; for disk images, the name in QEMU.
    pub name: &'static str,
    /// Byte offset of the magic.
    pub offset: u64,
    /// Whether the position of the magic is defined relative to the end of the device.
    pub at_end: bool,
}

/// Bytes at an offset, and the content that they identify.
struct Magic {
    kind: Kind,
    name: &'static str,
    places: &'static [Place],
    /// Any of these byte sequences.
    bytes: &'static [&'static [u8]],
    /// Checks the bytes around a two-byte magic, because the magic occurs by chance in 1 of 65,536 devices with
    /// random data.
    plausible: Option<fn(&mut Reader<'_>, u64) -> bool>,
}

/// An offset on a device.
#[derive(Clone, Copy)]
enum Place {
    /// Bytes from the start.
    Start(u64),
    /// `forward` bytes after the offset that is `back` bytes before the end of the last whole `unit`.
    End { unit: u64, back: u64, forward: u64 },
}

use Place::{End, Start};

impl Place {
    fn on(self, size: u64) -> Option<u64> {
        match self {
            Start(offset) => Some(offset),
            End { unit, back, forward } => {
                (size - size % unit).checked_sub(back)?.checked_add(forward)
            }
        }
    }
}

/// An offset in 512-byte sectors before the end.
const fn sectors_before_end(sectors: u64) -> Place {
    End { unit: 512, back: 512 * sectors, forward: 0 }
}

const fn fs(
    name: &'static str,
    blkid: &'static str,
    places: &'static [Place],
    bytes: &'static [&'static [u8]],
) -> Magic {
    Magic { kind: Kind::FileSystem { name }, name: blkid, places, bytes, plausible: None }
}

const fn table(
    name: &'static str,
    blkid: &'static str,
    places: &'static [Place],
    bytes: &'static [&'static [u8]],
) -> Magic {
    Magic { kind: Kind::PartitionTable { name }, name: blkid, places, bytes, plausible: None }
}

const fn bit_locker(
    offset: &'static [Place],
    bytes: &'static [&'static [u8]],
    to_go: bool,
) -> Magic {
    Magic {
        kind: Kind::BitLocker { to_go },
        name: "BitLocker",
        places: offset,
        bytes,
        plausible: None,
    }
}

const fn apple_encrypted(
    version: u8,
    places: &'static [Place],
    bytes: &'static [&'static [u8]],
) -> Magic {
    Magic {
        kind: Kind::AppleEncrypted { version },
        name: "encrcdsa",
        places,
        bytes,
        plausible: None,
    }
}

impl Magic {
    const fn only_if(mut self, plausible: fn(&mut Reader<'_>, u64) -> bool) -> Self {
        self.plausible = Some(plausible);
        self
    }
}

/// Ten bytes (the length of swap's magic) before the end of a page, for each page size that Linux has used.
const PAGES: &[Place] = &[Start(0xff6), Start(0x1ff6), Start(0x3ff6), Start(0x7ff6), Start(0xfff6)];

/// The offsets of the name-value lists in ZFS's four labels.
const ZFS_LABELS: &[Place] = &[
    Start(16 << 10),
    Start((256 + 16) << 10),
    End { unit: 256 << 10, back: 512 << 10, forward: 16 << 10 },
    End { unit: 256 << 10, back: 256 << 10, forward: 16 << 10 },
];

/// The offsets of `fs_magic` in the UFS superblock, whose location depends on the variant.
const UFS: &[Place] =
    &[Start(1372), Start((8 << 10) + 1372), Start((64 << 10) + 1372), Start((256 << 10) + 1372)];

/// The locations of the metadata of Promise controllers.
const PROMISE: &[Place] = &[
    sectors_before_end(63),
    sectors_before_end(255),
    sectors_before_end(256),
    sectors_before_end(16),
    sectors_before_end(399),
    sectors_before_end(591),
    sectors_before_end(675),
    sectors_before_end(735),
    sectors_before_end(911),
    sectors_before_end(974),
    sectors_before_end(991),
    sectors_before_end(951),
    sectors_before_end(3087),
];

/// An ECMA-167 volume descriptor; ISO 9660 and UDF have several in sequence.
const DESCRIPTOR: &[Place] = &[Start((32 << 10) + 1)];

/// Whether the flags, compression method and operating system in a gzip header (RFC 1952, 2.3) have known
/// values.
fn gzip(reader: &mut Reader<'_>, at: u64) -> bool {
    let header: Option<[u8; 10]> = reader.bytes(at);
    header.is_some_and(|h| h[3] < 0x20 && matches!(h[8], 0 | 2 | 4) && matches!(h[9], 0..=13 | 255))
}

/// Encrypted formats come first, because BitLocker To Go poses as FAT.
///
/// The values for BitLocker come from libbde's format document, those for disk images from QEMU (block/*.c) and
/// libmodi, and all others from libblkid (util-linux 2.41, libblkid/src/superblocks and partitions). LUKS,
/// FileVault 2 and the MBR need more than a magic and are identified elsewhere. The table omits formats that
/// libblkid identifies only by a checksum after a short magic (RAID of JMicron, Silicon Image and VIA, System
/// V, external logs of XFS), and formats that occur only on zoned disks.
static MAGICS: &[Magic] = &[
    bit_locker(&[Start(3)], &[b"-FVE-FS-"], false),
    // The GUID 4967d63b-2e29-4ad8-8399-f6a339e3d001 in the boot sector of BitLocker To Go, and
    // 92a84d3b-dd80-4d0e-9e4e-b1e3284eaed8 while the volume is being encrypted.
    bit_locker(
        &[Start(424)],
        &[
            b"\x3b\xd6\x67\x49\x29\x2e\xd8\x4a\x83\x99\xf6\xa3\x39\xe3\xd0\x01",
            b"\x3b\x4d\xa8\x92\x80\xdd\x0e\x4d\x9e\x4e\xb1\xe3\x28\x4e\xae\xd8",
        ],
        true,
    ),
    // Members of larger structures: RAID disks, physical volumes, caches.
    fs(
        "Linux software RAID",
        "linux_raid_member",
        &[Start(0), Start(4096), End { unit: 4096, back: 8192, forward: 0 }],
        &[b"\xfc\x4e\x2b\xa9\x01\0\0\0"],
    ),
    fs(
        "Linux software RAID",
        "linux_raid_member",
        &[End { unit: 64 << 10, back: 64 << 10, forward: 0 }],
        &[b"\xfc\x4e\x2b\xa9\0\0\0\0", b"\xa9\x2b\x4e\xfc\0\0\0\0"],
    ),
    fs(
        "DRBD",
        "drbd",
        &[End { unit: 512, back: 4096, forward: 60 }],
        &[b"\x83\x74\x02\x6b", b"\x83\x74\x02\x6c", b"\x83\x74\x02\x6d"],
    ),
    fs("DRBD Manage control volume", "drbdmanage_control_volume", &[Start(0)], &[b"$DRBDmgr=q"]),
    fs("DRBD Proxy data log", "drbdproxy_datalog", &[Start(0)], &[b"DRBDdlh*"]),
    fs("Intel RAID", "isw_raid_member", &[sectors_before_end(2)], &[b"Intel Raid ISM Cfg Sig. "]),
    fs(
        "DDF RAID",
        "ddf_raid_member",
        &[sectors_before_end(1), sectors_before_end(257)],
        &[b"\xde\x11\xde\x11"],
    ),
    fs("NVIDIA RAID", "nvidia_raid_member", &[sectors_before_end(2)], &[b"NVIDIA  "]),
    fs("LSI RAID", "lsi_mega_raid_member", &[sectors_before_end(1)], &[b"$XIDE$"]),
    fs("Adaptec RAID", "adaptec_raid_member", &[sectors_before_end(1)], &[b"\x37\xfc\x4d\x1e"]),
    fs("Promise RAID", "promise_fasttrack_raid_member", PROMISE, &[b"Promise Technology, Inc."]),
    fs(
        "HighPoint RAID",
        "hpt37x_raid_member",
        &[Start(4640)],
        &[b"\xf0\x16\x78\x5a", b"\xfd\x16\x78\x5a"],
    ),
    fs(
        "HighPoint RAID",
        "hpt45x_raid_member",
        &[sectors_before_end(11)],
        &[b"\xf3\x16\x78\x5a", b"\xfd\x16\x78\x5a"],
    ),
    fs(
        "LVM2 physical volume",
        "LVM2_member",
        &[Start(0), Start(512), Start(1024), Start(1536)],
        &[b"LABELONE"],
    ),
    fs("LVM1 physical volume", "LVM1_member", &[Start(0)], &[b"HM\x01\0", b"HM\x02\0"]),
    fs("device-mapper snapshot", "DM_snapshot_cow", &[Start(0)], &[b"SnAp"]),
    fs("dm-verity hashes", "DM_verity_hash", &[Start(0)], &[b"verity\0\0"]),
    fs("dm-integrity", "DM_integrity", &[Start(0)], &[b"integrt\0"]),
    fs("VDO", "vdo", &[Start(0)], &[b"dmvdo001"]),
    fs("Stratis", "stratis", &[Start(516), Start(4612)], &[b"!Stra0tis\x86\xff\x02^\x41rh"]),
    fs(
        "bcache",
        "bcache",
        &[Start(4096 + 24)],
        &[b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"],
    ),
    fs(
        "bcachefs",
        "bcachefs",
        &[Start(4096 + 24), Start((2 << 20) + 24), End { unit: 512, back: 1 << 20, forward: 24 }],
        &[b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"],
    ),
    fs(
        "ZFS",
        "zfs_member",
        ZFS_LABELS,
        &[b"\x01\x01\0\0\0\0\0\0\0\0\0\x01", b"\x01\0\0\0\0\0\0\0\0\0\0\x01"],
    ),
    fs("VMware VMFS", "VMFS_volume_member", &[Start(1 << 20)], &[b"\x0d\xd0\x01\xc0"]),
    fs("VMware VMFS", "VMFS", &[Start(2 << 20)], &[b"\x5e\xf1\xab\x2f"]),
    fs("Oracle ASM", "oracleasm", &[Start(32)], &[b"ORCLDISK"]),
    fs("Ceph BlueStore", "ceph_bluestore", &[Start(0)], &[b"bluestore block device"]),
    fs("mpool", "mpool", &[Start(0)], &[b"mpoolDev"]),
    // File systems.
    fs("NTFS", "ntfs", &[Start(3)], &[b"NTFS    "]),
    fs("exFAT", "exfat", &[Start(3)], &[b"EXFAT   "]),
    fs("ReFS", "ReFS", &[Start(0)], &[b"\0\0\0ReFS\0"]),
    fs("FAT", "vfat", &[Start(54)], &[b"FAT12   ", b"FAT16   ", b"FAT     ", b"MSDOS"]),
    fs("FAT", "vfat", &[Start(82)], &[b"FAT32   ", b"MSWIN"]),
    fs("XFS", "xfs", &[Start(0)], &[b"XFSB"]),
    fs("EXFS", "exfs", &[Start(0)], &[b"EXFS"]),
    fs("SquashFS", "squashfs", &[Start(0)], &[b"hsqs", b"sqsh"]),
    fs("EROFS", "erofs", &[Start(1024)], &[b"\xe2\xe1\xf5\xe0"]),
    fs("cramfs", "cramfs", &[Start(0)], &[b"\x45\x3d\xcd\x28", b"\x28\xcd\x3d\x45"]),
    fs("romfs", "romfs", &[Start(0)], &[b"-rom1fs-"]),
    fs("APFS", "apfs", &[Start(32)], &[b"NXSB"]),
    fs("ext2, ext3 or ext4", "ext4", &[Start(1024 + 56)], &[b"\x53\xef"]).only_if(is_ext),
    fs("F2FS", "f2fs", &[Start(1024), Start(5120)], &[b"\x10\x20\xf5\xf2"]),
    fs("HFS", "hfs", &[Start(1024)], &[b"BD"]).only_if(is_hfs),
    fs("HFS+", "hfsplus", &[Start(1024)], &[b"H+\0\x04", b"HX\0\x05"]),
    fs(
        "NILFS2",
        "nilfs2",
        &[Start(1024 + 6), End { unit: 512, back: 4096, forward: 6 }],
        &[b"\x34\x34"],
    )
    .only_if(is_nilfs),
    fs(
        "Minix",
        "minix",
        &[Start(1024 + 16)],
        &[
            b"\x7f\x13",
            b"\x8f\x13",
            b"\x13\x7f",
            b"\x13\x8f",
            b"\x68\x24",
            b"\x78\x24",
            b"\x24\x68",
            b"\x24\x78",
        ],
    )
    .only_if(is_minix),
    fs("Minix", "minix", &[Start(1024 + 24)], &[b"\x5a\x4d", b"\x4d\x5a"]).only_if(is_minix_3),
    fs("VxFS", "vxfs", &[Start(1024)], &[b"\xf5\xfc\x01\xa5"]),
    fs("VxFS", "vxfs", &[Start(8192)], &[b"\xa5\x01\xfc\xf5"]),
    fs("BeFS", "befs", &[Start(32), Start(544)], &[b"BFS1", b"1SFB"]),
    fs("BFS", "bfs", &[Start(0)], &[b"\xce\xfa\xad\x1b"]),
    fs("OCFS2", "ocfs2", &[Start(1024), Start(2048), Start(4096), Start(8192)], &[b"OCFSV2"]),
    fs("OCFS", "ocfs", &[Start(8192)], &[b"OracleCFS"]),
    fs("HPFS", "hpfs", &[Start(8192)], &[b"\x49\xe8\x95\xf9"]),
    fs("ReiserFS", "reiserfs", &[Start((8 << 10) + 52), Start((8 << 10) + 20)], &[b"ReIsErFs"]),
    fs(
        "ReiserFS",
        "reiserfs",
        &[Start((64 << 10) + 52)],
        &[b"ReIsErFs", b"ReIsEr2Fs", b"ReIsEr3Fs"],
    ),
    fs("Reiser4", "reiser4", &[Start(64 << 10)], &[b"ReIsEr4"]),
    fs("Novell NSS", "nss", &[Start(4096)], &[b"SPB5"]),
    fs("JFS", "jfs", &[Start(32 << 10)], &[b"JFS1"]),
    fs("ISO 9660", "iso9660", DESCRIPTOR, &[b"CD001"]),
    fs("ISO 9660", "iso9660", &[Start((32 << 10) + 9)], &[b"CDROM"]),
    fs("UDF", "udf", DESCRIPTOR, &[b"BEA01", b"BOOT2", b"CDW02", b"NSR02", b"NSR03", b"TEA01"]),
    fs("btrfs", "btrfs", &[Start((64 << 10) + 64)], &[b"_BHRfS_M"]),
    fs("GFS or GFS2", "gfs2", &[Start(64 << 10)], &[b"\x01\x16\x19\x70"]),
    fs("ScoutFS", "scoutfs_meta", &[Start((64 << 10) + 4)], &[b"\x8b\x42\x3c\x10"]),
    fs(
        "UFS",
        "ufs",
        UFS,
        &[
            b"\x54\x19\x01\0",
            b"\0\x01\x19\x54",
            b"\x19\x01\x54\x19",
            b"\x19\x54\x01\x19",
            b"\x12\x56\x19\0",
            b"\0\x19\x56\x12",
            b"\x14\x50\x09\0",
            b"\0\x09\x50\x14",
            b"\x95\x21\x61\0",
            b"\0\x61\x21\x95",
            b"\x94\x19\x23\x05",
            b"\x05\x23\x19\x94",
        ],
    ),
    fs("zonefs", "zonefs", &[Start(0)], &[b"SFOZ"]),
    fs("UBI", "ubi", &[Start(0)], &[b"UBI#"]),
    fs("UBIFS", "ubifs", &[Start(0)], &[b"\x31\x18\x10\x06"]),
    // Swap space, and a hibernation image in it.
    fs("swap", "swap", PAGES, &[b"SWAPSPACE2", b"SWAP-SPACE"]),
    fs(
        "a suspended system",
        "swsuspend",
        PAGES,
        &[b"S1SUSPEND", b"S2SUSPEND", b"ULSUSPEND", b"LINHIB0001"],
    ),
    fs("a suspended system", "swsuspend", &[Start(0)], &[b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c"]),
    // Images of disks.
    fs("QCOW1 disk image", "qcow", &[Start(0)], &[b"QFI\xfb\0\0\0\x01"]),
    fs("QCOW disk image", "qcow2", &[Start(0)], &[b"QFI\xfb"]),
    fs("QED disk image", "qed", &[Start(0)], &[b"QED\0"]),
    fs("VHDX disk image", "vhdx", &[Start(0)], &[b"vhdxfile"]),
    fs("VHD disk image", "vpc", &[Start(0), sectors_before_end(1)], &[b"conectix"]),
    fs("VMDK SESparse disk image", "vmdk", &[Start(0)], &[b"\xbe\xba\xfe\xca\0\0\0\0"]),
    fs("VMDK disk image", "vmdk", &[Start(0)], &[b"KDMV", b"COWD", b"# Disk DescriptorFile"]),
    fs("VDI disk image", "vdi", &[Start(64)], &[b"\x7f\x10\xda\xbe"]),
    fs(
        "Parallels disk image",
        "parallels",
        &[Start(0)],
        &[b"WithoutFreeSpace", b"WithouFreSpacExt"],
    ),
    fs(UDIF, "dmg", &[End { unit: 1, back: 512, forward: 0 }], &[b"koly\0\0\0\x04\0\0\x02\0"]),
    fs("Apple sparse disk image", "sparseimage", &[Start(0)], &[b"sprs\0\0\0\x03"]),
    apple_encrypted(2, &[Start(0)], &[b"encrcdsa\0\0\0\x02"]),
    apple_encrypted(1, &[End { unit: 1, back: 8, forward: 0 }], &[b"cdsaencr"]),
    // Compressed files.
    fs("gzip file", "gzip", &[Start(0)], &[b"\x1f\x8b\x08"]).only_if(gzip),
    fs("xz file", "xz", &[Start(0)], &[b"\xfd7zXZ\0"]),
    fs("zstd file", "zstd", &[Start(0)], &[b"\x28\xb5\x2f\xfd"]),
    fs("lz4 file", "lz4", &[Start(0)], &[b"\x04\x22\x4d\x18"]),
    fs("bzip2 file", "bzip2", &[Start(4)], &[b"\x31\x41\x59\x26\x53\x59"]),
    fs("ZIP file", "zip", &[Start(0)], &[b"PK\x03\x04"]),
    fs("7-Zip file", "7z", &[Start(0)], &[b"7z\xbc\xaf\x27\x1c"]),
    fs("RAR file", "rar", &[Start(0)], &[b"Rar!\x1a\x07"]),
    fs("EWF image", "ewf", &[Start(0)], &[b"EVF\x09\r\n\xff\0", b"EVF2\r\n\x81\0"]),
    fs("partclone image", "partclone", &[Start(0)], &[b"partclone-image"]),
    // Partition tables. The GPT backup is in the last sector, whose size can be 512 or 4096 bytes.
    table(
        "GPT",
        "gpt",
        &[
            Start(512),
            Start(4096),
            sectors_before_end(1),
            End { unit: 4096, back: 4096, forward: 0 },
        ],
        &[b"EFI PART"],
    ),
    table("Apple", "mac", &[Start(0)], &[b"ER"]).only_if(is_apple_map),
    table("SGI", "sgi", &[Start(0)], &[b"\x0b\xe5\xa9\x41"]),
    table("BSD", "bsd", &[Start(64), Start(128), Start(512)], &[b"\x57\x45\x56\x82"]),
    table("Sun", "sun", &[Start(508)], &[b"\xda\xbe"]).only_if(is_sun_label),
];

/// Apple's name for its disk images; most of them are compressed.
pub(super) const UDIF: &str = "Apple UDIF disk image";

/// All contents with a known magic except LUKS: first those identified from the start of the device, then the
/// others, both in the table's order.
pub(super) fn find(reader: &mut Reader<'_>) -> Vec<Signature> {
    let mut found = Vec::new();
    if is_core_storage(reader) {
        let (kind, name) = (Kind::FileVault, "cs_fvault2");
        found.push(Signature { kind, name, offset: 88, at_end: false });
    }
    for at_end in [false, true] {
        for magic in MAGICS {
            let places = magic.places.iter().filter(|place| matches!(place, End { .. }) == at_end);
            let size = reader.size();
            for offset in places.filter_map(|place| place.on(size)) {
                let fits = magic.bytes.iter().any(|bytes| reader.has(offset, bytes))
                    && magic.plausible.is_none_or(|plausible| plausible(reader, offset));
                if fits {
                    let (kind, name) = (magic.kind.clone(), magic.name);
                    found.push(Signature { kind, name, offset, at_end });
                }
            }
        }
        // Last among the magics at the start, because boot sectors of file systems have the same signature.
        if !at_end && is_mbr(reader) {
            let kind = Kind::PartitionTable { name: "MBR" };
            found.push(Signature { kind, name: "dos", offset: 510, at_end });
        }
    }
    found
}

/// Whether this is the first block of a CoreStorage physical volume: version 1 at offset 8, block type 0x10 at
/// 10, "CS" at 88 (libfvde's format document, section 2.1).
fn is_core_storage(reader: &mut Reader<'_>) -> bool {
    reader.has(8, &[1, 0, 0x10, 0]) && reader.has(88, b"CS")
}

/// Whether this is a master boot record with at least one partition and only valid entries. If only the
/// signature were checked, one random volume in 65,536 would be mistaken for a partition table.
fn is_mbr(reader: &mut Reader<'_>) -> bool {
    let Some(entries) = reader.bytes::<66>(446) else { return false };
    if entries[64..] != [0x55, 0xaa] {
        return false;
    }
    let mut used = 0;
    for entry in entries[..64].chunks_exact(16) {
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

/// Whether the revision is 0 or 1 and blocks have at most 64 KiB.
fn is_ext(reader: &mut Reader<'_>, magic: u64) -> bool {
    let number =
        |bytes: Option<[u8; 4]>, most| bytes.is_some_and(|b| u32::from_le_bytes(b) <= most);
    number(reader.bytes(magic + 20), 1) && number(reader.bytes(magic - 32), 6)
}

/// Whether allocation blocks consist of whole sectors.
fn is_hfs(reader: &mut Reader<'_>, magic: u64) -> bool {
    let block = reader.bytes(magic + 20).map_or(0, u32::from_be_bytes);
    block != 0 && block.is_multiple_of(512) && block <= 1 << 24
}

/// Whether the revision is 1 or 2.
fn is_nilfs(reader: &mut Reader<'_>, magic: u64) -> bool {
    reader.bytes(magic - 6).is_some_and(|bytes| matches!(u32::from_le_bytes(bytes), 1 | 2))
}

/// Whether zones have one block, the state is valid and there are inodes.
fn is_minix(reader: &mut Reader<'_>, magic: u64) -> bool {
    let state = reader
        .bytes(magic + 2)
        .map(|bytes| u16::from_le_bytes(bytes).min(u16::from_be_bytes(bytes)));
    state.is_some_and(|state| state <= 3)
        && reader.has(magic - 6, &[0, 0])
        && !reader.has(magic - 16, &[0, 0])
}

/// Whether zones have one block and blocks consist of whole KiB.
fn is_minix_3(reader: &mut Reader<'_>, magic: u64) -> bool {
    let block = reader.bytes(magic + 4).map_or(0, |bytes| {
        let (little, big) = (u16::from_le_bytes(bytes), u16::from_be_bytes(bytes));
        if little.is_multiple_of(1024) { little } else { big }
    });
    block != 0 && block.is_multiple_of(1024) && reader.has(magic - 12, &[0, 0, 0, 0])
}

/// Whether the next block contains the first entry of the map.
fn is_apple_map(reader: &mut Reader<'_>, magic: u64) -> bool {
    let block = reader.bytes(magic + 2).map_or(0, u16::from_be_bytes);
    block >= 512 && block.is_power_of_two() && reader.has(u64::from(block), b"PM")
}

/// Whether the XOR of all words in the label is 0.
fn is_sun_label(reader: &mut Reader<'_>, magic: u64) -> bool {
    let label = reader.bytes::<512>(magic - 508);
    label.is_some_and(|label| {
        label.as_chunks::<2>().0.iter().fold(0, |sum, word| sum ^ u16::from_be_bytes(*word)) == 0
    })
}
