//! What `detect` says of encrypted volumes, of file systems, of noise, and of disks with bad places.

use std::io;
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, MemoryDevice, write_bytes};
use cryptbench_kdf::Effort;
use cryptbench_volume::detect::{Kind, detect};
use cryptbench_volume::format::luks::{CreateOptions, Resources, Version, create};
use cryptbench_volume::{Credentials, Secret};

const MIB: usize = 1 << 20;

/// Bytes of a generator without a seed from outside (splitmix64): the same on every run.
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
    // The primary gone.
    let half = luks(Version::Luks2);
    write_bytes(&*half, 0, &[0; 4096]).unwrap();
    let found = detect(&*half).unwrap();
    assert!(matches!(found.kind, Kind::Luks { version: 2, secondary_only: true, .. }));
    // A file system in its place.
    write_bytes(&*half, 1080, b"\x53\xef").unwrap();
    let found = detect(&*half).unwrap();
    assert!(matches!(found.kind, Kind::FileSystem { name: "ext2, ext3 or ext4" }));
    assert_eq!(found.notes.len(), 1);
    // Both damaged.
    let damaged = luks(Version::Luks2);
    write_bytes(&*damaged, 4096, b"?").unwrap();
    write_bytes(&*damaged, (16 << 10) + 4096, b"?").unwrap();
    let Kind::Luks { version: 2, problem: Some(problem), .. } = detect(&*damaged).unwrap().kind
    else {
        panic!("not recognised");
    };
    assert!(problem.contains("checksum"), "{problem}");
    // A version that there is not.
    let later = luks(Version::Luks1);
    write_bytes(&*later, 6, &[0, 9]).unwrap();
    let found = detect(&*later).unwrap().kind;
    assert!(matches!(found, Kind::Luks { version: 9, problem: Some(_), .. }), "{found}");
}

#[test]
fn magics() {
    let with = |at: usize, magic: &[u8]| {
        // In noise, so that nothing but the magic tells.
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
        (1080, b"\x53\xef", "ext2, ext3 or ext4"),
        (65600, b"_BHRfS_M", "btrfs"),
        (512, b"LABELONE", "LVM2 physical volume"),
        (4086, b"SWAPSPACE2", "swap"),
    ] {
        assert_eq!(with(at, magic), Kind::FileSystem { name: expected });
        assert!(with(at, magic).is_plain());
    }
    assert_eq!(with(512, b"EFI PART"), Kind::PartitionTable { name: "GPT" });
    assert_eq!(with(4096, b"EFI PART"), Kind::PartitionTable { name: "GPT" });

    // BitLocker To Go says FAT32 as well.
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
    // The signature in noise makes no partition table.
    let random = with(510, &[0x55, 0xaa]);
    assert!(matches!(random, Kind::Random { .. }), "{random}");
}

#[test]
fn noise_zeros_and_text() {
    for seed in 0..40 {
        let found = kind(noise(2 * MIB, seed));
        let Kind::Random { randomness } = found else { panic!("{seed}: {found}") };
        assert!(randomness.entropy > 7.99 && randomness.bytes == 64 * 4096);
        assert!(found.to_string().contains("cannot be told"));
    }
    assert_eq!(kind(vec![0; MIB]), Kind::Zeros);
    let text: Vec<u8> = b"the quick brown fox ".iter().copied().cycle().take(MIB).collect();
    assert!(matches!(kind(text), Kind::Unknown { .. }));
    // A volume that was created without filling it: a header, then zeros.
    let mut sparse = vec![0; 8 * MIB];
    sparse[..MIB / 8].copy_from_slice(&noise(MIB / 8, 3));
    assert!(matches!(kind(sparse), Kind::Random { .. }));
    // Small and empty.
    assert_eq!(kind(Vec::new()), Kind::Unreadable);
    assert!(matches!(kind(noise(512, 4)), Kind::Random { .. }));
    assert_eq!(kind(vec![0; 512]), Kind::Zeros);
}

/// Gives errors within a range, as a failing disk.
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

    // The primary header lies in the bad place: the secondary tells.
    let disk = BadPlace { below: MemoryDevice::new(luks(Version::Luks2).contents()), bad: 0..512 };
    let found = detect(&disk).unwrap();
    assert!(matches!(found.kind, Kind::Luks { version: 2, secondary_only: true, .. }));
    assert_eq!(found.unreadable.len(), 1);

    let dead = BadPlace { below: MemoryDevice::new(vec![1; MIB]), bad: 0..u64::MAX };
    let found = detect(&dead).unwrap();
    assert_eq!(found.kind, Kind::Unreadable);
    assert!(!found.unreadable.is_empty());
}
