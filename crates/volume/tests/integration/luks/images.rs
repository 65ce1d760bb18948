//! LUKS1 images from cryptsetup's test suite, whose plaintext was read through the kernel's dm-crypt.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode};
use cryptbench_volume::format::luks::open_with;
use cryptbench_volume::{Access, Credentials, Secret};
use sha2::{Digest, Sha256};

use crate::luks::volumes::{contents, writable};

#[test]
fn every_image_opens_and_its_whole_plaintext_is_right() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/volumes");
    let folder = std::env::var_os(cryptbench_prove::IMAGES).map_or(beside, Into::into);
    let archive = folder.join("luks1-images.tar.xz");
    if !archive.exists() {
        eprintln!("SKIPPED: no images beside the repository");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let unpacked = Command::new("tar").arg("-xJf").arg(&archive).arg("-C").arg(dir.path()).status();
    if !unpacked.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: tar cannot unpack the images");
        return;
    }
    let keyfile = std::fs::read(dir.path().join("keyfile1")).unwrap();
    let credentials =
        Credentials { keyfiles: vec![Secret::new(keyfile)], ..Credentials::default() };
    let expected = std::fs::read_to_string(folder.join("luks1-expected.csv")).unwrap();
    let mut tested = 0;
    for line in expected.lines().skip(1) {
        let [image, _uuid, sectors, sha256, cipher] =
            line.split(',').map(str::trim).collect::<Vec<_>>().try_into().unwrap();
        let path = dir.path().join(image);
        let device = Arc::new(FileDevice::open(&path, IoMode::Buffered, true).unwrap());
        let mut options = writable();
        options.access = Access::ReadOnly;
        let volume = open_with(device, &credentials, &options).unwrap();
        assert_eq!(volume.info().cipher, cipher, "{image}");
        assert_eq!(volume.size(), sectors.parse::<u64>().unwrap() * 512, "{image}");
        let digest = Sha256::digest(contents(&volume));
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, sha256, "{image}");
        assert!(volume.write_at(0, &[0; 512]).is_err());
        cryptbench_prove::count(1, "volumes of LUKS1 (cryptsetup's)");
        tested += 1;
    }
    assert_eq!(tested, 6);
}
