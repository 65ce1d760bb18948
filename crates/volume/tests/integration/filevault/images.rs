//! The FileVault volume from cryptsetup's test suite, which macOS created, and whose plaintext was read through
//! the kernel's dm-crypt (tests/fvault2-compat-test contains its digest).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice as _, FileDevice, IoMode};
use cryptbench_volume::detect::{Kind, detect};
use cryptbench_volume::format::filevault::info;
use cryptbench_volume::{Credentials, Volume, VolumeError, open};
use sha2::{Digest, Sha256};

use super::{key_file, options, passphrase};

const ARCHIVE: &str = "fvault2-images.tar.xz";
const PASSWORD: &str = "heslo123";
/// `cryptsetup fvault2Dump --dump-volume-key` prints it.
const VOLUME_KEY: u128 = 0x2073_4d33_8921_2774_d761_0c29_d732_8809;
const TWEAK_KEY: u128 = 0x16f3_be14_c4b1_2ac7_aaf0_7e5c_cc77_b319;
const SHA256: &str = "2c662e36c0f7e2f5583e6a939bbcbdc660805692d0fccaa45ad4052beb3b8e18";

/// The image, unpacked; `None` and a message if it is not available.
pub fn unpacked() -> Option<(tempfile::TempDir, PathBuf)> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/volumes");
    let folder = std::env::var_os(cryptbench_prove::IMAGES).map_or(beside, Into::into);
    let archive = folder.join(ARCHIVE);
    if !archive.exists() {
        eprintln!("SKIPPED: no {ARCHIVE} beside the repository; cryptsetup has it in tests/");
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut tar = Command::new("tar");
    tar.args(["--sparse", "-xJf"]).arg(&archive).arg("-C").arg(dir.path());
    if !tar.status().is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: tar cannot unpack the images");
        return None;
    }
    let image = dir.path().join("fvault2-images/small");
    Some((dir, image))
}

fn opened(image: &Path, credentials: &Credentials) -> Result<Volume, VolumeError> {
    let device = FileDevice::open(image, IoMode::Buffered, true).unwrap();
    open(Arc::new(device), credentials, &options())
}

#[test]
fn every_credential_opens_it_and_its_whole_plaintext_is_right() {
    let Some((_dir, image)) = unpacked() else { return };
    let key = [VOLUME_KEY.to_be_bytes(), TWEAK_KEY.to_be_bytes()].concat();
    for (index, credentials) in
        [passphrase(PASSWORD), key_file(&key, ""), key_file(&key[..16], "")].iter().enumerate()
    {
        let volume = opened(&image, credentials).unwrap();
        // The whole plaintext once; the other credentials yield the same key.
        let size = if index == 0 { volume.size() } else { 1 << 20 };
        let mut hash = Sha256::new();
        let mut piece = vec![0; 1 << 20];
        for offset in (0..size).step_by(piece.len()) {
            volume.read_at(offset, &mut piece).unwrap();
            hash.update(&piece);
        }
        if index == 0 {
            let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!((size, digest.as_str()), (167_772_160, SHA256));
        }
        let kind = detect(&volume).unwrap().kind;
        assert!(matches!(kind, Kind::FileSystem { name: "HFS+" }), "{kind}");
        cryptbench_prove::count(1, "volumes of FileVault 2 (macOS, by cryptsetup)");
    }
    let refused = opened(&image, &passphrase("heslo124")).unwrap_err();
    assert!(matches!(refused, VolumeError::NoKeyFits(_)), "{refused}");
}

#[test]
fn its_metadata_are_those_that_cryptsetup_reads() {
    let Some((_dir, image)) = unpacked() else { return };
    let device = FileDevice::open(&image, IoMode::Buffered, true).unwrap();
    let info = info(&device).unwrap();
    assert_eq!(info.physical_volume.to_string(), "fc52bfae-5a1f-4f9b-b3a6-f33303a0e401");
    assert_eq!(info.family.to_string(), "33a76caa-1481-4bc5-8d04-1ac1707c19c0");
    assert_eq!(info.segments, [(67_108_864, 167_772_160)]);
    assert_eq!(info.users.len(), 1);
    assert_eq!(info.users[0].iterations, Some(204_222));
    assert_eq!(info.obstacle, None);
}
