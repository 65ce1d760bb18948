//! Keys are added, removed and changed; headers are backed up, restored and repaired.

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_kdf::Argon2Kind;
use cryptbench_volume::format::luks::{
    KeyOptions, Removal, Version, add_key, backup_header, change_key, create, info, open_with,
    remove_key, repair, restore_header,
};
use cryptbench_volume::{Credentials, Secret, VolumeError};

use crate::luks::volumes::{
    argon2, cheap, contents, key_options, open, opens, passphrase, pattern, resources, volume,
    writable,
};

const BOTH: [Version; 2] = [Version::Luks1, Version::Luks2];

fn area(device: &MemoryDevice, id: u32) -> Vec<u8> {
    let said = info(device).unwrap();
    let slot = said.keyslots.iter().find(|slot| slot.id == id).unwrap();
    let (offset, len) = slot.area.unwrap();
    device.contents()[offset as usize..][..len as usize].to_vec()
}

#[test]
fn a_second_key_opens_the_same_data_until_it_is_removed() {
    for version in BOTH {
        let device = volume(&cheap(version));
        open(&device, "first").unwrap().write_at(0, &pattern(4096)).unwrap();
        let keyfile =
            Credentials { keyfiles: vec![Secret::new(pattern(700))], ..Credentials::default() };
        let wrong = add_key(&*device, &passphrase("wrong"), &keyfile, &key_options());
        assert!(matches!(wrong, Err(VolumeError::NoKeyFits(_))));
        let id = add_key(&*device, &passphrase("first"), &keyfile, &key_options()).unwrap();
        assert_eq!(id, 1);
        let second = open_with(device.clone(), &keyfile, &writable()).unwrap();
        assert_eq!(contents(&second)[..4096], pattern(4096));
        assert!(opens(&device, "first"));

        let material = area(&device, 1);
        let place = info(&*device).unwrap().keyslots[1].area.unwrap();
        let elsewhere = Removal::Credentials(&keyfile, Some(0));
        let refused = remove_key(&*device, elsewhere, false, &resources());
        assert!(matches!(refused, Err(VolumeError::NoKeyFits(_))));
        let removal = Removal::Credentials(&keyfile, Some(1));
        assert_eq!(remove_key(&*device, removal, false, &resources()).unwrap(), 1);
        let now = &device.contents()[place.0 as usize..][..place.1 as usize];
        // Random bytes are equal with a probability of 1 in 256.
        let same = now.iter().zip(&material).filter(|(a, b)| a == b).count();
        assert!(same < now.len() / 200, "{same} of {} bytes survived", now.len());
        let gone = open_with(device.clone(), &keyfile, &writable());
        assert!(matches!(gone, Err(VolumeError::NoKeyFits(_))));
        assert!(opens(&device, "first"));
    }
}

#[test]
fn the_last_key_goes_only_by_force() {
    for version in BOTH {
        let device = volume(&cheap(version));
        let before = device.contents();
        let removal = Removal::Credentials(&passphrase("first"), None);
        for removal in [removal, Removal::Keyslot(0)] {
            let refused = remove_key(&*device, removal, false, &resources());
            assert!(matches!(refused, Err(VolumeError::Invalid(_))));
            assert!(device.contents() == before);
        }
        remove_key(&*device, Removal::Keyslot(0), true, &resources()).unwrap();
        assert!(!opens(&device, "first"));
        assert!(remove_key(&*device, Removal::Keyslot(0), true, &resources()).is_err());
    }
}

#[test]
fn a_changed_key_replaces_the_old_one() {
    for version in BOTH {
        let device = volume(&cheap(version));
        let (old, new) = (passphrase("first"), passphrase("new"));
        change_key(&*device, &old, &new, &key_options()).unwrap();
        assert!(opens(&device, "new") && !opens(&device, "first"));
        assert_eq!(info(&*device).unwrap().keyslots.len(), 1);
    }
}

#[test]
fn keyslots_are_filled_until_there_is_no_room_and_every_one_opens() {
    for version in BOTH {
        let device = volume(&cheap(version));
        let mut added = vec!["first".to_owned()];
        let refused = loop {
            let new = format!("key {}", added.len());
            match add_key(&*device, &passphrase("first"), &passphrase(&new), &key_options()) {
                Ok(id) => assert_eq!(id as usize, added.len()),
                Err(error) => break error,
            }
            added.push(new);
        };
        assert!(matches!(refused, VolumeError::Invalid(_)), "{refused}");
        // LUKS1 has eight keyslots; this LUKS2 header of 2 MiB, less 32 KiB, has room for as many areas of 252
        // KiB.
        assert_eq!(added.len(), 8);
        for key in &added {
            assert!(opens(&device, key), "{version} {key}");
        }
        // In-place changes are possible only in the keyslot of the old key: another keyslot is in use, or has
        // no room.
        for other in [1, 30] {
            let before = device.contents();
            let options = KeyOptions { keyslot: Some(other), in_place: true, ..key_options() };
            let refused = change_key(&*device, &passphrase("first"), &passphrase("x"), &options);
            let said = refused.unwrap_err().to_string();
            assert!(!said.contains("--in-place"), "{said}");
            assert!(device.contents() == before, "{version} {other}");
        }
        for keyslot in [None, Some(3)] {
            let options = KeyOptions { keyslot, in_place: true, ..key_options() };
            let (old, new) = (passphrase("key 3"), passphrase("changed"));
            assert_eq!(change_key(&*device, &old, &new, &options).unwrap(), 3);
            assert!(opens(&device, "changed") && !opens(&device, "key 3"));
            change_key(&*device, &new, &old, &options).unwrap();
        }
        remove_key(&*device, Removal::Keyslot(3), false, &resources()).unwrap();
        assert!(!opens(&device, "key 3") && opens(&device, "key 2") && opens(&device, "key 4"));
        let again = passphrase("again");
        let id = add_key(&*device, &passphrase("key 5"), &again, &key_options()).unwrap();
        assert_eq!(id, 3);
        assert!(opens(&device, "again"));
    }
}

#[test]
fn a_named_keyslot_is_used_and_only_it_is_tried() {
    for version in BOTH {
        let device = volume(&cheap(version));
        let named = KeyOptions { keyslot: Some(6), ..key_options() };
        let (first, second) = (passphrase("first"), passphrase("second"));
        assert_eq!(add_key(&*device, &first, &second, &named).unwrap(), 6);
        let taken = add_key(&*device, &first, &second, &named);
        assert!(matches!(taken, Err(VolumeError::Invalid(_))));
        let beyond = KeyOptions { keyslot: Some(32), ..key_options() };
        let beyond = add_key(&*device, &first, &second, &beyond);
        assert!(matches!(beyond, Err(VolumeError::Invalid(_))));
        let mut options = writable();
        options.keyslot = Some(6);
        assert!(open_with(device.clone(), &second, &options).is_ok());
        let other = open_with(device.clone(), &first, &options);
        assert!(matches!(other, Err(VolumeError::NoKeyFits(_))));
    }
}

#[test]
fn argon2_and_pbkdf2_live_side_by_side_in_luks2_only() {
    let device = volume(&cheap(Version::Luks2));
    let (first, second) = (passphrase("first"), passphrase("second"));
    let options = KeyOptions { derivation: argon2(Argon2Kind::Id), ..key_options() };
    add_key(&*device, &first, &second, &options).unwrap();
    assert!(opens(&device, "first") && opens(&device, "second"));

    let device = volume(&cheap(Version::Luks1));
    let before = device.contents();
    let refused = add_key(&*device, &first, &second, &options);
    assert!(matches!(refused, Err(VolumeError::Invalid(_))));
    assert!(device.contents() == before);
}

#[test]
fn a_backup_brings_back_what_was_destroyed() {
    for version in BOTH {
        let device = volume(&cheap(version));
        open(&device, "first").unwrap().write_at(0, &pattern(4096)).unwrap();
        if version == Version::Luks1 {
            // The unused parts: after the 592 bytes of the header, and from the end of the last keyslot,
            // 256,000 bytes after the start of the eighth, to the next multiple of 4096.
            let end = 4096 + 7 * 258_048 + 256_000;
            let unused = [592..4096, end..end + 2048];
            device.write_at(4096 - 512, &[0xee; 512]).unwrap();
            let there = device.contents();
            assert!(unused.iter().all(|part| there[part.clone()].iter().any(|&byte| byte != 0)));
            let mut saved = Vec::new();
            backup_header(&*device, &mut saved).unwrap();
            assert_eq!(saved.len(), end + 2048);
            for (at, (&saved, &there)) in saved.iter().zip(&there).enumerate() {
                let expected = if unused.iter().any(|part| part.contains(&at)) { 0 } else { there };
                assert_eq!(saved, expected, "byte {at}");
            }
            // From here on, they are also zeros on the device.
            restore_header(&*device, &MemoryDevice::new(saved), false).unwrap();
        }
        let before = device.contents();
        let mut saved = Vec::new();
        let bytes = backup_header(&*device, &mut saved).unwrap();
        assert_eq!(bytes, saved.len() as u64);
        assert!(before[..saved.len()] == saved);
        let saved = MemoryDevice::new(saved);

        device.write_at(0, &vec![0; 1 << 20]).unwrap();
        assert!(open(&device, "first").is_err());
        restore_header(&*device, &saved, false).unwrap();
        assert!(device.contents() == before);
        assert_eq!(contents(&open(&device, "first").unwrap())[..4096], pattern(4096));

        // Restoring over the same volume with other keys is permitted; over another volume it requires force.
        change_key(&*device, &passphrase("first"), &passphrase("new"), &key_options()).unwrap();
        restore_header(&*device, &saved, false).unwrap();
        assert!(opens(&device, "first"));
        let other = volume(&cheap(version));
        let there = other.contents();
        let refused = restore_header(&*other, &saved, false);
        assert!(matches!(refused, Err(VolumeError::Occupied { .. })));
        assert!(other.contents() == there);
        restore_header(&*other, &saved, true).unwrap();

        // A file system is not overwritten by accident; a file that is not a backup is never restored.
        let mut ext = vec![0; 5 << 20];
        ext[1080..1082].copy_from_slice(b"\x53\xef");
        let ext = MemoryDevice::new(ext);
        assert!(restore_header(&ext, &saved, false).is_err());
        let none = restore_header(&*device, &MemoryDevice::new(vec![7; 1 << 20]), true);
        assert!(matches!(none, Err(VolumeError::NotThisFormat { .. })));
        let small = MemoryDevice::new(vec![0; 1 << 20]);
        assert!(restore_header(&small, &saved, true).is_err());
    }
}

#[test]
fn a_damaged_copy_is_not_needed_and_is_repaired() {
    let device = volume(&cheap(Version::Luks2));
    assert!(!repair(&*device, false).unwrap());
    for (at, whose) in [(0, 0), (4096 + 7, 0), (16 << 10, 1), ((16 << 10) + 300, 1)] {
        let mut sector = [0; 512];
        let start = at / 512 * 512;
        device.read_at(start, &mut sector).unwrap();
        sector[(at - start) as usize] ^= 0x40;
        device.write_at(start, &sector).unwrap();
        let said = info(&*device).unwrap();
        assert!(said.copies[whose].problem.is_some(), "{at}");
        assert!(said.copies[1 - whose].problem.is_none(), "{at}");
        assert!(opens(&device, "first"), "{at}");
        assert!(repair(&*device, false).unwrap());
        let said = info(&*device).unwrap();
        assert!(said.copies.iter().all(|copy| copy.problem.is_none()), "{at}");
        assert_eq!(said.copies[0].seqid, said.copies[1].seqid);
        assert!(opens(&device, "first"), "{at}");
    }
    // If a file system has replaced the primary header, the secondary one must not overwrite it without a
    // request.
    let mut sector = [0; 512];
    device.write_at(0, &sector).unwrap();
    sector[56..58].copy_from_slice(b"\x53\xef");
    device.write_at(1024, &sector).unwrap();
    assert!(matches!(repair(&*device, false), Err(VolumeError::Occupied { .. })));
    assert!(repair(&*device, true).unwrap());
    assert!(opens(&device, "first"));

    let one = volume(&cheap(Version::Luks1));
    assert!(matches!(repair(&*one, true), Err(VolumeError::Invalid(_))));
}

#[test]
fn the_secondary_header_is_used_when_asked_for() {
    let device = volume(&cheap(Version::Luks2));
    let mut options = writable();
    options.secondary = true;
    assert!(open_with(device.clone(), &passphrase("first"), &options).is_ok());
    device.write_at(16 << 10, &[0; 512]).unwrap();
    let damaged = open_with(device.clone(), &passphrase("first"), &options);
    assert!(matches!(damaged, Err(VolumeError::Damaged { .. })));
    assert!(opens(&device, "first"));
}

#[test]
fn what_another_program_keeps_in_the_metadata_survives() {
    // Tokens, flags and fields that are unknown to this program.
    let device = volume(&cheap(Version::Luks2));
    crate::luks::hostile::edit(&device, |root| {
        root["tokens"] = serde_json::json!({"0": {
            "type": "systemd-tpm2", "keyslots": ["0"], "tpm2-pcrs": [7], "future": {"x": 1.5},
        }});
        root["config"]["flags"] = serde_json::json!(["allow-discards"]);
        root["later"] = serde_json::json!([true, null]);
    });
    let before = crate::luks::hostile::json(&device);
    change_key(&*device, &passphrase("first"), &passphrase("new"), &key_options()).unwrap();
    let after = crate::luks::hostile::json(&device);
    assert_eq!(after["config"], before["config"]);
    assert_eq!(after["later"], before["later"]);
    assert_eq!(after["tokens"]["0"]["future"], before["tokens"]["0"]["future"]);
    // The keyslot keeps its number, and therefore its token.
    assert_eq!(after["tokens"]["0"]["keyslots"], serde_json::json!(["0"]));
    let moved = KeyOptions { keyslot: Some(3), ..key_options() };
    change_key(&*device, &passphrase("new"), &passphrase("newer"), &moved).unwrap();
    let after = crate::luks::hostile::json(&device);
    assert_eq!(after["tokens"]["0"]["keyslots"], serde_json::json!(["3"]));
    let removal = Removal::Keyslot(3);
    remove_key(&*device, removal, true, &resources()).unwrap();
    let after = crate::luks::hostile::json(&device);
    assert_eq!(after["tokens"]["0"]["keyslots"], serde_json::json!([]));
    assert_eq!(info(&*device).unwrap().tokens, ["systemd-tpm2"]);
}

#[test]
fn creating_anew_leaves_nothing_of_the_old_volume() {
    let device = volume(&cheap(Version::Luks2));
    create(&*device, &passphrase("second"), &cheap(Version::Luks1)).unwrap();
    assert!(opens(&device, "second") && !opens(&device, "first"));
    assert_eq!(info(&*device).unwrap().version, Version::Luks1);
    create(&*device, &passphrase("third"), &cheap(Version::Luks2)).unwrap();
    assert!(opens(&device, "third") && !opens(&device, "second"));
}

#[test]
fn a_backup_with_one_good_copy_gives_both() {
    let device = volume(&cheap(Version::Luks2));
    let old = device.contents();
    add_key(&*device, &passphrase("first"), &passphrase("second"), &key_options()).unwrap();
    let bytes = info(&*device).unwrap().header_bytes as usize;
    let saved = device.contents()[..bytes].to_vec();
    const COPY: usize = 16 << 10;
    for copy in [0, COPY] {
        // A damaged copy, then an outdated one.
        for bad in [vec![0; COPY], old[copy..][..COPY].to_vec()] {
            let mut backup = saved.clone();
            backup[copy..][..COPY].copy_from_slice(&bad);
            let wiped = std::sync::Arc::new(MemoryDevice::new(vec![0; 5 << 20]));
            restore_header(&*wiped, &MemoryDevice::new(backup), false).unwrap();
            let copies = info(&*wiped).unwrap().copies;
            assert!(copies.iter().all(|copy| copy.problem.is_none()), "{copy}: {copies:?}");
            assert_eq!(copies[0].seqid, copies[1].seqid);
            assert!(opens(&wiped, "first") && opens(&wiped, "second"));
        }
    }
}

#[test]
fn what_took_the_place_of_the_primary_header_is_not_written_over() {
    let device = volume(&cheap(Version::Luks2));
    add_key(&*device, &passphrase("first"), &passphrase("second"), &key_options()).unwrap();
    let mut sector = [0; 512];
    device.write_at(0, &sector).unwrap();
    sector[56..58].copy_from_slice(b"\x53\xef");
    device.write_at(1024, &sector).unwrap();
    let before = device.contents();
    let (first, new) = (passphrase("first"), passphrase("new"));
    for (change, result) in [
        ("add", add_key(&*device, &first, &new, &key_options())),
        ("change", change_key(&*device, &first, &new, &key_options())),
        ("remove", remove_key(&*device, Removal::Keyslot(1), false, &resources())),
    ] {
        assert!(matches!(result, Err(VolumeError::Occupied { .. })), "{change}: {result:?}");
        assert!(device.contents() == before, "{change}");
    }
    // On request, the header is repaired and can then be changed.
    repair(&*device, true).unwrap();
    add_key(&*device, &first, &new, &key_options()).unwrap();
}
