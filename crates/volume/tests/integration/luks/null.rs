//! `cipher_null`: an unencrypted keyslot can be unlocked only with the empty passphrase, as in cryptsetup.

use std::sync::Arc;

use base64ct::{Base64, Encoding};
use cryptbench_blockdev::{MemoryDevice, write_bytes};
use cryptbench_kdf::Effort;
use cryptbench_volume::VolumeError;
use cryptbench_volume::format::luks::{CreateOptions, Version, add_key, change_key, create, info};
use serde_json::json as value;
use sha2::{Digest, Sha256};

use crate::luks::hostile::{edit, json};
use crate::luks::volumes::{
    MIB, cheap, contents, key_options, open, opens, passphrase, pattern, volume,
};

/// The key with which an attacker wants the volume to be encrypted.
const KEY: [u8; 64] = [7; 64];

/// The number of stripes in every LUKS volume.
const STRIPES: usize = 4000;

fn digest(salt: &[u8], bytes: usize) -> Vec<u8> {
    let mut digest = vec![0; bytes];
    let effort = Effort::new(cryptbench_kdf::tier().unwrap(), 1);
    cryptbench_kdf::find("sha-256").unwrap().pbkdf2(&KEY, salt, 1000, &mut digest, effort).unwrap();
    digest
}

/// The key, split into stripes of which all but the last contain only zeros (LUKS1 On-Disk Format
/// Specification, 2.4).
fn material() -> Vec<u8> {
    let mut mixed = [0_u8; KEY.len()];
    for _ in 1..STRIPES {
        for (number, block) in (0_u32..).zip(mixed.chunks_mut(32)) {
            let hashed = Sha256::new().chain_update(number.to_be_bytes()).chain_update(&*block);
            block.copy_from_slice(&hashed.finalize());
        }
    }
    let mut material = vec![0; (STRIPES - 1) * KEY.len()];
    material.extend(mixed.iter().zip(KEY).map(|(a, b)| a ^ b));
    material
}

/// A volume with an attacker's unencrypted key, which any passphrase would unlock.
fn forged(version: Version) -> Arc<MemoryDevice> {
    let device = volume(&cheap(version));
    let set = |at: u64, bytes: &[u8]| write_bytes(&*device, at, bytes).unwrap();
    match version {
        Version::Luks1 => {
            set(8, &[0; 64]);
            set(8, b"cipher_null");
            set(40, b"ecb");
            set(112, &digest(&[1; 32], 20));
            set(132, &[1; 32]);
            set(164, &1000_u32.to_be_bytes());
            set(4096, &material());
        }
        Version::Luks2 => {
            edit(&device, |root| {
                root["keyslots"]["0"]["area"]["encryption"] = value!("cipher_null-ecb");
                root["digests"]["0"]["salt"] = value!(Base64::encode_string(&[1; 32]));
                root["digests"]["0"]["iterations"] = value!(1000);
                root["digests"]["0"]["digest"] =
                    value!(Base64::encode_string(&digest(&[1; 32], 32)));
            });
            let offset = json(&device)["keyslots"]["0"]["area"]["offset"].clone();
            set(offset.as_str().unwrap().parse().unwrap(), &material());
        }
    }
    device
}

#[test]
fn a_keyslot_in_the_clear_opens_with_the_empty_passphrase_only() {
    for version in [Version::Luks1, Version::Luks2] {
        let device = forged(version);
        let error = open(&device, "first").map(|_| ()).unwrap_err();
        assert!(matches!(error, VolumeError::CannotOpen { .. }), "{error}");
        let said = error.to_string();
        assert!(said.contains("keyslot 0") && said.contains("not encrypted"), "{said}");
        assert!(open(&device, "").is_ok(), "{version}");
    }
}

/// Other names of the null cipher do not circumvent the check.
#[test]
fn any_name_of_no_cipher_is_recognised() {
    for name in ["capi:ecb(cipher_null)-null", "cipher_null-ecb-plain64", "cipher_null:4-ecb"] {
        let device = forged(Version::Luks2);
        edit(&device, |root| root["keyslots"]["0"]["area"]["encryption"] = value!(name));
        let said = open(&device, "first").map(|_| ()).unwrap_err().to_string();
        assert!(said.contains("not encrypted"), "{name}: {said}");
    }
}

#[test]
fn data_in_the_clear_is_read_with_a_warning() {
    for version in [Version::Luks1, Version::Luks2] {
        let device = forged(version);
        if version == Version::Luks2 {
            edit(&device, |root| root["segments"]["0"]["encryption"] = value!("cipher_null-ecb"));
        }
        assert_eq!(info(&*device).unwrap().segments[0].encryption, "cipher_null-ecb");
        let start = match version {
            Version::Luks1 => 4 * MIB,
            Version::Luks2 => 2 * MIB,
        };
        let plain = pattern((5 * MIB - start) as usize);
        write_bytes(&*device, start, &plain).unwrap();
        let opened = open(&device, "").unwrap();
        assert!(contents(&opened) == plain, "{version}");
        let told = &opened.info().details;
        assert!(told.iter().any(|(_, text)| text.contains("not encrypted")), "{told:?}");
    }
}

#[test]
fn a_new_key_is_never_in_the_clear() {
    for all in [false, true] {
        let device = forged(Version::Luks2);
        if all {
            edit(&device, |root| root["segments"]["0"]["encryption"] = value!("cipher_null-ecb"));
        }
        let added = add_key(&*device, &passphrase(""), &passphrase("new"), &key_options()).unwrap();
        let area = &json(&device)["keyslots"][added.to_string()]["area"];
        assert_eq!(area["encryption"], "aes-xts-plain64");
        assert!(opens(&device, "new"));
    }
    let device = forged(Version::Luks1);
    let before = device.contents();
    for change in [add_key, change_key] {
        let error = change(&*device, &passphrase(""), &passphrase("new"), &key_options());
        let said = error.unwrap_err().to_string();
        assert!(said.contains("cipher_null"), "{said}");
    }
    assert!(device.contents() == before, "nothing was written");
    let options = CreateOptions { encryption: "cipher_null-ecb", ..cheap(Version::Luks1) };
    let error = create(&*device, &passphrase("first"), &options).unwrap_err();
    assert!(matches!(error, VolumeError::Invalid(_)), "{error}");
    assert!(device.contents() == before, "nothing was written");
}
