//! Malicious headers, made by generators that are named after their defects.

use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, MemoryDevice, write_bytes};
use cryptbench_volume::format::luks::{
    CreateOptions, Limits, Removal, Version, add_key, backup_header, change_key, derivations, info,
    open_with, remove_key, restore_header,
};
use cryptbench_volume::{Volume, VolumeError};
use serde_json::{Value, json as value};
use sha2::{Digest, Sha256};

use crate::luks::volumes::{
    cheap, key_options, open, opens, passphrase, resources, volume, writable,
};

const HDR: usize = 16 << 10;
const JSON: usize = 4096;

/// The metadata of the primary header.
pub fn json(device: &MemoryDevice) -> Value {
    let bytes = device.contents();
    let area = &bytes[JSON..HDR];
    serde_json::from_slice(&area[..area.iter().position(|&b| b == 0).unwrap()]).unwrap()
}

/// Writes both copies with changed metadata and valid checksums.
pub fn edit(device: &MemoryDevice, change: impl FnOnce(&mut Value)) {
    let mut root = json(device);
    change(&mut root);
    set_json(device, root.to_string().as_bytes());
}

fn set_json(device: &MemoryDevice, text: &[u8]) {
    for copy in [0, HDR] {
        set(device, copy + JSON, text);
        set(device, copy + JSON + text.len(), &vec![0; HDR - JSON - text.len()]);
    }
    checksums(device);
}

fn set(device: &MemoryDevice, at: usize, bytes: &[u8]) {
    write_bytes(device, at as u64, bytes).unwrap();
}

fn checksums(device: &MemoryDevice) {
    for copy in [0, HDR] {
        set(device, copy + 448, &[0; 64]);
        let digest = Sha256::digest(&device.contents()[copy..copy + HDR]);
        set(device, copy + 448, &digest);
    }
}

/// Changes a field of the keyslot, the segment or the digest.
fn field(pointer: &'static str, to: Value) -> impl Fn(&MemoryDevice) {
    move |device| edit(device, |root| *root.pointer_mut(pointer).expect(pointer) = to.clone())
}

#[test]
fn a_tweak_that_turns_over_reads_alike_in_any_pieces() {
    for (encryption, key_bytes) in [
        ("aes-xts-plain64", 64),
        ("aes-xts-plain", 64),
        ("serpent-xts-plain64", 64),
        ("aes-xts-essiv:sha256", 64),
        ("aes-cbc-essiv:sha256", 32),
        ("aes-cbc-plain64be", 32),
        ("aes-lrw-benbi", 48),
    ] {
        for sector_size in [512, 4096] {
            let options =
                CreateOptions { encryption, key_bytes, sector_size, ..cheap(Version::Luks2) };
            let device = volume(&options);
            // dm-crypt counts sectors in 64 bits: 2^64 - 24, ..., 2^64 - 1, 0, 1, ...
            field("/segments/0/iv_tweak", value!((u64::MAX - 23).to_string()))(&device);
            let volume = open(&device, "first").unwrap();
            let mut whole = vec![0; 64 << 10];
            volume.read_at(0, &mut whole).unwrap();
            for piece in [sector_size as usize, 8192, 12_288] {
                let mut read = vec![0; whole.len()];
                for (index, part) in read.chunks_mut(piece).enumerate() {
                    volume.read_at((index * piece) as u64, part).unwrap();
                }
                assert!(read == whole, "{encryption}, {sector_size}: pieces of {piece}");
            }
            volume.write_at(0, &whole).unwrap();
            let mut again = vec![0; whole.len()];
            volume.read_at(0, &mut again).unwrap();
            assert!(again == whole, "{encryption}, {sector_size}: written back");
        }
    }
}

#[test]
fn a_label_that_is_not_text_is_shown_with_escapes_and_kept() {
    let unended = [b'l'; 48];
    for (label, shown) in [
        (&b"Schl\xfcssel"[..], r"Schl\xfcssel"),
        (b"one\ttwo\n", r"one\ttwo\n"),
        (b"gr\xc3\xbcn", "gr\u{fc}n"),
        (&unended, std::str::from_utf8(&unended).unwrap()),
    ] {
        let device = volume(&cheap(Version::Luks2));
        let mut field = [0; 48];
        field[..label.len()].copy_from_slice(label);
        for copy in [0, HDR] {
            set(&device, copy + 24, &field);
            // The subsystem is read in the same way.
            set(&device, copy + 208, &field);
        }
        checksums(&device);
        let said = info(&*device).unwrap();
        assert_eq!((said.label.as_str(), said.subsystem.as_str()), (shown, shown));
        let mut saved = Vec::new();
        backup_header(&*device, &mut saved).unwrap();
        change_key(&*device, &passphrase("first"), &passphrase("new"), &key_options()).unwrap();
        assert!(opens(&device, "new"));
        for header in [device.contents(), saved.clone()] {
            for copy in [0, HDR] {
                assert_eq!(header[copy + 24..][..48], field, "{shown}");
                assert_eq!(header[copy + 208..][..48], field, "{shown}");
            }
        }
        restore_header(&*device, &MemoryDevice::new(saved), false).unwrap();
        assert!(opens(&device, "first"));
    }
}

fn damaged(device: &Arc<MemoryDevice>, defect: &str) {
    let before = device.contents();
    for result in [
        info(&**device).map(drop),
        open(device, "first").map(drop),
        add_key(&**device, &passphrase("first"), &passphrase("x"), &key_options()).map(drop),
        remove_key(&**device, Removal::Keyslot(0), true, &resources()).map(drop),
    ] {
        assert!(matches!(result, Err(VolumeError::Damaged { .. })), "{defect}: {result:?}");
    }
    assert!(device.contents() == before, "{defect}: something was written");
}

fn refused(device: &Arc<MemoryDevice>, defect: &str, says: &str) {
    let before = device.contents();
    let result = open(device, "first").map(drop);
    let Err(error) = result else { panic!("{defect} was opened") };
    assert!(!matches!(error, VolumeError::NoKeyFits(_)), "{defect}: {error}");
    assert!(error.to_string().contains(says), "{defect}: {error}");
    assert!(device.contents() == before, "{defect}: something was written");
}

#[test]
fn luks2_metadata_that_cannot_be() {
    let two = |key: &'static str, object: Value| {
        move |device: &MemoryDevice| edit(device, |root| root[key]["1"] = object.clone())
    };
    let slot = json(&volume(&cheap(Version::Luks2)))["keyslots"]["0"].clone();
    let mut inside = slot.clone();
    inside["area"]["offset"] = value!("36864");
    type Defect<'a> = (&'a str, Box<dyn Fn(&MemoryDevice)>);
    let defects: Vec<Defect<'_>> = vec![
        ("area_before_the_keyslots", Box::new(field("/keyslots/0/area/offset", value!("4096")))),
        ("area_in_the_data", Box::new(field("/keyslots/0/area/offset", value!("2097152")))),
        (
            "area_beyond_everything",
            Box::new(field("/keyslots/0/area/offset", value!("18446744073709551615"))),
        ),
        (
            "area_wraps_around",
            Box::new(field("/keyslots/0/area/size", value!("18446744073709551615"))),
        ),
        (
            "area_too_small_for_its_stripes",
            Box::new(field("/keyslots/0/area/size", value!("4096"))),
        ),
        ("area_negative", Box::new(field("/keyslots/0/area/offset", value!("-32768")))),
        ("area_a_number", Box::new(field("/keyslots/0/area/offset", value!(32768)))),
        ("area_hexadecimal", Box::new(field("/keyslots/0/area/offset", value!("0x8000")))),
        ("areas_equal", Box::new(two("keyslots", slot))),
        ("areas_overlapping", Box::new(two("keyslots", inside))),
        ("key_size_0", Box::new(field("/keyslots/0/key_size", value!(0)))),
        ("key_size_huge", Box::new(field("/keyslots/0/key_size", value!(4_294_967_295u32)))),
        ("key_size_negative", Box::new(field("/keyslots/0/key_size", value!(-64)))),
        ("key_size_beyond_64_bits", Box::new(field("/keyslots/0/key_size", value!(1e300)))),
        ("area_key_size_huge", Box::new(field("/keyslots/0/area/key_size", value!(1 << 30)))),
        ("stripes_0", Box::new(field("/keyslots/0/af/stripes", value!(0)))),
        ("stripes_huge", Box::new(field("/keyslots/0/af/stripes", value!(4_294_967_295u32)))),
        ("salt_no_base64", Box::new(field("/keyslots/0/kdf/salt", value!("?")))),
        ("salt_long", Box::new(field("/keyslots/0/kdf/salt", value!("A".repeat(8192))))),
        ("priority_9", Box::new(|d| edit(d, |root| root["keyslots"]["0"]["priority"] = value!(9)))),
        ("digest_empty", Box::new(field("/digests/0/digest", value!("")))),
        ("digest_short", Box::new(field("/digests/0/digest", value!("AA==")))),
        ("digest_of_no_keyslot", Box::new(field("/digests/0/keyslots", value!(["0", "5"])))),
        ("digest_of_no_segment", Box::new(field("/digests/0/segments", value!(["3"])))),
        ("segment_over_the_header", Box::new(field("/segments/0/offset", value!("32768")))),
        ("segment_off_sectors", Box::new(field("/segments/0/size", value!("1000")))),
        ("segment_size_no_number", Box::new(field("/segments/0/size", value!("all")))),
        ("sector_size_0", Box::new(field("/segments/0/sector_size", value!(0)))),
        ("sector_size_no_power_of_two", Box::new(field("/segments/0/sector_size", value!(1536)))),
        ("sector_size_huge", Box::new(field("/segments/0/sector_size", value!(1 << 30)))),
        ("json_size_wrong", Box::new(field("/config/json_size", value!("65536")))),
        (
            "keyslots_size_huge",
            Box::new(field("/config/keyslots_size", value!("18446744073709547520"))),
        ),
        ("keyslots_size_crooked", Box::new(field("/config/keyslots_size", value!("1000001")))),
        (
            "keyslot_number_32",
            Box::new(|d| edit(d, |root| root["keyslots"]["32"] = value!({"type": "x"}))),
        ),
        (
            "keyslot_number_no_number",
            Box::new(|d| edit(d, |root| root["keyslots"]["a"] = value!({"type": "x"}))),
        ),
        (
            "no_config",
            Box::new(|d| edit(d, |root| drop(root.as_object_mut().unwrap().remove("config")))),
        ),
        ("an_array", Box::new(|d| set_json(d, b"[{},{},{},{},{}]"))),
        ("empty", Box::new(|d| set_json(d, b""))),
        ("not_json", Box::new(|d| set_json(d, b"{\"keyslots\":"))),
        ("not_utf8", Box::new(|d| set_json(d, b"{\"\xff\xfe\":1}"))),
        (
            "deep_arrays",
            Box::new(|d| set_json(d, format!("{{\"a\":{}", "[".repeat(12_000)).as_bytes())),
        ),
        (
            "deep_objects",
            Box::new(|d| {
                let text = format!("{{\"a\":{}1{}}}", "{\"a\":".repeat(2000), "}".repeat(2000));
                set_json(d, text.as_bytes());
            }),
        ),
        (
            "deep_in_an_unknown_field",
            Box::new(|d| {
                edit(d, |root| {
                    let mut deep = value!(1);
                    (0..100).for_each(|_| deep = value!([deep]));
                    root["unknown"] = deep;
                });
            }),
        ),
        ("unterminated", Box::new(|d| set_json(d, &[b'{'; HDR - JSON]))),
        (
            "something_behind_the_metadata",
            Box::new(|d| {
                set(d, HDR - 512, b"hidden");
                set(d, 2 * HDR - 512, b"hidden");
                checksums(d);
            }),
        ),
        (
            "checksums_wrong",
            Box::new(|d| {
                set(d, 448, &[1; 32]);
                set(d, HDR + 448, &[1; 32]);
            }),
        ),
        (
            "checksum_unknown",
            Box::new(|d| {
                set(d, 72, b"crc32\0\0");
                set(d, HDR + 72, b"crc32\0\0");
                checksums(d);
            }),
        ),
        (
            "hdr_size_crooked",
            Box::new(|d| {
                set(d, 8, &20_000u64.to_be_bytes());
                set(d, HDR + 8, &20_000u64.to_be_bytes());
                checksums(d);
            }),
        ),
        (
            "hdr_size_absurd",
            Box::new(|d| {
                set(d, 8, &(1u64 << 62).to_be_bytes());
                set(d, HDR + 8, &(1u64 << 62).to_be_bytes());
                checksums(d);
            }),
        ),
        (
            "copies_in_each_others_place",
            Box::new(|d| {
                set(d, 256, &(HDR as u64).to_be_bytes());
                set(d, HDR + 256, &0u64.to_be_bytes());
                checksums(d);
            }),
        ),
    ];
    for (defect, make) in defects {
        let device = volume(&cheap(Version::Luks2));
        make(&device);
        damaged(&device, defect);
    }
}

#[test]
fn luks1_headers_that_cannot_be() {
    let slot = |id: usize| 208 + 48 * id;
    let be = |number: u32| number.to_be_bytes();
    let defects: [(&str, usize, Vec<u8>); 12] = [
        ("key_bytes_0", 108, be(0).to_vec()),
        ("key_bytes_huge", 108, be(u32::MAX).to_vec()),
        ("digest_of_0_iterations", 164, be(0).to_vec()),
        ("stripes_0", slot(0) + 44, be(0).to_vec()),
        ("stripes_huge", slot(3) + 44, be(u32::MAX).to_vec()),
        ("area_over_the_header", slot(0) + 40, be(1).to_vec()),
        ("area_at_0", slot(0) + 40, be(0).to_vec()),
        ("area_in_the_data", slot(7) + 40, be(8192).to_vec()),
        ("area_beyond_everything", slot(0) + 40, be(u32::MAX).to_vec()),
        ("areas_overlapping", slot(1) + 40, be(9).to_vec()),
        ("cipher_without_end", 8, vec![b'a'; 32]),
        ("cipher_no_text", 8, vec![0xff, 0]),
    ];
    for (defect, at, bytes) in defects {
        let device = volume(&cheap(Version::Luks1));
        set(&device, at, &bytes);
        damaged(&device, defect);
    }
}

#[test]
fn costs_beyond_the_limits_are_refused_before_they_are_paid() {
    // If these costs were accepted, the tests would take days or terabytes.
    let beyond = "limit";
    for (defect, pointer, to) in [
        ("iterations_huge", "/keyslots/0/kdf/iterations", value!(u32::MAX)),
        ("digest_iterations_huge", "/digests/0/iterations", value!(u32::MAX)),
        (
            "argon2_memory_huge",
            "/keyslots/0/kdf",
            value!({"type": "argon2id", "time": 1, "memory": u32::MAX, "cpus": 1, "salt": "AAAAAAAAAAAAAAAAAAAAAA=="}),
        ),
        (
            "argon2_time_huge",
            "/keyslots/0/kdf",
            value!({"type": "argon2i", "time": u32::MAX, "memory": 1024, "cpus": 1, "salt": "AAAAAAAAAAAAAAAAAAAAAA=="}),
        ),
    ] {
        let device = volume(&cheap(Version::Luks2));
        field(pointer, to)(&device);
        refused(&device, defect, beyond);
        assert!(info(&*device).is_ok(), "{defect}: the costs can be looked at");
    }
    for (defect, at) in [("luks1_iterations_huge", 212), ("luks1_digest_iterations_huge", 164)] {
        let device = volume(&cheap(Version::Luks1));
        set(&device, at, &u32::MAX.to_be_bytes());
        refused(&device, defect, beyond);
    }
}

#[test]
fn many_keyslots_that_are_each_allowed_are_not_together() {
    let mut device = volume(&cheap(Version::Luks2));
    for _ in 0..5 {
        add_key(&*device, &passphrase("first"), &passphrase("x"), &key_options()).unwrap();
    }
    let mut options = writable();
    options.resources.limits = Limits { pbkdf2_iterations: 17_999, ..Limits::default() };
    // Each of the six needs 1000 iterations for the digest, and twice as many for the 64 bytes of the area's
    // key, which are two blocks of SHA-256.
    let wrong = open_with(device.clone(), &passphrase("wrong"), &options);
    let Err(VolumeError::NoKeyFits(reason)) = wrong else { panic!("not refused") };
    assert!(reason.contains("limit of 17999"), "{reason}");
    options.resources.limits.pbkdf2_iterations = 18_000;
    device = Arc::new(MemoryDevice::new(device.contents()));
    let wrong = open_with(device, &passphrase("wrong"), &options);
    let Err(VolumeError::NoKeyFits(reason)) = wrong else { panic!("not refused") };
    assert!(!reason.contains("limit"), "{reason}");
}

#[test]
fn what_opening_derives_is_known_before() {
    let device = volume(&cheap(Version::Luks2));
    for _ in 0..4 {
        add_key(&*device, &passphrase("first"), &passphrase("x"), &key_options()).unwrap();
    }
    field("/keyslots/0/kdf/iterations", value!(1001))(&device);
    field("/keyslots/2/kdf/iterations", value!(u32::MAX))(&device);
    field("/keyslots/3/kdf/type", value!("bcrypt"))(&device);
    edit(&device, |root| root["keyslots"]["1"]["priority"] = value!(0));
    edit(&device, |root| root["keyslots"]["4"]["priority"] = value!(2));
    let known = |only| {
        let all = derivations(&*device, only).unwrap();
        all.iter().map(|(one, len)| (one.work(), *len)).collect::<Vec<_>>()
    };
    // Without keyslots that exceed the limits, are not understood, or are used only if specified.
    assert_eq!(known(None), [(1000, 64), (1001, 64)]);
    assert_eq!((known(Some(1)), known(Some(2))), (vec![(1000, 64)], Vec::new()));
    assert_eq!(known(Some(9)), []);
}

#[test]
fn what_is_recognised_but_not_supported_is_named() {
    let all: [(&str, &'static str, Value, &str); 13] = [
        (
            "online_reencrypt",
            "/config/requirements",
            value!({"mandatory": ["online-reencrypt-v2"]}),
            "re-encryption",
        ),
        (
            "offline_reencrypt",
            "/config/requirements",
            value!({"mandatory": ["offline-reencrypt"]}),
            "re-encryption",
        ),
        ("opal_required", "/config/requirements", value!({"mandatory": ["opal"]}), "OPAL"),
        (
            "unknown_requirement",
            "/config/requirements",
            value!({"mandatory": ["quantum"]}),
            "quantum",
        ),
        (
            "integrity",
            "/segments/0/integrity",
            value!({"type": "hmac(sha256)", "journal_encryption": "none"}),
            "hmac(sha256)",
        ),
        ("linear", "/segments/0/type", value!("linear"), "linear"),
        ("opal_segment", "/segments/0/type", value!("hw-opal-crypt"), "hw-opal-crypt"),
        ("unknown_segment", "/segments/0/type", value!("holographic"), "holographic"),
        ("segment_flag", "/segments/0/flags", value!(["in-reencryption"]), "in-reencryption"),
        ("unknown_cipher", "/segments/0/encryption", value!("rot13-xts-plain64"), "rot13"),
        ("unknown_kdf", "/keyslots/0/kdf/type", value!("bcrypt"), "bcrypt"),
        ("unknown_hash", "/keyslots/0/kdf/hash", value!("md4"), "md4"),
        ("unknown_keyslot", "/keyslots/0/type", value!("quantum"), "keyslot 0"),
    ];
    for (defect, pointer, to, says) in all {
        let device = volume(&cheap(Version::Luks2));
        edit(&device, |root| {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            root.pointer_mut(parent).unwrap()[name] = to;
        });
        refused(&device, defect, says);
        assert!(info(&*device).is_ok(), "{defect}");
    }
}

#[test]
fn an_unusable_keyslot_does_not_stand_in_the_way_of_others() {
    let device = volume(&cheap(Version::Luks2));
    add_key(&*device, &passphrase("first"), &passphrase("second"), &key_options()).unwrap();
    field("/keyslots/0/kdf/type", value!("bcrypt"))(&device);
    assert!(opens(&device, "second"));
    let wrong = open(&device, "first").map(drop);
    let Err(VolumeError::NoKeyFits(reason)) = wrong else { panic!("{wrong:?}") };
    assert!(reason.contains("bcrypt"), "{reason}");
}

#[test]
fn the_newest_valid_copy_wins() {
    let device = volume(&cheap(Version::Luks2));
    let old = device.contents();
    add_key(&*device, &passphrase("first"), &passphrase("second"), &key_options()).unwrap();
    // A stale primary header, then a stale secondary one.
    for copy in [0, HDR] {
        let stale = Arc::new(MemoryDevice::new(device.contents()));
        set(&stale, copy, &old[copy..copy + HDR]);
        assert!(opens(&stale, "second"), "{copy}");
        let copies = info(&*stale).unwrap().copies;
        assert!(copies[0].seqid != copies[1].seqid);
    }
    // A newer header with a wrong checksum does not take precedence.
    let torn = Arc::new(MemoryDevice::new(device.contents()));
    set(&torn, 16, &u64::MAX.to_be_bytes());
    assert!(opens(&torn, "second"));
    // If a sequence number cannot be incremented, a change is refused instead of wrapping it.
    set(&torn, HDR + 16, &u64::MAX.to_be_bytes());
    checksums(&torn);
    let full = add_key(&*torn, &passphrase("first"), &passphrase("third"), &key_options());
    assert!(matches!(full, Err(VolumeError::Damaged { .. })), "{full:?}");
    assert!(opens(&torn, "first"));
}

#[test]
fn truncated_devices() {
    for version in [Version::Luks1, Version::Luks2] {
        let whole = volume(&cheap(version)).contents();
        let data = cheap(version).data_offset.unwrap() as usize;
        for len in [0, 512, 1024, 4096, 5000, HDR, HDR + 4096, 2 * HDR, 40_000, 100_000, data] {
            let device = Arc::new(MemoryDevice::new(whole[..len].to_vec()));
            let result = open(&device, "first").map(drop);
            assert!(result.is_err(), "{version} {len}");
            assert!(!matches!(result, Err(VolumeError::NoKeyFits(_))), "{version} {len}");
            let _ = info(&*device);
        }
        let device = Arc::new(MemoryDevice::new(whole[..data + 512].to_vec()));
        assert_eq!(open(&device, "first").unwrap().size(), 512);
    }
}

#[test]
fn one_flipped_bit_anywhere_in_the_header_never_gives_another_volume() {
    // The volume opens as before, opens with the other copy, or does not open; there is never a panic.
    for version in [Version::Luks1, Version::Luks2] {
        let start = |volume: &Volume| {
            let mut start = [0; 4096];
            volume.read_at(0, &mut start).unwrap();
            start
        };
        let whole = volume(&cheap(version));
        let expected = start(&open(&whole, "first").unwrap());
        let whole = whole.contents();
        let last = if version == Version::Luks1 { 592 } else { 512 };
        for at in (0..last).step_by(5) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            let device = Arc::new(MemoryDevice::new(flipped));
            match open(&device, "first") {
                Err(_) => {}
                // LUKS1 has no checksum: with a flipped payload offset, it is another volume by design.
                Ok(_) if version == Version::Luks1 && (40..208).contains(&at) => {}
                Ok(volume) => {
                    assert!(start(&volume) == expected, "{at}");
                }
            }
        }
    }
}

#[test]
fn keys_of_other_lengths_than_the_cipher_takes_are_refused_before_they_are_derived() {
    for (defect, pointer, to, says) in [
        ("area_key_size_512", "/keyslots/0/area/key_size", value!(512), "512 bytes"),
        ("area_key_size_63", "/keyslots/0/area/key_size", value!(63), "63 bytes"),
        ("segment_key", "/segments/0/encryption", value!("aes-cbc-essiv:sha256"), "64 bytes"),
        ("area_key", "/keyslots/0/area/encryption", value!("aes-cbc-essiv:sha256"), "64 bytes"),
    ] {
        // The length is refused before the limit applies.
        for iterations in [1000, u32::MAX] {
            let device = volume(&cheap(Version::Luks2));
            field("/keyslots/0/kdf/iterations", value!(iterations))(&device);
            field(pointer, to.clone())(&device);
            let refused = open(&device, "first").map(drop);
            let Err(VolumeError::CannotOpen { why, .. }) = refused else {
                panic!("{defect}: {refused:?}")
            };
            assert!(why.contains(says), "{defect}: {why}");
        }
    }
}

#[test]
fn metadata_with_bytes_changed_at_random_never_panics_and_costs_little() {
    let whole = volume(&cheap(Version::Luks2)).contents();
    let text = json(&MemoryDevice::new(whole.clone())).to_string().into_bytes();
    let mut options = writable();
    options.resources.limits =
        Limits { pbkdf2_iterations: 20_000, argon2_memory_kib: 1024, argon2_work: 1024 };
    // A generator with a fixed seed (xorshift64).
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let tokens: [&[u8]; 12] =
        [b"{", b"}", b"[", b"]", b"\"", b",", b":", b"0", b"99999999999", b"-1", b"null", b"\xff"];
    let mut parsed = 0;
    for _ in 0..400 {
        let mut text = text.clone();
        for _ in 0..=random(2) {
            let at = random(text.len());
            match random(3) {
                0 => drop(text.remove(at)),
                1 => drop(text.splice(at..=at, tokens[random(tokens.len())].iter().copied())),
                _ => text[at] = b'0' + random(10) as u8,
            }
        }
        let device = Arc::new(MemoryDevice::new(whole[..(2 << 20) + 4096].to_vec()));
        set_json(&device, &text);
        parsed += usize::from(info(&*device).is_ok());
        let _ = open_with(device.clone(), &passphrase("first"), &options);
        let _ = remove_key(&*device, Removal::Keyslot(0), true, &options.resources);
    }
    // Some changes affect only names and salts, so both outcomes of the parser are reached.
    assert!((20..380).contains(&parsed), "{parsed} of 400 parsed");
}
