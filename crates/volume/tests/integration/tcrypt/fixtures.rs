//! Ten volumes written by VeraCrypt 1.26.20.

use std::path::{Path, PathBuf};

use cryptbench_blockdev::BlockDevice;
use cryptbench_volume::{Credentials, OpenOptions, VolumeError};

use super::{credentials, file, open, options, plaintext, rows, secret_file, sha256};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/veracrypt")
}

/// VeraCrypt's names in this project's form: the PRF, and the cipher without its brackets.
fn prf(name: &str) -> String {
    match name {
        "SHA-512" => "sha-512".to_owned(),
        other => other.to_lowercase(),
    }
}

#[test]
fn every_volume_has_its_plaintext() {
    let dir = fixtures();
    let rows = rows(&dir.join("expected.csv"));
    assert_eq!(rows.len(), 10);
    for row in rows {
        let [image, cipher, prf_name, pim, keyfile, passphrase, digest, bytes] =
            std::array::from_fn(|i| row[i].as_str());
        let mut credentials = credentials(passphrase, Some(pim.parse().unwrap()));
        if !keyfile.is_empty() {
            credentials.keyfiles.push(secret_file(&dir.join(keyfile)));
        }
        // Only the passphrase and the PIM are known.
        let volume = open(file(&dir.join(image)), &credentials, &options()).unwrap();
        let info = volume.info();
        assert_eq!(info.format, "veracrypt", "{image}");
        assert_eq!(info.cipher.replace(['(', ')'], "-").trim_matches('-'), cipher, "{image}");
        assert_eq!(info.derivation.split(',').next(), Some(&*prf(prf_name)), "{image}");
        let plain = plaintext(&volume);
        assert_eq!(plain.len().to_string(), bytes, "{image}");
        assert_eq!(sha256(&plain), digest, "{image}");
        // The backup header leads to the same plaintext.
        let options = OpenOptions { backup_header: true, prf: Some(&prf(prf_name)), ..options() };
        let volume = open(file(&dir.join(image)), &credentials, &options).unwrap();
        assert_eq!(sha256(&plaintext(&volume)), digest, "{image}");
        cryptbench_prove::count(1, "volumes of VeraCrypt 1.26.20");
    }
}

#[test]
fn what_does_not_fit_says_what_to_check() {
    let path = fixtures().join("vc_sha512_aes.hc");
    let right = credentials("cryptbench", Some(1));
    let sha512 = OpenOptions { prf: Some("sha-512"), ..options() };
    let refusal = |credentials: &Credentials, options: &OpenOptions<'_>| {
        open(file(&path), credentials, options).unwrap_err()
    };
    let wrong = [credentials("cryptbenc", Some(1)), credentials("cryptbench", Some(2))];
    for credentials in &wrong {
        let error = refusal(credentials, &sha512);
        assert!(matches!(error, VolumeError::NoKeyFits(_)), "{error}");
        let message = error.to_string();
        assert!(message.contains("passphrase") && message.contains("PIM"), "{message}");
    }
    // With another PRF, as a hidden volume or in the system layout, it does not open.
    for options in [
        OpenOptions { prf: Some("whirlpool"), ..options() },
        OpenOptions { hidden: true, ..sha512 },
        OpenOptions { system: true, ..sha512 },
    ] {
        let error = refusal(&right, &options);
        assert!(matches!(error, VolumeError::NoKeyFits(_)), "{error}");
    }
    // TrueCrypt does not support a PIM; neither passphrase nor key file; unknown PRF; unknown format.
    let truecrypt = OpenOptions { format: Some("truecrypt"), ..sha512 };
    assert!(matches!(refusal(&right, &truecrypt), VolumeError::Kdf(_)));
    assert!(matches!(refusal(&credentials("", None), &sha512), VolumeError::Invalid(_)));
    let unknown = OpenOptions { prf: Some("md4"), ..options() };
    assert!(matches!(refusal(&right, &unknown), VolumeError::Kdf(_)));
    let unknown = OpenOptions { format: Some("zip"), ..options() };
    assert!(matches!(refusal(&right, &unknown), VolumeError::Invalid(_)));
}

#[test]
fn a_file_too_small_for_a_header_is_no_volume() {
    let device = std::sync::Arc::new(cryptbench_blockdev::MemoryDevice::new(Vec::new()));
    let credentials = credentials("x", None);
    for options in [options(), OpenOptions { backup_header: true, ..options() }] {
        let error = open(device.clone(), &credentials, &options).unwrap_err();
        assert!(matches!(error, VolumeError::NotThisFormat { .. }), "{error}");
    }
    assert_eq!(device.size(), 0);
}
