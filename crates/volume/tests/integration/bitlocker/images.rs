//! BitLocker images from cryptsetup's test suite, which Windows created, and whose plaintext was read through
//! the kernel's dm-crypt.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode};
use cryptbench_volume::detect::{Kind, detect};
use cryptbench_volume::format::bitlocker::{Method, info};
use cryptbench_volume::{Access, Credentials, OpenOptions, Volume, VolumeError, open};
use sha2::{Digest, Sha256};

use super::{options, passphrase, recovery, startup};

fn shared() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/volumes");
    std::env::var_os(cryptbench_prove::IMAGES).map_or(beside, Into::into)
}

/// The images, unpacked; `None` and a message if they are not available.
fn unpacked() -> Option<tempfile::TempDir> {
    let archive = shared().join("bitlk-images.tar.xz");
    if !archive.exists() {
        eprintln!("SKIPPED: no images beside the repository");
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let unpacked = Command::new("tar")
        .args(["--sparse", "-xJf"])
        .arg(&archive)
        .arg("-C")
        .arg(dir.path())
        .status();
    if !unpacked.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: tar cannot unpack the images");
        return None;
    }
    Some(dir)
}

/// A row of the table that comes with the images.
struct Image {
    name: String,
    cipher: String,
    passphrase: String,
    recovery: Vec<String>,
    startup_key: String,
    guid: String,
    /// SHA-256 of the whole plaintext; empty if it is unknown.
    sha256: String,
}

impl Image {
    fn all() -> Vec<Self> {
        let table = std::fs::read_to_string(shared().join("bitlk-expected.csv")).unwrap();
        let line = |line: &str| {
            let fields: Vec<String> =
                line.split(',').map(|field| field.trim().to_owned()).collect();
            let [name, cipher, passphrase, first, second, startup_key, guid, _, sha256] =
                fields.try_into().unwrap();
            let recovery = [first, second].into_iter().filter(|r| !r.is_empty()).collect();
            Self { name, cipher, passphrase, recovery, startup_key, guid, sha256 }
        };
        table.lines().skip(1).map(line).collect()
    }

    /// Every credential in the table, and none for a volume with a clear key.
    fn credentials(&self, dir: &Path) -> Vec<Credentials> {
        let mut all = Vec::new();
        if !self.passphrase.is_empty() {
            all.push(passphrase(&self.passphrase));
        }
        for digits in &self.recovery {
            all.push(recovery(digits));
            // Windows asks for both in the same prompt.
            all.push(passphrase(digits));
        }
        if !self.startup_key.is_empty() {
            all.push(startup(std::fs::read(dir.join(&self.startup_key)).unwrap()));
        }
        if all.is_empty() {
            all.push(Credentials::default());
        }
        all
    }

    fn open(&self, dir: &Path, credentials: &Credentials) -> Result<Volume, VolumeError> {
        let path = dir.join(&self.name);
        let device = FileDevice::open(&path, IoMode::Buffered, true).unwrap();
        open(Arc::new(device), credentials, &options())
    }
}

fn sha256(volume: &Volume) -> String {
    let mut hash = Sha256::new();
    let mut piece = vec![0; 4 << 20];
    for offset in (0..volume.size()).step_by(piece.len()) {
        let len = (volume.size() - offset).min(piece.len() as u64) as usize;
        volume.read_at(offset, &mut piece[..len]).unwrap();
        hash.update(&piece[..len]);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn every_image_opens_by_every_credential_and_its_whole_plaintext_is_right() {
    let Some(dir) = unpacked() else { return };
    let dir = dir.path();
    let mut tested = 0;
    for image in Image::all().into_iter().filter(|image| !image.sha256.is_empty()) {
        for (index, credentials) in image.credentials(dir).iter().enumerate() {
            let what = format!("{}, credential {index}", image.name);
            let volume =
                image.open(dir, credentials).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(volume.info().cipher, image.cipher, "{what}");
            let details = &volume.info().details;
            assert!(details.contains(&("identifier", image.guid.clone())), "{what}: {details:?}");
            // The whole plaintext once; the other credentials yield the same key.
            if index == 0 {
                assert_eq!(sha256(&volume), image.sha256, "{what}");
                cryptbench_prove::count(1, "volumes of BitLocker (Windows, by cryptsetup)");
            } else {
                let mut start = [0; 4096];
                volume.read_at(0, &mut start).unwrap();
                assert!(matches!(&start[3..8], b"NTFS " | b"MSDOS"), "{what}");
            }
            assert!(volume.is_read_only());
            tested += 1;
        }
    }
    assert_eq!(tested, 32);
}

#[test]
fn what_the_metadata_of_every_image_say_without_a_key() {
    let Some(dir) = unpacked() else { return };
    for image in Image::all() {
        let path = dir.path().join(&image.name);
        let device = FileDevice::open(&path, IoMode::Buffered, true).unwrap();
        let togo = image.name.contains("togo");
        let kind = detect(&device).unwrap().kind;
        assert_eq!(kind, Kind::BitLocker { to_go: togo }, "{}", image.name);
        let info = info(&device).unwrap();
        assert_eq!(info.id.to_string(), image.guid, "{}", image.name);
        assert_eq!(info.method.map(Method::dm_crypt), Some(&*image.cipher), "{}", image.name);
        assert_eq!(info.to_go, togo);
        assert!(info.copies.iter().all(|(_, problem)| problem.is_none()), "{:?}", info.copies);
        assert_eq!(info.sector, Some(if image.name.contains("4k") { 4096 } else { 512 }));
        assert_eq!(info.obstacle.is_some(), image.sha256.is_empty(), "{}", image.name);
        let has = |what: &str| info.protectors.iter().filter(|p| p.opens_with == what).count();
        assert_eq!(has("recovery password"), image.recovery.len(), "{}", image.name);
        assert_eq!(has("startup key"), usize::from(!image.startup_key.is_empty()));
        assert_eq!(has("clear key") > 0, info.open_to_all);
        assert_eq!(has("certificate or smart card") > 0, image.name.contains("smart-card"));
    }
}

#[test]
fn images_whose_maps_are_missing_are_refused_with_the_reason() {
    let Some(dir) = unpacked() else { return };
    let mut tested = 0;
    for image in Image::all().into_iter().filter(|image| image.sha256.is_empty()) {
        for credentials in image.credentials(dir.path()) {
            let refused = image.open(dir.path(), &credentials).unwrap_err();
            assert!(
                matches!(refused, VolumeError::Unsupported { .. }),
                "{}: {refused}",
                image.name
            );
            assert!(refused.to_string().contains("map of its encrypted parts"), "{refused}");
        }
        tested += 1;
    }
    assert_eq!(tested, 2);
}

#[test]
fn wrong_credentials_open_nothing() {
    let Some(dir) = unpacked() else { return };
    let images = Image::all();
    let other = "478401-067859-043868-000935-121330-337425-718509-484979";
    for name in ["bitlk-aes-xts-128.img", "bitlk-aes-xts-128-smart-card.img"] {
        let image = images.iter().find(|image| image.name == name).unwrap();
        for wrong in [passphrase("anaconda "), recovery(other), Credentials::default()] {
            let refused = image.open(dir.path(), &wrong).unwrap_err();
            let VolumeError::NoKeyFits(reason) = refused else { panic!("{refused}") };
            assert!(reason.contains("recovery password"), "{reason}");
        }
    }
    // The startup key of another volume.
    let key = images.iter().find(|image| !image.startup_key.is_empty()).unwrap();
    let key = startup(std::fs::read(dir.path().join(&key.startup_key)).unwrap());
    let refused = images[1].open(dir.path(), &key).unwrap_err();
    assert!(matches!(refused, VolumeError::NoKeyFits(_)), "{refused}");
}

#[test]
fn a_suspended_volume_says_that_what_was_given_did_not_matter() {
    let Some(dir) = unpacked() else { return };
    let name = "bitlk-aes-xts-128-clearkey-only.img";
    let image = Image::all().into_iter().find(|image| image.name == name).unwrap();
    let volume = image.open(dir.path(), &passphrase("a wrong one")).unwrap();
    let warnings: Vec<&str> = volume.info().warnings().collect();
    assert!(matches!(warnings[..], [text] if text.contains("anyone can open it")), "{warnings:?}");
    let volume = image.open(dir.path(), &Credentials::default()).unwrap();
    assert_eq!(volume.info().warnings().count(), 0);
    assert_eq!(volume.info().derivation, "the clear key in the metadata");
}

#[test]
fn what_is_written_to_an_image_is_read_again_and_the_metadata_stay() {
    let Some(dir) = unpacked() else { return };
    for name in ["bitlk-aes-cbc-elephant-128.img", "bitlk-aes-cbc-128-4k.img"] {
        let image = Image::all().into_iter().find(|image| image.name == name).unwrap();
        let path = dir.path().join(&image.name);
        let before = std::fs::read(&path).unwrap();
        let device = Arc::new(FileDevice::open(&path, IoMode::Buffered, false).unwrap());
        let info = info(&*device).unwrap();
        let credentials = image.credentials(dir.path()).remove(0);
        let options = OpenOptions { access: Access::ReadWrite, ..options() };
        let volume = open(device, &credentials, &options).unwrap();
        // The relocated first sectors and the data that follows them, in one request.
        let data: Vec<u8> = (0..32 << 10).map(|i| (i / 512 + i) as u8).collect();
        volume.write_at(0, &data).unwrap();
        let mut read = vec![0; data.len()];
        volume.read_at(0, &mut read).unwrap();
        assert!(read == data, "{name}");
        // A request that touches the metadata does not change anything.
        let metadata = info.copies[0].0;
        let refused = volume.write_at(metadata - 8192, &vec![1; 16 << 10]).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
        let mut zeros = vec![1; 64 << 10];
        volume.read_at(metadata, &mut zeros).unwrap();
        assert!(zeros.iter().all(|&byte| byte == 0));
        let after = std::fs::read(&path).unwrap();
        let changed = |range: std::ops::Range<u64>| {
            let range = range.start as usize..range.end as usize;
            before[range.clone()] != after[range]
        };
        let (at, len) = info.first_sectors.unwrap();
        assert!(!changed(0..len) && changed(at..at + len) && changed(len..32 << 10), "{name}");
        for (at, _) in &info.copies {
            assert!(!changed(at - 8192..at + (64 << 10)), "{name}");
        }
    }
}
