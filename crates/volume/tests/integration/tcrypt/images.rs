//! cryptsetup's 52 TrueCrypt and VeraCrypt images (stored outside the repository), with all header versions and
//! layouts.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use cryptbench_blockdev::MemoryDevice;
use cryptbench_volume::format::tcrypt::{
    HeaderOptions, HeaderSource, backup_headers, change_credentials, restore_headers,
};
use cryptbench_volume::{Credentials, OpenOptions};

use super::{
    credentials, file, open, options, plaintext, rows, secret_file, sha256, share, shared_volumes,
};

const PASSPHRASE: &str = "aaaaaaaaaaaa";
const PASSPHRASE_HIDDEN: &str = "bbbbbbbbbbbb";
const PASSPHRASE_PIM: &str = "cccccccccccccccccccc";
const PASSPHRASE_72: &str =
    "aaaaaaaaaaaabbbbbbbbbbbbccccccccccccddddddddddddeeeeeeeeeeeeffffffffffff";

/// A row of the table.
struct Image {
    name: String,
    which: String,
    uuid: String,
    bytes: String,
    sha256: String,
}

impl Image {
    /// The PRF in the file name, by this project's name.
    fn prf(&self) -> &'static str {
        match self.name.split('-').nth(1).unwrap() {
            "ripemd160" => "ripemd-160",
            "sha1" => "sha-1",
            "sha256" => "sha-256",
            "sha512" => "sha-512",
            "whirlpool" => "whirlpool",
            "blake2s" => "blake2s-256",
            "stribog512" => "streebog-512",
            "argon2id" => "argon2id",
            other => panic!("unknown PRF {other}"),
        }
    }

    fn credentials(&self, dir: &Path) -> Credentials {
        let after = |mark: &str| self.name.split(mark).nth(1);
        let pim = after("vcpim_1_").map(|rest| rest.split('-').next().unwrap().parse().unwrap());
        let passphrase = match &*self.which {
            _ if pim.is_some() => PASSPHRASE_PIM,
            "hidden" | "hidden-backup" => PASSPHRASE_HIDDEN,
            _ if self.name.contains("nopw") => "",
            _ if self.name.contains("pw72") => PASSPHRASE_72,
            _ => PASSPHRASE,
        };
        let mut credentials = credentials(passphrase, pim);
        if self.which == "keyfile" {
            credentials.keyfiles =
                ["keyfile1", "keyfile2"].map(|file| secret_file(&dir.join(file))).into();
        }
        credentials
    }

    fn options(&self) -> OpenOptions<'static> {
        OpenOptions {
            hidden: self.which.starts_with("hidden"),
            backup_header: self.which.ends_with("backup"),
            system: self.name.starts_with("sys_"),
            ..options()
        }
    }

    fn format(&self) -> &'static str {
        if is_veracrypt(self) { "veracrypt" } else { "truecrypt" }
    }

    /// The algorithms of the cipher, sorted, because the images list them in different orders.
    fn algorithms(&self) -> Vec<String> {
        let names = self.name.trim_end_matches("-hidden").split('-').skip(3);
        let mut names: Vec<_> = names.map(|name| name.replace("des3_ede", "triple des")).collect();
        names.sort();
        names
    }

    fn check(&self, dir: &Path) {
        let what = format!("{} ({})", self.name, self.which);
        let device = file(&dir.join(&self.name));
        // With the PRF from the file name for VeraCrypt, because trying all of its PRFs takes seconds; for
        // TrueCrypt it does not.
        let prf = if is_veracrypt(self) { Some(self.prf()) } else { None };
        let options = OpenOptions { prf, format: Some(self.format()), ..self.options() };
        let volume = match open(device, &self.credentials(dir), &options) {
            Ok(volume) => volume,
            Err(error) => panic!("{what}: {error}"),
        };
        let info = volume.info();
        assert_eq!(info.derivation.split(',').next(), Some(self.prf()), "{what}");
        assert_eq!(info.format, self.format(), "{what}");
        let mut algorithms: Vec<_> = info
            .cipher
            .split(['(', ')'])
            .filter(|part| !part.is_empty())
            .map(str::to_lowercase)
            .collect();
        algorithms.sort();
        assert_eq!(algorithms, self.algorithms(), "{what}");
        let plain = plaintext(&volume);
        if !self.bytes.is_empty() {
            assert_eq!(plain.len().to_string(), self.bytes, "{what}");
        }
        if !self.sha256.is_empty() {
            assert_eq!(sha256(&plain), self.sha256, "{what}");
        }
        // Every image contained FAT with one of these volume IDs, even if the kernel that made the table lacked
        // the cipher. In five images, the data was wiped to zeros.
        let at = usize::try_from(volume.info().data_offset).unwrap();
        if std::fs::read(dir.join(&self.name)).unwrap()[at..at + 512] == [0; 512] {
            assert!(self.uuid.is_empty() && !is_xts(self), "{what}");
            cryptbench_prove::count(1, &format!("volumes of {} (cryptsetup's)", self.format()));
            return;
        }
        let hidden = self.which.starts_with("hidden");
        let uuid = if hidden { "CAFE-BABE" } else { "DEAD-BABE" };
        assert!(self.uuid.is_empty() || self.uuid == uuid, "{what}");
        let ids = [fat_id(&plain, 0x27), fat_id(&plain, 0x43)];
        assert!(ids.iter().any(|id| id == uuid), "{what}: FAT volume IDs {ids:?}");
        cryptbench_prove::count(1, &format!("volumes of {} (cryptsetup's)", self.format()));
    }
}

/// The volume ID at `at` of a FAT boot sector (0x27 in FAT12 and FAT16, 0x43 in FAT32).
fn fat_id(plain: &[u8], at: usize) -> String {
    let id = u32::from_le_bytes(plain[at..at + 4].try_into().unwrap());
    format!("{:04X}-{:04X}", id >> 16, id & 0xffff)
}

/// Unpacks the images and passes on those of one mode, or prints that they are missing.
fn with_images(
    select: impl Fn(&Image) -> bool,
    part: usize,
    parts: usize,
    check: impl Fn(&Image, &Path),
) {
    let Some(shared) = shared_volumes() else {
        eprintln!("SKIPPED: no ../shared/data/volumes beside the repository");
        return;
    };
    let images: Vec<_> = rows(&shared.join("tcrypt-expected.csv"))
        .into_iter()
        .map(|row| {
            let [name, which, uuid, bytes, sha256] = std::array::from_fn(|i| row[i].clone());
            Image { name, which, uuid, bytes, sha256 }
        })
        .filter(select)
        .collect();
    assert!(!images.is_empty());
    let dir = tempfile::tempdir().unwrap();
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(shared.join("tcrypt-images.tar.xz")).arg("-C").arg(dir.path());
    tar.args(["keyfile1", "keyfile2"].map(|name| format!("./{name}")));
    let images: Vec<_> = share(images, part, parts).collect();
    let names: std::collections::BTreeSet<_> =
        images.iter().map(|i| format!("./{}", i.name)).collect();
    match tar.args(names).status() {
        Ok(status) if status.success() => {}
        other => {
            eprintln!("SKIPPED: tar cannot unpack the images: {other:?}");
            return;
        }
    }
    for image in &images {
        check(image, dir.path());
    }
}

fn is_veracrypt(image: &Image) -> bool {
    !image.name.starts_with("tc")
}

fn is_xts(image: &Image) -> bool {
    image.name.contains("-xts-")
}

#[test]
fn truecrypt_in_xts() {
    with_images(|image| !is_veracrypt(image) && is_xts(image), 0, 1, Image::check);
}

#[test]
fn truecrypt_before_xts() {
    with_images(|image| !is_veracrypt(image) && !is_xts(image), 0, 1, Image::check);
}

/// Only the passphrase of these images is known: all derivations of both products are tried.
#[test]
fn an_unknown_product_and_derivation() {
    let names = ["tc_5-whirlpool-xts-aes", "vc_1-stribog512-xts-camellia"];
    with_images(
        |image| names.contains(&&*image.name),
        0,
        1,
        |image, dir| {
            let device = file(&dir.join(&image.name));
            let volume = open(device, &image.credentials(dir), &image.options()).unwrap();
            assert_eq!(volume.info().format, image.format());
        },
    );
}

/// Layouts that this crate does not create: credentials can be changed, and headers can be restored from a
/// file.
#[test]
fn old_layouts_change_hands() {
    let names = [
        ("tc_1-sha1-cbc-des3_ede", "std"),
        ("tc_2-ripemd160-cbc-aes-hidden", "hidden"),
        ("tc_2-ripemd160-lrw-serpent-twofish-aes", "std"),
        ("tc_3-sha512-xts-aes-hidden", "hidden"),
        ("tc_3-sha512-xts-aes-hidden", "std"),
        ("sys_vc_1_mbr_part-sha256-xts-aes", "std"),
    ];
    let select = |image: &Image| names.contains(&(&image.name, &image.which));
    with_images(select, 0, 1, |image, dir| {
        let what = format!("{} ({})", image.name, image.which);
        let bytes = std::fs::read(dir.join(&image.name)).unwrap();
        let device = Arc::new(MemoryDevice::new(bytes.clone()));
        let open_options = image.options();
        let old = image.credentials(dir);
        let before = sha256(&plaintext(&open(device.clone(), &old, &open_options).unwrap()));
        let header = HeaderOptions {
            hidden: open_options.hidden,
            system: open_options.system,
            prf: Some(image.prf()),
            ..HeaderOptions::new(open_options.tier, open_options.effort)
        };
        let new = Credentials { pim: old.pim, ..credentials("new", None) };
        let backup = (!header.system && !header.hidden)
            .then(|| backup_headers(&*device, &old, None, &header).unwrap());
        change_credentials(&*device, &old, &new, None, &header).unwrap();
        open(device.clone(), &old, &OpenOptions { prf: Some(image.prf()), ..open_options })
            .unwrap_err();
        let after = sha256(&plaintext(&open(device.clone(), &new, &open_options).unwrap()));
        assert_eq!(after, before, "{what}");
        // Only one sector has changed.
        let changed = device.contents();
        let sectors = changed.chunks(512).zip(bytes.chunks(512));
        assert_eq!(sectors.filter(|(a, b)| a != b).count(), 1, "{what}");
        if let Some(backup) = backup {
            assert_eq!(backup.len(), 1024, "{what}");
            let source = HeaderSource::File(&backup);
            restore_headers(&*device, source, &old, &header).unwrap();
            let restored = plaintext(&open(device, &old, &open_options).unwrap());
            assert_eq!(sha256(&restored), before, "{what}");
        }
    });
}

#[test]
fn veracrypt_first_part() {
    with_images(is_veracrypt, 0, 3, Image::check);
}

#[test]
fn veracrypt_second_part() {
    with_images(is_veracrypt, 1, 3, Image::check);
}

#[test]
fn veracrypt_third_part() {
    with_images(is_veracrypt, 2, 3, Image::check);
}
