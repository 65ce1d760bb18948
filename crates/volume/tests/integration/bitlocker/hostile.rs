//! Volumes that nobody should write: modified without the key, truncated, or made up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cryptbench_blockdev::MemoryDevice;
use cryptbench_volume::format::bitlocker::info;
use cryptbench_volume::{Access, Credentials, OpenOptions, VolumeError, open};
use proptest::prelude::*;

use super::volumes::{
    KIB, PASSWORD, SIZE, block_len, contents, copies, crc32, edit, open_bytes, open_writable,
    volume,
};
use super::{options, passphrase};

/// The error of opening with the right password.
fn refusal(bytes: &[u8]) -> VolumeError {
    open_bytes(bytes, &passphrase(PASSWORD)).unwrap_err()
}

fn put(copy: &mut [u8], at: usize, bytes: &[u8]) {
    copy[at..at + bytes.len()].copy_from_slice(bytes);
}

#[test]
fn whoever_changes_the_metadata_without_the_key_is_found_out() {
    let whole = volume();
    let first = u64::from_le_bytes(whole[copies(&whole)[0] + 56..][..8].try_into().unwrap());
    // The checksum is valid in all of them. Each would yield another plaintext.
    type Change<'a> = (&'a str, Box<dyn Fn(&mut [u8])>);
    let changes: [Change<'_>; 7] = [
        ("less_is_encrypted", Box::new(|copy| put(copy, 16, &(64_u64 << 10).to_le_bytes()))),
        ("conversion_paused", Box::new(|copy| put(copy, 12, &3_u16.to_le_bytes()))),
        ("another_method", Box::new(|copy| put(copy, 100, &0x8005_u16.to_le_bytes()))),
        ("another_identifier", Box::new(|copy| copy[80] ^= 1)),
        ("another_time", Box::new(|copy| copy[104] ^= 1)),
        ("another_description", Box::new(|copy| copy[120] ^= 1)),
        (
            "first_sectors_elsewhere",
            Box::new(move |copy| {
                let len = block_len(copy);
                let at = copy[..len].windows(8).rposition(|bytes| bytes == first.to_le_bytes());
                put(copy, at.unwrap(), &(first - 8192).to_le_bytes());
            }),
        ),
    ];
    for (name, change) in changes {
        let mut bytes = whole.clone();
        edit(&mut bytes, change);
        let refused = refusal(&bytes);
        assert!(matches!(refused, VolumeError::Damaged { .. }), "{name}: {refused}");
        assert!(refused.to_string().contains("without the key"), "{name}: {refused}");
    }
    // Omitting the digest is not sufficient either.
    let mut bytes = whole;
    edit(&mut bytes, |copy| {
        let len = block_len(copy);
        put(copy, len, &8_u16.to_le_bytes());
    });
    assert!(refusal(&bytes).to_string().contains("no sealed digest"));
}

#[test]
fn metadata_that_cannot_be() {
    let whole = volume();
    type Change<'a> = (&'a str, Box<dyn Fn(&mut [u8])>);
    let defects: [Change<'_>; 12] = [
        ("signature", Box::new(|copy| copy[0] = b'+')),
        ("version_3", Box::new(|copy| copy[10] = 3)),
        ("entries_longer_than_the_block", Box::new(|copy| put(copy, 64, &u32::MAX.to_le_bytes()))),
        ("entries_in_the_header", Box::new(|copy| put(copy, 72, &8_u32.to_le_bytes()))),
        ("entries_end_before_they_begin", Box::new(|copy| put(copy, 64, &47_u32.to_le_bytes()))),
        ("entry_of_one_byte", Box::new(|copy| put(copy, 112, &1_u16.to_le_bytes()))),
        ("entry_longer_than_all", Box::new(|copy| put(copy, 112, &u16::MAX.to_le_bytes()))),
        ("copies_elsewhere", Box::new(|copy| (32..56).for_each(|at| copy[at] = 0))),
        ("unknown_state", Box::new(|copy| put(copy, 12, &77_u16.to_le_bytes()))),
        ("converting", Box::new(|copy| put(copy, 12, &2_u16.to_le_bytes()))),
        (
            "first_sectors_outside",
            Box::new(|copy| {
                let place = copy[56..64].to_vec();
                let len = block_len(copy);
                let at = copy[64..len].windows(8).rposition(|b| b == place).unwrap() + 64;
                put(copy, at, &(SIZE as u64 - 512).to_le_bytes());
            }),
        ),
        (
            "first_sectors_huge",
            Box::new(|copy| {
                let place = copy[56..64].to_vec();
                let len = block_len(copy);
                let at = copy[64..len].windows(8).rposition(|b| b == place).unwrap() + 72;
                put(copy, at, &(u64::MAX - 511).to_le_bytes());
            }),
        ),
    ];
    for (name, change) in defects {
        let mut bytes = whole.clone();
        edit(&mut bytes, change);
        // Without a password: none of them reaches the point at which a password is stretched.
        let begin = Instant::now();
        let refused = open_bytes(&bytes, &passphrase(PASSWORD)).unwrap_err();
        assert!(
            matches!(refused, VolumeError::Damaged { .. } | VolumeError::Unsupported { .. }),
            "{name}: {refused}"
        );
        assert!(begin.elapsed() < Duration::from_secs(5), "{name}");
        let _ = info(&MemoryDevice::new(bytes));
    }
    let mut bytes = whole;
    for at in copies(&bytes) {
        bytes[at + 64] ^= 1;
    }
    assert!(refusal(&bytes).to_string().contains("checksum"));
}

#[test]
fn one_valid_copy_is_enough_and_the_others_are_told() {
    let whole = volume();
    let expected = contents(&open_bytes(&whole, &passphrase(PASSWORD)).unwrap());
    let places = copies(&whole);
    for left in 0..3 {
        let mut bytes = whole.clone();
        for (_, at) in places.iter().enumerate().filter(|(index, _)| *index != left) {
            bytes[*at + 200] ^= 1;
        }
        let volume = open_bytes(&bytes, &passphrase(PASSWORD)).unwrap();
        assert!(contents(&volume) == expected, "copy {left}");
        let told = volume.info().details.iter().filter(|(name, _)| *name == "damaged copy").count();
        assert_eq!(told, 2);
        let info = info(&MemoryDevice::new(bytes)).unwrap();
        assert_eq!(info.copies.iter().filter(|(_, problem)| problem.is_some()).count(), 2);
    }
}

#[test]
fn boot_sectors_that_cannot_be() {
    let whole = volume();
    for (name, at, value) in [
        ("sector_of_513_bytes", 11, &513_u16.to_le_bytes()[..]),
        ("sector_of_64_kib", 11, &32768_u16.to_le_bytes()),
        ("no_signature", 3, b"NTFS    "),
        ("no_identifier", 160, &[0; 16]),
        ("metadata_nowhere", 176, &[0; 24]),
        ("metadata_outside", 176, &[0xff; 24]),
    ] {
        let mut bytes = whole.clone();
        put(&mut bytes, at, value);
        let refused = refusal(&bytes);
        assert!(
            matches!(refused, VolumeError::Damaged { .. } | VolumeError::NotThisFormat { .. }),
            "{name}: {refused}"
        );
    }
}

#[test]
fn truncated_devices() {
    let whole = volume();
    let all = copies(&whole)[0];
    for len in [512, 1024, 8192, all, all + 512, all + 1024] {
        let refused = refusal(&whole[..len]);
        assert!(!matches!(refused, VolumeError::NoKeyFits(_)), "{len}: {refused}");
        let _ = info(&MemoryDevice::new(whole[..len].to_vec()));
    }
    // The first sectors are in the missing part.
    let refused = refusal(&whole[..all + 192 * KIB]);
    assert!(refused.to_string().contains("first 8192 bytes"), "{refused}");
    // Only data follows them.
    let shorter = &whole[..all + 200 * KIB];
    let opened = open_bytes(shorter, &passphrase(PASSWORD)).unwrap();
    assert_eq!(cryptbench_blockdev::BlockDevice::size(&opened), shorter.len() as u64);
}

/// The metadata of a volume with another header, as Windows Vista wrote it: a signature in NTFS's
/// boot sector, and a block of version 1. The sealed keys are the same.
fn vista(state: (u16, u16), encrypted: u64) -> Vec<u8> {
    let mut bytes = volume();
    let [first, ..] = copies(&bytes);
    let copy = bytes[first..first + 64 * KIB].to_vec();
    let len = block_len(&copy);
    let places = [512 * KIB, 768 * KIB, 1024 * KIB];
    let mut block = copy[..len].to_vec();
    put(&mut block, 8, &(len as u16).to_le_bytes());
    put(&mut block, 10, &1_u16.to_le_bytes());
    put(&mut block, 12, &state.0.to_le_bytes());
    put(&mut block, 14, &state.1.to_le_bytes());
    put(&mut block, 16, &encrypted.to_le_bytes());
    for (index, at) in places.iter().enumerate() {
        put(&mut block, 32 + 8 * index, &(*at as u64).to_le_bytes());
    }
    // The value that NTFS has at the offset of the cluster number.
    put(&mut block, 56, &0x1234_u64.to_le_bytes());
    block.extend(8_u16.to_le_bytes());
    block.extend(1_u16.to_le_bytes());
    block.extend(crc32(&block[..len]).to_le_bytes());
    for at in places {
        put(&mut bytes, at, &block);
    }
    bytes[..512].fill(0);
    put(&mut bytes, 0, b"\xeb\x52\x90-FVE-FS-");
    put(&mut bytes, 11, &512_u16.to_le_bytes());
    bytes[13] = 8;
    put(&mut bytes, 40, &(SIZE as u64 / 512 - 1).to_le_bytes());
    put(&mut bytes, 56, &(512 * KIB as u64 / 4096).to_le_bytes());
    // NTFS stores a copy in the last sector.
    bytes.copy_within(..512, SIZE - 512);
    bytes
}

#[test]
fn the_layout_of_windows_vista_is_read() {
    let bytes = vista((4, 4), 0);
    let volume = open_bytes(&bytes, &passphrase(PASSWORD)).unwrap();
    let plain = contents(&volume);
    // The boot sector is NTFS's again, and the rest is unchanged.
    assert_eq!(&plain[3..11], b"NTFS    ");
    assert_eq!(plain[56..64], 0x1234_u64.to_le_bytes());
    assert!(plain[64..8192] == bytes[64..8192]);
    assert!(plain[SIZE - 512..] == plain[..512], "and so is its copy");
    // Zeros in the volume from which this one was made are at the same offset.
    assert!(plain[8192..512 * KIB].iter().all(|&byte| byte == 0));
    for at in [512 * KIB, 768 * KIB, 1024 * KIB] {
        assert!(plain[at..at + 16 * KIB].iter().all(|&byte| byte == 0), "{at}");
    }
    assert!(plain[1040 * KIB..1041 * KIB] != bytes[1040 * KIB..1041 * KIB]);
    let info = info(&MemoryDevice::new(bytes.clone())).unwrap();
    assert_eq!((info.version, info.obstacle), ("vista", None));
    let writable = open_writable(&Arc::new(MemoryDevice::new(bytes)), &passphrase(PASSWORD));
    let refused = writable.unwrap_err();
    assert!(refused.to_string().contains("read-only"), "{refused}");
    // If a volume does not state how much is encrypted, that is unknown.
    let refused = refusal(&vista((3, 1), 0));
    assert!(matches!(refused, VolumeError::Unsupported { .. }), "{refused}");
}

#[test]
fn beyond_the_encrypted_part_the_bytes_are_as_they_are() {
    let end = 256 * KIB;
    let bytes = vista((3, 1), end as u64);
    let volume = open_bytes(&bytes, &passphrase(PASSWORD)).unwrap();
    let plain = contents(&volume);
    assert!(plain[8192..end].iter().all(|&byte| byte == 0));
    assert!(plain[end..512 * KIB] == bytes[end..512 * KIB]);
    let told = ("encrypted", format!("{end} of {SIZE} bytes"));
    assert!(volume.info().details.contains(&told), "{:?}", volume.info().details);
}

/// Size of a chunk in the maps below.
const CHUNK: usize = 64 * KIB;
/// Offsets of the description and the map in a volume with maps.
const MAPS: (usize, usize) = (512 * KIB, 513 * KIB);

/// A volume with a map of the encrypted chunks, with one bit per chunk.
fn on_write(bits: u64, change: impl Fn(&mut [u8], &mut [u8])) -> Vec<u8> {
    let mut bytes = volume();
    put(&mut bytes, 160, b"\x3b\x4d\xa8\x92\x80\xdd\x0e\x4d\x9e\x4e\xb1\xe3\x28\x4e\xae\xd8");
    put(&mut bytes, 200, &(MAPS.0 as u64).to_le_bytes());
    let mut description = vec![0; 64];
    put(&mut description, 0, b"FVE-EOW\0");
    for (at, number) in [(8, 56_u16), (10, 64)] {
        put(&mut description, at, &number.to_le_bytes());
    }
    for (at, number) in [(12, 512_u32), (16, 512), (20, CHUNK as u32), (24, 1024), (32, 1)] {
        put(&mut description, at, &number.to_le_bytes());
    }
    put(&mut description, 56, &(MAPS.1 as u64).to_le_bytes());
    let mut map = vec![0; 1536];
    put(&mut map, 0, b"FVE-EOWBM\0");
    put(&mut map, 10, &60_u16.to_le_bytes());
    put(&mut map, 12, &1536_u32.to_le_bytes());
    put(&mut map, 28, &(SIZE as u64).to_le_bytes());
    put(&mut map, 36, &(600 * KIB as u64).to_le_bytes());
    for (at, number) in [(44, 512_u32), (48, 1024), (52, 512)] {
        put(&mut map, at, &number.to_le_bytes());
    }
    // The older record states the opposite.
    for (at, sequence, bits) in [(512, 5_u64, bits), (1024, 4, !bits)] {
        put(&mut map, at, b"FVE-EOWBR\0");
        put(&mut map, at + 10, &36_u16.to_le_bytes());
        put(&mut map, at + 12, &512_u32.to_le_bytes());
        put(&mut map, at + 16, &((SIZE / CHUNK) as u32).to_le_bytes());
        put(&mut map, at + 20, &sequence.to_le_bytes());
        put(&mut map, at + 36, &bits.to_le_bytes());
    }
    change(&mut description, &mut map);
    for at in [512, 1024] {
        let crc = crc32(&map[at..at + 512]);
        put(&mut map, at + 32, &crc.to_le_bytes());
    }
    let crc = crc32(&map[..512]);
    put(&mut map, 56, &crc.to_le_bytes());
    let crc = crc32(&description);
    put(&mut description, 36, &crc.to_le_bytes());
    put(&mut bytes, MAPS.0, &description);
    put(&mut bytes, MAPS.1, &map);
    bytes
}

#[test]
fn maps_say_what_is_encrypted() {
    // The first sectors are in the very last chunk.
    let bits: u64 = 1 << 31 | 0b1101;
    let bytes = on_write(bits, |_, _| {});
    let volume = open_bytes(&bytes, &passphrase(PASSWORD)).unwrap();
    let plain = contents(&volume);
    assert!(plain[..8192].iter().all(|&byte| byte == 0), "the first sectors are encrypted");
    for chunk in 0..8 {
        let range = (chunk * CHUNK).max(8192)..(chunk + 1) * CHUNK;
        if bits >> chunk & 1 == 1 {
            assert!(plain[range].iter().all(|&byte| byte == 0), "chunk {chunk}");
        } else {
            assert!(plain[range.clone()] == bytes[range], "chunk {chunk}");
        }
    }
    // The description, the map and the log read as zeros.
    for (at, len) in [(MAPS.0, 512), (MAPS.1, 1536), (600 * KIB, 1024)] {
        assert!(plain[at..at + len].iter().all(|&byte| byte == 0), "{at}");
    }
    // If the last chunk is not encrypted, neither are the first sectors, wherever they are.
    let bytes = on_write(0, |_, _| {});
    let plain = contents(&open_bytes(&bytes, &passphrase(PASSWORD)).unwrap());
    let first = info(&MemoryDevice::new(bytes.clone())).unwrap().first_sectors.unwrap().0 as usize;
    assert!(plain[..8192] == bytes[first..first + 8192]);
    let device = Arc::new(MemoryDevice::new(bytes));
    assert!(
        open_writable(&device, &passphrase(PASSWORD))
            .unwrap_err()
            .to_string()
            .contains("read-only")
    );
}

#[test]
fn maps_that_cannot_be_are_refused() {
    type Change<'a> = (&'a str, fn(&mut [u8], &mut [u8]));
    let defects: [Change<'_>; 11] = [
        ("no_description", |d, _| d[0] = 0),
        ("description_without_end", |d, _| put(d, 10, &u16::MAX.to_le_bytes())),
        ("another_number_of_maps", |d, _| put(d, 32, &2_u32.to_le_bytes())),
        ("chunks_of_nothing", |d, _| put(d, 20, &[0; 4])),
        ("chunks_of_one_byte", |d, _| put(d, 20, &1_u32.to_le_bytes())),
        ("map_outside", |d, _| put(d, 56, &u64::MAX.to_le_bytes())),
        ("map_huge", |_, m| put(m, 12, &u32::MAX.to_le_bytes())),
        ("region_without_end", |_, m| put(m, 20, &(u64::MAX - 1023).to_le_bytes())),
        ("region_larger_than_its_bits", |_, m| put(m, 28, &(1_u64 << 50).to_le_bytes())),
        ("records_outside", |_, m| put(m, 52, &u32::MAX.to_le_bytes())),
        ("more_bits_than_bytes", |_, m| {
            put(m, 528, &u32::MAX.to_le_bytes());
            put(m, 1040, &u32::MAX.to_le_bytes());
        }),
    ];
    for (name, change) in defects {
        let bytes = on_write(u64::MAX, change);
        let refused = refusal(&bytes);
        assert!(matches!(refused, VolumeError::Unsupported { .. }), "{name}: {refused}");
        assert!(refused.to_string().contains("map"), "{name}: {refused}");
        assert!(info(&MemoryDevice::new(bytes)).unwrap().obstacle.is_some(), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// No change of the metadata may cause the parser to panic or hang, or open a volume for which nobody has a
    /// key.
    #[test]
    fn changed_metadata_never_panic(
        changes in proptest::collection::vec((0_usize..1100, any::<u8>()), 1..6),
        boot in proptest::collection::vec((11_usize..216, any::<u8>()), 0..2),
    ) {
        let mut bytes = volume();
        edit(&mut bytes, |copy| {
            // After the size, on which the checksum depends.
            for (at, byte) in &changes {
                if !(8..10).contains(at) {
                    copy[*at] = *byte;
                }
            }
        });
        for (at, byte) in boot {
            bytes[at] = byte;
        }
        let _ = info(&MemoryDevice::new(bytes.clone()));
        let opened = open(
            Arc::new(MemoryDevice::new(bytes)),
            &Credentials::default(),
            &OpenOptions { access: Access::ReadOnly, format: Some("bitlocker"), ..options() },
        );
        prop_assert!(opened.is_err());
    }

    #[test]
    fn changed_maps_never_panic(
        changes in proptest::collection::vec((0_usize..1600, any::<u8>()), 1..6),
    ) {
        let bytes = on_write(u64::MAX, |description, map| {
            for (at, byte) in &changes {
                match description.get_mut(*at) {
                    Some(place) => *place = *byte,
                    None => map[*at - 64] = *byte,
                }
            }
        });
        let _ = info(&MemoryDevice::new(bytes.clone()));
        let _ = open_bytes(&bytes, &Credentials::default());
    }
}

#[test]
fn a_cluster_that_is_larger_than_any_number_says_so() {
    let mut bytes = volume();
    // Without its identifier, it counts as a Windows Vista volume.
    bytes[160..176].fill(0);
    bytes[13] = 0xc1;
    let refused = info(&MemoryDevice::new(bytes)).map(drop).unwrap_err();
    assert!(refused.to_string().contains("cluster size"), "{refused}");
}
