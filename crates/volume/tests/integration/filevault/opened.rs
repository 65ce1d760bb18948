//! Which credentials open which volumes, and that the plaintext is the one that was encrypted.

use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_volume::VolumeError;
use cryptbench_volume::detect::{Kind, detect};
use cryptbench_volume::format::filevault::{derivations, info};

use super::maker::{BLOCK, FREE, MASTER, Maker, PASSWORD, RECOVERY, Stored, volume_key};
use super::{contents, key_file, open_bytes, open_writable, passphrase, recovery};

/// Every layout that can be opened.
fn layouts() -> Vec<(&'static str, Maker)> {
    let plain = Maker::default();
    let scattered = vec![(10, FREE + 40, 6, 0), (0, FREE + 2, 10, 0), (16, FREE + 14, 16, 0)];
    vec![
        ("plain", plain.clone()),
        ("compressed", Maker { stored: Stored::Compressed, ..plain.clone() }),
        ("with_base", Maker { base: Some(FREE), segments: vec![(0, 4, 32, 0)], ..plain.clone() }),
        ("segments", Maker { segments: scattered.clone(), ..plain.clone() }),
        (
            "segments_with_base",
            Maker {
                base: Some(FREE),
                segments: scattered.iter().map(|s| (s.0, s.1 - FREE, s.2, s.3)).collect(),
                ..plain.clone()
            },
        ),
        (
            "segment_behind_the_end",
            Maker { segments: vec![(0, FREE, 32, 0), (40, FREE, 8, 1)], ..plain.clone() },
        ),
        ("longer_segment", Maker { segments: vec![(0, FREE, 40, 0)], ..plain.clone() }),
        ("encrypted_from_the_start", Maker { state: "NoConversion", ..plain }),
    ]
}

#[test]
fn every_layout_opens_by_every_credential() {
    for (name, maker) in layouts() {
        let image = maker.image();
        assert_eq!(detect(&MemoryDevice::new(image.clone())).unwrap().kind, Kind::FileVault);
        let expected = maker.plaintext();
        let unhyphened = RECOVERY.replace('-', "").to_lowercase();
        for (index, (credentials, with)) in [
            (passphrase(PASSWORD), "password, pbkdf2 sha-256, 20 iterations"),
            (recovery(RECOVERY), "recovery password, pbkdf2 sha-256, 10 iterations"),
            (passphrase(RECOVERY), "recovery password, pbkdf2 sha-256, 10 iterations"),
            (passphrase(&unhyphened), "recovery password, pbkdf2 sha-256, 10 iterations"),
            (key_file(&volume_key(), ""), "volume key"),
            (key_file(&MASTER, ""), "volume key"),
        ]
        .iter()
        .enumerate()
        {
            let volume = open_bytes(&image, credentials)
                .unwrap_or_else(|error| panic!("{name}, credential {index}: {error}"));
            assert_eq!(volume.info().derivation, *with, "{name}");
            assert!(contents(&volume) == expected, "{name}, credential {index}");
            // Requests with arbitrary starts and ends.
            for (at, len) in [(0, 512), (9 * BLOCK + 512, 3 * BLOCK), (31 * BLOCK, BLOCK)] {
                let mut part = vec![0; len];
                volume.read_at(at as u64, &mut part).unwrap();
                assert!(part == expected[at..at + len], "{name} {at}");
            }
        }
        let told = info(&MemoryDevice::new(image.clone())).unwrap();
        assert_eq!((told.obstacle, told.size), (None, expected.len() as u64), "{name}");
        assert_eq!(told.name.as_deref(), Some("Ünbenannt"));
        assert_eq!(told.group_name.as_deref(), Some("TestLVG"));
        let users: Vec<_> =
            told.users.iter().map(|user| (&*user.opens_with, user.iterations)).collect();
        assert_eq!(users, [("password", Some(20)), ("recovery password", Some(10))]);
        assert_eq!(derivations(&MemoryDevice::new(image)).unwrap().len(), 2);
    }
}

#[test]
fn what_does_not_fit_opens_nothing() {
    let image = Maker::default().image();
    let mut other = volume_key();
    other[31] ^= 1;
    for credentials in [
        passphrase("another password"),
        passphrase(""),
        recovery("35AJ-AC98-TI1H-N4M3-HDUQ-UQFX"),
        key_file(&other, ""),
        key_file(&[7; 16], ""),
    ] {
        let refused = open_bytes(&image, &credentials).unwrap_err();
        assert!(matches!(refused, VolumeError::NoKeyFits(_)), "{refused}");
    }
    for (credentials, word) in [
        (recovery("471207-278498"), "six groups"),
        (key_file(b"neither", PASSWORD), "EncryptedRoot"),
        (key_file(&[9; 4096], PASSWORD), "EncryptedRoot"),
        (cryptbench_volume::Credentials { pim: Some(1), ..passphrase(PASSWORD) }, "PIM"),
    ] {
        let refused = open_bytes(&image, &credentials).unwrap_err();
        assert!(matches!(refused, VolumeError::Invalid(_)), "{refused}");
        assert!(refused.to_string().contains(word), "{refused}");
    }
}

#[test]
fn the_keys_of_a_system_are_in_a_file() {
    let (image, file) = Maker { stored: Stored::Wiped, ..Maker::default() }.make();
    let expected = Maker::default().plaintext();
    let refused = open_bytes(&image, &passphrase(PASSWORD)).unwrap_err();
    assert!(matches!(refused, VolumeError::CannotOpen { .. }), "{refused}");
    assert!(refused.to_string().contains("EncryptedRoot.plist.wipekey"), "{refused}");
    let told = info(&MemoryDevice::new(image.clone())).unwrap().obstacle.unwrap();
    assert!(told.contains("EncryptedRoot.plist.wipekey"), "{told}");
    for file_rest in [0, 1, 9, 15] {
        let (_, file) = Maker { file_rest, ..Maker::default() }.make();
        assert_eq!(file.len() % 16, file_rest);
        for secret in [PASSWORD, RECOVERY] {
            let volume = open_bytes(&image, &key_file(&file, secret)).unwrap();
            assert!(contents(&volume) == expected, "{file_rest}");
        }
    }
    let refused = open_bytes(&image, &key_file(&file, "another password")).unwrap_err();
    assert!(matches!(refused, VolumeError::NoKeyFits(_)), "{refused}");
    // With the volume key, no file is needed, even if the keys are stored elsewhere.
    assert!(contents(&open_bytes(&image, &key_file(&volume_key(), "")).unwrap()) == expected);
}

#[test]
fn a_file_of_another_mac_opens_nothing() {
    let image = Maker { stored: Stored::Wiped, ..Maker::default() }.image();
    let device = Arc::new(MemoryDevice::new(image));
    let own = Maker::default().property_list();
    let volume = open_writable(&device, &key_file(&own, PASSWORD)).unwrap();
    assert!(contents(&volume) == Maker::default().plaintext());
    let other = Maker { wrapped: *b"of another disk.", ..Maker::default() }.property_list();
    let refused = open_writable(&device, &key_file(&other, PASSWORD)).unwrap_err();
    assert!(matches!(refused, VolumeError::NoKeyFits(_)), "{refused}");
}

#[test]
fn what_it_costs_to_try_every_key_is_known_if_the_metadata_are() {
    let system = Maker { stored: Stored::Wiped, ..Maker::default() }.image();
    assert!(derivations(&MemoryDevice::new(system)).is_some_and(|all| all.is_empty()));
    assert!(derivations(&MemoryDevice::new(vec![0; 1 << 20])).is_none());
}

#[test]
fn data_are_written_and_metadata_are_not() {
    for (name, maker) in layouts() {
        let before = maker.image();
        let device = Arc::new(MemoryDevice::new(before.clone()));
        let volume = open_writable(&device, &passphrase(PASSWORD)).unwrap();
        assert!(!volume.is_read_only());
        let mut expected = maker.plaintext();
        for (at, byte) in [(512, 1_u8), (9 * BLOCK, 2), (15 * BLOCK + 512, 3), (31 * BLOCK, 4)] {
            let data = vec![byte; BLOCK];
            volume.write_at(at as u64, &data).unwrap();
            expected[at..at + BLOCK].copy_from_slice(&data);
        }
        volume.flush().unwrap();
        let after = device.contents();
        let free = FREE as usize * BLOCK;
        assert!(after[..free] == before[..free], "{name}: metadata");
        assert!(after[after.len() - 512..] == before[before.len() - 512..], "{name}: header");
        assert!(
            contents(&open_bytes(&after, &passphrase(PASSWORD)).unwrap()) == expected,
            "{name}"
        );
        // Only the four written blocks have changed, except for bytes that are equal by chance.
        let changed = after.iter().zip(&before).filter(|(a, b)| a != b).count();
        assert!(changed <= 4 * BLOCK && changed > 3 * BLOCK, "{name}: {changed}");
    }
}
