//! The results of `detect` for encrypted volumes, file systems, noise, and disks with bad sectors.

use std::io;
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode, MemoryDevice, write_bytes};
use cryptbench_kdf::Effort;
use cryptbench_volume::detect::{Kind, detect, signatures};
use cryptbench_volume::format::luks::{CreateOptions, Resources, Version, create};
use cryptbench_volume::{Credentials, Part, Secret};

const MIB: usize = 1 << 20;

/// Bytes from a generator with a fixed seed (splitmix64), the same on every run.
fn noise(len: usize, mut seed: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(len + 8);
    while out.len() < len {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        out.extend((z ^ (z >> 31)).to_le_bytes());
    }
    out.truncate(len);
    out
}

fn kind(bytes: Vec<u8>) -> Kind {
    detect(&MemoryDevice::new(bytes)).unwrap().kind
}

fn luks(version: Version) -> Arc<MemoryDevice> {
    let kdf = cryptbench_kdf::tier().unwrap();
    let resources = Resources::new(cryptbench_cipher::tier().unwrap(), Effort::new(kdf, 1));
    let prf = cryptbench_kdf::find("sha-256").unwrap();
    let options = CreateOptions {
        derivation: cryptbench_kdf::Derivation::Pbkdf2 { prf, iterations: 1000 },
        digest_iterations: 1000,
        data_offset: Some(4 << 20),
        uuid: Some("01234567-89ab-4def-8123-456789abcdef"),
        ..CreateOptions::new(version, resources).unwrap()
    };
    let device = Arc::new(MemoryDevice::new(noise(5 * MIB, 1)));
    let first = Credentials { passphrase: Secret::new(b"first".to_vec()), ..Default::default() };
    create(&*device, &first, &options).unwrap();
    device
}

#[test]
fn luks_whole_half_and_damaged() {
    for (luks, number) in [(luks(Version::Luks1), 1), (luks(Version::Luks2), 2)] {
        let Kind::Luks { version, uuid, secondary_only, problem, .. } =
            detect(&*luks).unwrap().kind
        else {
            panic!("not recognised");
        };
        assert_eq!((version, secondary_only, problem), (number, false, None));
        assert_eq!(uuid, "01234567-89ab-4def-8123-456789abcdef");
    }
    // The primary header is missing.
    let half = luks(Version::Luks2);
    write_bytes(&*half, 0, &[0; 4096]).unwrap();
    let found = detect(&*half).unwrap();
    assert!(matches!(found.kind, Kind::Luks { version: 2, secondary_only: true, .. }));
    // A file system has replaced it.
    write_bytes(&*half, 1080, b"\x53\xef").unwrap();
    let found = detect(&*half).unwrap();
    assert!(matches!(found.kind, Kind::FileSystem { name: "ext2, ext3 or ext4" }));
    assert_eq!(found.notes.len(), 1);
    // Both headers are damaged.
    let damaged = luks(Version::Luks2);
    write_bytes(&*damaged, 4096, b"?").unwrap();
    write_bytes(&*damaged, (16 << 10) + 4096, b"?").unwrap();
    let Kind::Luks { version: 2, problem: Some(problem), .. } = detect(&*damaged).unwrap().kind
    else {
        panic!("not recognised");
    };
    assert!(problem.contains("checksum"), "{problem}");
    // An unknown version.
    let later = luks(Version::Luks1);
    write_bytes(&*later, 6, &[0, 9]).unwrap();
    let found = detect(&*later).unwrap().kind;
    assert!(matches!(found, Kind::Luks { version: 9, problem: Some(_), .. }), "{found}");
}

#[test]
fn magics() {
    let with = |at: usize, magic: &[u8]| {
        // In noise, so that only the magic is recognisable.
        let mut bytes = noise(MIB, 2);
        bytes[at..at + magic.len()].copy_from_slice(magic);
        kind(bytes)
    };
    assert_eq!(with(3, b"-FVE-FS-"), Kind::BitLocker { to_go: false });
    for (at, magic, expected) in [
        (3, &b"NTFS    "[..], "NTFS"),
        (3, b"EXFAT   ", "exFAT"),
        (54, b"FAT16   ", "FAT"),
        (82, b"FAT32   ", "FAT"),
        (0, b"XFSB", "XFS"),
        (65600, b"_BHRfS_M", "btrfs"),
        (512, b"LABELONE", "LVM2 physical volume"),
        (4086, b"SWAPSPACE2", "swap"),
        (0, b"\xfd7zXZ\0", "xz file"),
        (0, b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "gzip file"),
    ] {
        assert_eq!(with(at, magic), Kind::FileSystem { name: expected });
        assert!(with(at, magic).is_plain());
    }
    // Two bytes do not prove anything: one random device in 65,536 contains them.
    assert!(matches!(with(1080, b"\x53\xef"), Kind::Random { .. }));
    let mut ext = [0; 100];
    ext[56..58].copy_from_slice(b"\x53\xef");
    (ext[24], ext[76]) = (2, 1);
    assert_eq!(with(1024, &ext), Kind::FileSystem { name: "ext2, ext3 or ext4" });
    assert_eq!(with(512, b"EFI PART"), Kind::PartitionTable { name: "GPT" });
    assert_eq!(with(4096, b"EFI PART"), Kind::PartitionTable { name: "GPT" });

    // BitLocker To Go also contains "FAT32".
    let mut to_go = vec![0; MIB];
    to_go[3..11].copy_from_slice(b"MSWIN4.1");
    to_go[82..90].copy_from_slice(b"FAT32   ");
    let guid = [
        0x3b, 0xd6, 0x67, 0x49, 0x29, 0x2e, 0xd8, 0x4a, 0x83, 0x99, 0xf6, 0xa3, 0x39, 0xe3, 0xd0, 1,
    ];
    to_go[424..440].copy_from_slice(&guid);
    assert_eq!(kind(to_go), Kind::BitLocker { to_go: true });

    let mut core_storage = vec![0; MIB];
    core_storage[8..12].copy_from_slice(&[1, 0, 0x10, 0]);
    core_storage[88..90].copy_from_slice(b"CS");
    assert_eq!(kind(core_storage.clone()), Kind::FileVault);
    core_storage[10] = 0;
    assert!(matches!(kind(core_storage), Kind::Unknown { .. }));

    let mut mbr = vec![0; MIB];
    mbr[510..512].copy_from_slice(&[0x55, 0xaa]);
    assert!(matches!(kind(mbr.clone()), Kind::Unknown { .. }));
    mbr[446..462].copy_from_slice(&[0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0]);
    assert_eq!(kind(mbr), Kind::PartitionTable { name: "MBR" });
    // The signature in noise is not a partition table.
    let random = with(510, &[0x55, 0xaa]);
    assert!(matches!(random, Kind::Random { .. }), "{random}");
}

/// Contents from libblkid's and QEMU's tables: name, offset (from the end if negative), magic.
pub const PLACES: [(&str, i64, &[u8]); 49] = [
    ("linux_raid_member", 0, b"\xfc\x4e\x2b\xa9\x01\0\0\0"),
    ("linux_raid_member", 4096, b"\xfc\x4e\x2b\xa9\x01\0\0\0"),
    ("linux_raid_member", -8192, b"\xfc\x4e\x2b\xa9\x01\0\0\0"),
    ("linux_raid_member", -65_536, b"\xfc\x4e\x2b\xa9\0\0\0\0"),
    ("drbd", -4036, b"\x83\x74\x02\x6d"),
    ("isw_raid_member", -1024, b"Intel Raid ISM Cfg Sig. "),
    ("ddf_raid_member", -512, b"\xde\x11\xde\x11"),
    ("promise_fasttrack_raid_member", -32_256, b"Promise Technology, Inc."),
    ("LVM2_member", 1536, b"LABELONE"),
    ("LVM1_member", 0, b"HM\x01\0"),
    ("vdo", 0, b"dmvdo001"),
    ("stratis", 4612, b"!Stra0tis\x86\xff\x02^\x41rh"),
    ("bcache", 4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    ("bcachefs", 4120, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    ("zfs_member", 16_384, b"\x01\x01\0\0\0\0\0\0\0\0\0\x01"),
    ("zfs_member", 278_528, b"\x01\x01\0\0\0\0\0\0\0\0\0\x01"),
    ("zfs_member", -245_760, b"\x01\x01\0\0\0\0\0\0\0\0\0\x01"),
    ("VMFS_volume_member", 1 << 20, b"\x0d\xd0\x01\xc0"),
    ("VMFS", 2 << 20, b"\x5e\xf1\xab\x2f"),
    ("ReFS", 0, b"\0\0\0ReFS\0"),
    ("vfat", 54, b"FAT     "),
    ("squashfs", 0, b"hsqs"),
    ("erofs", 1024, b"\xe2\xe1\xf5\xe0"),
    ("cramfs", 0, b"\x45\x3d\xcd\x28"),
    ("romfs", 0, b"-rom1fs-"),
    ("apfs", 32, b"NXSB"),
    ("f2fs", 1024, b"\x10\x20\xf5\xf2"),
    ("hfsplus", 1024, b"H+\0\x04"),
    ("ocfs2", 8192, b"OCFSV2"),
    ("reiserfs", 65_588, b"ReIsEr2Fs"),
    ("reiser4", 65_536, b"ReIsEr4"),
    ("jfs", 32_768, b"JFS1"),
    ("udf", 32_769, b"BEA01"),
    ("gfs2", 65_536, b"\x01\x16\x19\x70"),
    ("ufs", 66_908, b"\x19\x01\x54\x19"),
    ("ubi", 0, b"UBI#"),
    ("ubifs", 0, b"\x31\x18\x10\x06"),
    ("swap", 65_526, b"SWAPSPACE2"),
    ("swsuspend", 4086, b"S1SUSPEND"),
    ("qcow2", 0, b"QFI\xfb"),
    ("vpc", -512, b"conectix"),
    ("vmdk", 0, b"\xbe\xba\xfe\xca\0\0\0\0"),
    ("dmg", -512, b"koly\0\0\0\x04\0\0\x02\0"),
    ("sparseimage", 0, b"sprs\0\0\0\x03"),
    ("encrcdsa", 0, b"encrcdsa\0\0\0\x02"),
    ("encrcdsa", -8, b"cdsaencr"),
    ("gpt", -512, b"EFI PART"),
    ("sgi", 0, b"\x0b\xe5\xa9\x41"),
    ("bsd", 512, b"\x57\x45\x56\x82"),
];

#[test]
fn everything_is_found_at_each_of_its_places() {
    const SIZE: usize = 4 * MIB;
    for (name, place, magic) in PLACES {
        let at = if place < 0 { SIZE - place.unsigned_abs() as usize } else { place as usize };
        for around in [noise(SIZE, 3), vec![0; SIZE]] {
            let is_random = around[0] != 0;
            let mut bytes = around;
            bytes[at..at + magic.len()].copy_from_slice(magic);
            let device = MemoryDevice::new(bytes);
            let [found] = &signatures(&device)[..] else {
                panic!("{name} at {place}: {:?}", signatures(&device));
            };
            assert_eq!((found.name, found.offset, found.at_end), (name, at as u64, place < 0));
            // If the start is not recognised, the end determines the result, but not if the rest is noise.
            let detected = detect(&device).unwrap();
            match detected.kind {
                Kind::Random { .. } => {
                    assert!(!matches!(name, "dmg" | "encrcdsa"), "{name}");
                    assert!(is_random && place < 0 && detected.notes.len() == 1, "{name}");
                }
                kind => assert!(kind == found.kind, "{name} at {place}: {kind}"),
            }
        }
    }
    // Nothing is recognised in random data, and LUKS only by its magic.
    for seed in 0..20 {
        assert_eq!(signatures(&MemoryDevice::new(noise(SIZE, seed))), []);
    }
    let mut bytes = vec![0; SIZE];
    bytes[..6].copy_from_slice(b"LUKS\xba\xbe");
    bytes[32 << 10..][..6].copy_from_slice(b"SKUL\xba\xbe");
    let places: Vec<_> = signatures(&MemoryDevice::new(bytes)).iter().map(|s| s.offset).collect();
    assert_eq!(places, [0, 32 << 10]);
}

/// Images of other programs can end anywhere, and devices are truncated to whole sectors.
#[test]
fn what_a_file_ends_with_is_seen_within_a_sector() {
    let file = tempfile::NamedTempFile::new_in(".").unwrap();
    for (len, rest, trailer, expected) in [
        (MIB, 100, &b"koly\0\0\0\x04\0\0\x02\0"[..], "Apple UDIF disk image"),
        (4096, 13, b"koly\0\0\0\x04\0\0\x02\0", "Apple UDIF disk image"),
        (MIB, 252, b"cdsaencr", "encrcdsa, version 1"),
        (MIB + 512, 3, b"cdsaencr", "encrcdsa, version 1"),
    ] {
        let mut bytes = noise(len + rest, 11);
        let at = bytes.len() - if trailer.len() == 8 { 8 } else { 512 };
        bytes[at..at + trailer.len()].copy_from_slice(trailer);
        std::fs::write(file.path(), &bytes).unwrap();
        for mode in [IoMode::Buffered, IoMode::Direct] {
            let device = match FileDevice::open(file.path(), mode, true) {
                Err(error) if mode == IoMode::Direct => {
                    eprintln!("SKIPPED: no direct I/O here: {error}");
                    continue;
                }
                device => Arc::new(device.unwrap()),
            };
            let found = detect(&*device).unwrap().kind;
            assert!(found.to_string().contains(expected), "{mode:?}: {found}");
            let obstacle = found.obstacle().unwrap().to_string();
            assert!(obstacle.contains("qemu-img convert -f dmg") || obstacle.contains("hdiutil"));
            // The same after other bytes, up to the end of the file.
            let sector = device.sector() as u64;
            if device.size() > sector {
                let part = Part::new(device, sector, None).unwrap();
                assert_eq!(detect(&part).unwrap().kind, found, "{mode:?}");
            }
        }
    }
}

#[test]
fn magics_of_two_bytes_need_more_than_that() {
    let with = |parts: &[(usize, &[u8])]| {
        let mut bytes = noise(MIB, 9);
        parts.iter().for_each(|(at, part)| bytes[*at..at + part.len()].copy_from_slice(part));
        signatures(&MemoryDevice::new(bytes)).iter().map(|s| s.name).collect::<Vec<_>>()
    };
    let hfs: &[(usize, &[u8])] = &[(1024, b"BD"), (1044, &[0, 0, 16, 0])];
    let nilfs: &[(usize, &[u8])] = &[(1024, &[2, 0, 0, 0]), (1030, &[0x34, 0x34])];
    let minix: &[(usize, &[u8])] = &[(1040, &[0x8f, 0x13, 1, 0]), (1024, &[1, 0]), (1034, &[0, 0])];
    let minix_3: &[(usize, &[u8])] = &[(1048, &[0x5a, 0x4d]), (1036, &[0; 4]), (1052, &[0, 16])];
    let apple: &[(usize, &[u8])] = &[(0, b"ER\x02\0"), (512, b"PM")];
    for (name, parts) in
        [("hfs", hfs), ("nilfs2", nilfs), ("minix", minix), ("minix", minix_3), ("mac", apple)]
    {
        assert_eq!(with(parts), [name]);
        assert!(with(&parts[..1]).is_empty(), "{name}");
    }
    // Sun's label: the XOR of its words is 0.
    let mut label = noise(512, 10);
    label[508..512].copy_from_slice(&[0xda, 0xbe, 0, 0]);
    let sum = label.chunks_exact(2).fold([0; 2], |sum, w| [sum[0] ^ w[0], sum[1] ^ w[1]]);
    assert!(with(&[(0, &label)]).is_empty());
    label[510..512].copy_from_slice(&sum);
    assert_eq!(with(&[(0, &label)]), ["sun"]);
}

#[test]
fn noise_zeros_and_text() {
    for seed in 0..40 {
        let found = kind(noise(2 * MIB, seed));
        let Kind::Random { randomness } = found else { panic!("{seed}: {found}") };
        assert!(randomness.entropy > 7.99 && randomness.bytes == 64 * 4096);
        assert!(found.to_string().contains("cannot be distinguished"));
    }
    assert_eq!(kind(vec![0; MIB]), Kind::Zeros);
    let text: Vec<u8> = b"the quick brown fox ".iter().copied().cycle().take(MIB).collect();
    assert!(matches!(kind(text), Kind::Unknown { .. }));
    // A volume that was created without being filled: a header, then zeros.
    let mut sparse = vec![0; 8 * MIB];
    sparse[..MIB / 8].copy_from_slice(&noise(MIB / 8, 3));
    assert!(matches!(kind(sparse), Kind::Random { .. }));
    // Small and empty devices.
    assert_eq!(kind(Vec::new()), Kind::Unreadable);
    assert!(matches!(kind(noise(512, 4)), Kind::Random { .. }));
    assert_eq!(kind(vec![0; 512]), Kind::Zeros);
}

/// Returns errors for a range, like a failing disk.
struct BadPlace {
    below: MemoryDevice,
    bad: std::ops::Range<u64>,
}

impl BlockDevice for BadPlace {
    fn size(&self) -> u64 {
        self.below.size()
    }

    fn sector(&self) -> usize {
        512
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if offset < self.bad.end && self.bad.start < offset + buf.len() as u64 {
            return Err(io::Error::other("medium error"));
        }
        self.below.read_at(offset, buf)
    }

    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn bad_places_are_named_and_the_rest_is_judged() {
    let mut btrfs = noise(MIB, 5);
    btrfs[65600..65608].copy_from_slice(b"_BHRfS_M");
    let disk = BadPlace { below: MemoryDevice::new(btrfs), bad: 5000..13_000 };
    let found = detect(&disk).unwrap();
    assert_eq!(found.kind, Kind::FileSystem { name: "btrfs" });
    let [(range, error)] = found.unreadable.as_slice() else { panic!("{:?}", found.unreadable) };
    assert_eq!((range.clone(), error.as_str()), (4096..16384, "medium error"));

    // The primary header is in the bad range, so the secondary one is used.
    let disk = BadPlace { below: MemoryDevice::new(luks(Version::Luks2).contents()), bad: 0..512 };
    let found = detect(&disk).unwrap();
    assert!(matches!(found.kind, Kind::Luks { version: 2, secondary_only: true, .. }));
    assert_eq!(found.unreadable.len(), 1);

    let dead = BadPlace { below: MemoryDevice::new(vec![1; MIB]), bad: 0..u64::MAX };
    let found = detect(&dead).unwrap();
    assert_eq!(found.kind, Kind::Unreadable);
    assert!(!found.unreadable.is_empty());
}
