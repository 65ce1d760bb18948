//! Every cipher, key derivation and sector size: a volume is created, opened again, written and read.

use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_kdf::Argon2Kind;
use cryptbench_volume::format::luks::{
    CreateOptions, Version, create, info, open_detached, open_with,
};
use cryptbench_volume::{Access, Credentials, Secret, VolumeError};

use crate::luks::volumes::{
    MIB, argon2, cheap, contents, open, opens, passphrase, pattern, pbkdf2, volume, writable,
};

fn check(options: &CreateOptions<'_>) {
    let what = format!(
        "{} {} {} {:?}",
        options.version, options.encryption, options.sector_size, options.derivation
    );
    let device = volume(options);
    let data = pattern(65536);
    {
        let volume = open(&device, "first").unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(volume.info().cipher, options.encryption);
        assert_eq!(volume.info().key_bytes, options.key_bytes);
        assert_eq!(volume.sector(), options.sector_size as usize);
        let sector = u64::from(options.sector_size);
        let expected = 5 * MIB - options.data_offset.unwrap();
        assert_eq!(volume.size(), expected - expected % sector);
        volume.write_at(3 * 4096, &data).unwrap();
    }
    let stored = device.contents();
    let at = options.data_offset.unwrap() as usize + 3 * 4096;
    assert!(stored[at..at + 65536] != data, "{what}: stored in the clear");
    let volume = open(&device, "first").unwrap();
    assert!(contents(&volume)[3 * 4096..][..65536] == data, "{what}");
    assert!(!opens(&device, "second"), "{what}");
}

#[test]
fn ciphers() {
    for version in [Version::Luks1, Version::Luks2] {
        for (encryption, key_bytes) in [
            ("aes-xts-plain64", 32),
            ("aes-xts-plain64", 64),
            ("serpent-xts-plain64", 64),
            ("twofish-xts-plain64", 64),
            ("camellia-xts-plain64", 64),
            ("aes-cbc-essiv:sha256", 16),
            ("aes-cbc-essiv:sha256", 32),
        ] {
            check(&CreateOptions { encryption, key_bytes, ..cheap(version) });
        }
    }
}

#[test]
fn derivations() {
    for hash in ["sha1", "sha256", "sha512", "ripemd160", "whirlpool"] {
        let prf = match hash {
            "sha1" => "sha-1",
            "sha256" => "sha-256",
            "sha512" => "sha-512",
            "ripemd160" => "ripemd-160",
            other => other,
        };
        for version in [Version::Luks1, Version::Luks2] {
            check(&CreateOptions { hash, derivation: pbkdf2(prf, 1000), ..cheap(version) });
        }
    }
    for kind in [Argon2Kind::I, Argon2Kind::Id] {
        check(&CreateOptions { derivation: argon2(kind), ..cheap(Version::Luks2) });
    }
}

#[test]
fn sector_and_metadata_sizes() {
    for sector_size in [512, 1024, 2048, 4096] {
        check(&CreateOptions { sector_size, ..cheap(Version::Luks2) });
    }
    for metadata_size in [16 << 10, 64 << 10, 512 << 10] {
        check(&CreateOptions { metadata_size, ..cheap(Version::Luks2) });
    }
}

#[test]
fn tweaks_count_512_byte_sectors_whatever_the_sector_size() {
    let options = CreateOptions { sector_size: 4096, ..cheap(Version::Luks2) };
    let device = volume(&options);
    let opened = open(&device, "first").unwrap();
    opened.write_at(0, &vec![0; 4 * 4096]).unwrap();
    let stored = device.contents();
    let data = &stored[2 << 20..];
    // Sector 1 has tweak 8. With a tweak of 1, it would be the second half KiB of a volume with 512-byte
    // sectors.
    assert!(data[4096..8192] != data[..4096]);
    let second = opened.info();
    assert_eq!(second.data_unit, 4096);
}

#[test]
fn defaults_are_those_of_cryptsetup() {
    for (version, data) in [(Version::Luks1, 2 * MIB), (Version::Luks2, 16 * MIB)] {
        let options = CreateOptions { data_offset: None, ..cheap(version) };
        let device = Arc::new(MemoryDevice::new(vec![0; 17 << 20]));
        create(&*device, &passphrase("first"), &options).unwrap();
        let said = info(&*device).unwrap();
        assert_eq!(said.segments[0].offset, data);
        assert_eq!(said.segments[0].encryption, "aes-xts-plain64");
        assert_eq!(said.keyslots[0].splitter, Some(("sha256", 4000)));
        let first = if version == Version::Luks1 { 4096 } else { 32 << 10 };
        assert_eq!(said.keyslots[0].area.unwrap().0, first);
        assert_eq!(said.uuid.len(), 36);
        assert_eq!(said.uuid.as_bytes()[14], b'4');
        assert_eq!(said.obstacle, None);
        if version == Version::Luks2 {
            assert_eq!(said.header_bytes, 16 * MIB);
            assert!(said.copies.iter().all(|copy| copy.seqid == Some(1)));
        }
    }
}

#[test]
fn names_are_kept() {
    let options = CreateOptions {
        label: "a label",
        subsystem: "tests",
        uuid: Some("01234567-89ab-4def-8123-456789abcdef"),
        ..cheap(Version::Luks2)
    };
    let said = info(&*volume(&options)).unwrap();
    assert_eq!((said.label.as_str(), said.subsystem.as_str()), ("a label", "tests"));
    assert_eq!(said.uuid, "01234567-89ab-4def-8123-456789abcdef");
}

#[test]
fn a_detached_header_opens_with_its_data_and_not_alone() {
    for version in [Version::Luks1, Version::Luks2] {
        let header = Arc::new(MemoryDevice::new(vec![0; 17 << 20]));
        let data = Arc::new(MemoryDevice::new(vec![0; 1 << 20]));
        let options = CreateOptions { detached: true, data_offset: None, ..cheap(version) };
        create(&*header, &passphrase("first"), &options).unwrap();
        let first = passphrase("first");
        let volume = open_detached(&*header, data.clone(), &first, &writable()).unwrap();
        assert_eq!(volume.size(), MIB);
        volume.write_at(512, &pattern(1024)).unwrap();
        let again = open_detached(&*header, data.clone(), &first, &writable()).unwrap();
        assert_eq!(contents(&again)[512..1536], pattern(1024));
        let alone = open_with(header, &first, &writable());
        assert!(matches!(alone, Err(VolumeError::CannotOpen { .. })));
    }
}

#[test]
fn read_only_is_read_only() {
    let device = volume(&cheap(Version::Luks2));
    let mut options = writable();
    options.access = Access::ReadOnly;
    let volume = open_with(device.clone(), &passphrase("first"), &options).unwrap();
    let before = device.contents();
    assert!(volume.write_at(0, &[0; 512]).is_err());
    assert!(device.contents() == before);
}

#[test]
fn options_that_make_no_sense_change_nothing() {
    let defaults = cheap(Version::Luks2);
    let all = [
        CreateOptions { encryption: "aes", ..defaults.clone() },
        CreateOptions { encryption: "rot13-xts-plain64", ..defaults.clone() },
        CreateOptions { encryption: "aes-xts-plain63", ..defaults.clone() },
        CreateOptions { key_bytes: 63, ..defaults.clone() },
        CreateOptions { key_bytes: 0, ..defaults.clone() },
        CreateOptions { sector_size: 8192, ..defaults.clone() },
        CreateOptions { sector_size: 0, ..defaults.clone() },
        CreateOptions { hash: "md5", ..defaults.clone() },
        CreateOptions { data_offset: Some(0), ..defaults.clone() },
        CreateOptions { data_offset: Some(64 << 10), ..defaults.clone() },
        CreateOptions { data_offset: Some(2 * MIB + 512), ..defaults.clone() },
        CreateOptions { data_offset: Some(5 * MIB), ..defaults.clone() },
        CreateOptions { data_offset: Some(u64::MAX - 4095), ..defaults.clone() },
        CreateOptions { metadata_size: 20 << 10, ..defaults.clone() },
        CreateOptions { digest_iterations: 0, ..defaults.clone() },
        CreateOptions {
            label: "forty-eight bytes of label, which is one too many",
            ..defaults.clone()
        },
        CreateOptions { hash: "tiger", ..defaults },
        CreateOptions { derivation: argon2(Argon2Kind::Id), ..cheap(Version::Luks1) },
        CreateOptions { derivation: pbkdf2("sha-512", 1000), ..cheap(Version::Luks1) },
        CreateOptions { sector_size: 4096, ..cheap(Version::Luks1) },
        CreateOptions { label: "label", ..cheap(Version::Luks1) },
        CreateOptions { data_offset: Some(MIB), ..cheap(Version::Luks1) },
    ];
    let device = MemoryDevice::new(pattern(5 << 20));
    for options in &all {
        create(&device, &passphrase("first"), options).expect_err(&format!("{options:?}"));
        assert!(device.contents() == pattern(5 << 20), "{options:?}");
    }
    let both = Credentials { keyfiles: vec![Secret::new(vec![1])], ..passphrase("x") };
    let two = Credentials { keyfiles: vec![Secret::new(vec![1]); 2], ..passphrase("") };
    let pim = Credentials { pim: Some(1), ..passphrase("x") };
    for credentials in [passphrase(""), both, two, pim] {
        let refused = create(&device, &credentials, &cheap(Version::Luks2));
        assert!(matches!(refused, Err(VolumeError::Invalid(_))));
    }
}
