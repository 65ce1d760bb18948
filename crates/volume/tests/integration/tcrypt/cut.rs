//! Containers without their start, or with other bytes before it, opened with their backup header.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_volume::format::tcrypt::{
    CreateOptions, Fill, HeaderOptions, HeaderSource, HiddenPlace, backup_headers,
    change_credentials, create, create_hidden, restore_headers,
};
use cryptbench_volume::{Access, Credentials, OpenOptions, VolumeError};

use super::{
    cheap, credentials, effort, header, memory, open, options, plaintext, sha512, shared_volumes,
};

const KIB: usize = 1024;
const SIZE: usize = 1024 * KIB;
/// Offset of the data.
const DATA: usize = 128 * KIB;

fn backup() -> OpenOptions<'static> {
    OpenOptions { backup_header: true, ..sha512() }
}

fn device(bytes: &[u8]) -> Arc<MemoryDevice> {
    Arc::new(MemoryDevice::new(bytes.to_vec()))
}

/// A host with an outer and a hidden volume, both full of text that states its location, and their plaintexts.
fn made() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    made_with(SIZE, 256 << 10)
}

fn made_with(size: usize, of_hidden: u64) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let device = memory(size);
    let new = CreateOptions {
        fill: Fill::Quick,
        ..CreateOptions::new(cryptbench_cipher::tier().unwrap(), effort())
    };
    let (outer, hidden) = (cheap("outer"), cheap("hidden"));
    create(&*device, &outer, &new).unwrap();
    let place = HiddenPlace { outer: &outer, outer_prf: Some("sha-512"), size: of_hidden };
    create_hidden(&*device, &hidden, &place, &new).unwrap();
    let write = |credentials: &Credentials, is_hidden: bool| {
        let writable = OpenOptions { access: Access::ReadWrite, hidden: is_hidden, ..sha512() };
        let volume = open(device.clone(), credentials, &writable).unwrap();
        let part = volume.size() as usize / if is_hidden { 1 } else { 2 };
        let text: Vec<u8> =
            (0..part / 16).flat_map(|i| format!("{i:015}\n").into_bytes()).collect();
        volume.write_at(0, &text).unwrap();
        plaintext(&volume)
    };
    write(&outer, false);
    let hidden = write(&hidden, true);
    let outer = plaintext(&open(device.clone(), &outer, &sha512()).unwrap());
    (device.contents(), outer, hidden)
}

/// The message of a refusal.
fn refused(bytes: &[u8], credentials: &Credentials, options: &OpenOptions<'_>) -> String {
    let error = open(device(bytes), credentials, options).unwrap_err();
    assert!(matches!(error, VolumeError::CannotOpen { .. }), "{error}");
    error.to_string()
}

#[test]
fn a_container_without_its_start() {
    let (host, plain, hidden_plain) = made();
    let hidden = OpenOptions { hidden: true, ..backup() };
    // A part of the first headers, all headers, and some of the data.
    for lost in [512, 64 * KIB, DATA, DATA + 512, DATA + 100 * KIB] {
        let cut = &host[lost..];
        let volume = open(device(cut), &cheap("outer"), &backup()).unwrap();
        let mut expected = plain.clone();
        expected[..lost.saturating_sub(DATA)].fill(0);
        assert!(plaintext(&volume) == expected, "{lost}");
        let said = volume.info().warnings().collect::<String>();
        assert!(said.contains(&format!("first {lost} of {SIZE} bytes are missing")), "{said}");
        let writable = OpenOptions { access: Access::ReadWrite, ..backup() };
        assert!(refused(cut, &cheap("outer"), &writable).contains("read-only"));
        // The hidden volume is complete in all of these.
        let volume = open(device(cut), &cheap("hidden"), &hidden).unwrap();
        assert!(plaintext(&volume) == hidden_plain, "{lost}");
        // A restored header would overwrite data.
        for is_hidden in [false, true] {
            let cut = device(cut);
            let credentials = cheap(if is_hidden { "hidden" } else { "outer" });
            let options = HeaderOptions { hidden: is_hidden, ..header() };
            let error = restore_headers(&*cut, HeaderSource::Embedded, &credentials, &options);
            let error = error.unwrap_err();
            assert!(matches!(error, VolumeError::CannotOpen { .. }), "{lost}: {error}");
            assert!(cut.contents() == host[lost..], "{lost}");
        }
    }
    let all = &host[SIZE - DATA..];
    assert!(refused(all, &cheap("outer"), &backup()).contains("all of its data is missing"));
}

#[test]
fn a_hidden_volume_without_its_start() {
    let (host, _, plain) = made();
    let hidden = OpenOptions { hidden: true, ..backup() };
    let start = SIZE - DATA - plain.len() - 4 * KIB;
    let lost = start + 8 * KIB;
    let volume = open(device(&host[lost..]), &cheap("hidden"), &hidden).unwrap();
    let mut expected = plain;
    let missing = lost - (SIZE - DATA - (256 << 10));
    expected[..missing].fill(0);
    assert!(plaintext(&volume) == expected);
    // The location of data that looks random cannot be recognised.
    let mut bytes = host[lost..].to_vec();
    let end = bytes.len() - DATA;
    let noise = bytes[end + 512..end + 2048].to_vec();
    for part in bytes[..end].chunks_mut(noise.len()) {
        part.copy_from_slice(&noise[..part.len()]);
    }
    assert!(refused(&bytes, &cheap("hidden"), &hidden).contains("is unknown"));
}

#[test]
fn a_container_behind_other_bytes() {
    let (host, plain, hidden_plain) = made();
    let mut bytes = vec![7; 3 * 512];
    bytes.extend_from_slice(&host);
    let volume = open(device(&bytes), &cheap("outer"), &backup()).unwrap();
    assert!(plaintext(&volume) == plain);
    let said = volume.info().warnings().collect::<String>();
    assert!(said.contains("1536 bytes precede the container"), "{said}");
    let hidden = OpenOptions { hidden: true, ..backup() };
    let volume = open(device(&bytes), &cheap("hidden"), &hidden).unwrap();
    assert!(plaintext(&volume) == hidden_plain);
    let writable = OpenOptions { access: Access::ReadWrite, ..backup() };
    assert!(refused(&bytes, &cheap("outer"), &writable).contains("--offset 1536"));
    let disk = device(&bytes);
    let restored = restore_headers(&*disk, HeaderSource::Embedded, &cheap("outer"), &header());
    assert!(restored.unwrap_err().to_string().contains("--offset 1536"));
    assert!(disk.contents() == bytes);
}

#[test]
fn a_container_without_its_end_says_where_its_backup_header_is() {
    let (host, ..) = made();
    let error = open(device(&host[..SIZE - 4096]), &cheap("outer"), &backup()).unwrap_err();
    assert!(error.to_string().contains("the backup header, is missing"), "{error}");
    // Nothing is written at the location of the former end.
    let cut = device(&host[..SIZE - 4096]);
    let saved = super::backup_of(&cut, &cheap("outer"), &header());
    let source = HeaderSource::File(&saved);
    restore_headers(&*cut, source, &cheap("outer"), &header()).unwrap_err();
    assert!(cut.contents() == host[..SIZE - 4096]);
}

/// The backup headers are located from the end. Without the end, they would be written over other headers or
/// the outer volume's data.
#[test]
fn no_key_is_changed_in_a_container_without_its_end() {
    // 4 KiB or 128 KiB are left free after the hidden volume, so that the truncated container can look like a
    // whole one.
    for (size, of_hidden) in [(SIZE, 256 << 10), (3 * SIZE, 2 << 20)] {
        let (host, ..) = made_with(size, of_hidden);
        for lost in [512, 4096, 60 * KIB, 64 * KIB, 100 * KIB, 124 * KIB, DATA - 512, DATA] {
            let cut = device(&host[..size - lost]);
            for (is_hidden, old) in [(false, "outer"), (true, "hidden")] {
                let options = HeaderOptions { hidden: is_hidden, ..header() };
                let changed = change_credentials(&*cut, &cheap(old), &cheap("new"), None, &options);
                let error = changed.unwrap_err();
                assert!(matches!(error, VolumeError::CannotOpen { .. }), "{lost} {old}: {error}");
                assert!(error.to_string().contains("nothing was written"), "{lost} {old}: {error}");
                assert!(cut.contents() == host[..size - lost], "{lost} {old}");
            }
            let place =
                HiddenPlace { outer: &cheap("outer"), outer_prf: Some("sha-512"), size: 65536 };
            let new = CreateOptions::new(cryptbench_cipher::tier().unwrap(), effort());
            let error = create_hidden(&*cut, &cheap("new"), &place, &new).unwrap_err();
            assert!(matches!(error, VolumeError::CannotOpen { .. }), "{lost}: {error}");
            assert!(cut.contents() == host[..size - lost], "{lost}");
        }
        // Only the two headers of the whole container change.
        let whole = device(&host);
        let options = HeaderOptions { hidden: true, ..header() };
        change_credentials(&*whole, &cheap("hidden"), &cheap("new"), None, &options).unwrap();
        let changed: Vec<_> = differing(&whole.contents(), &host);
        assert_eq!(changed, [64 * KIB, size - 64 * KIB]);
        // A change that was interrupted between the two is completed.
        let mut bytes = whole.contents();
        bytes[64 * KIB..][..512].copy_from_slice(&host[64 * KIB..][..512]);
        let half = device(&bytes);
        change_credentials(&*half, &cheap("hidden"), &cheap("new"), None, &options).unwrap();
        // If the backup header is missing, the message states how to restore it.
        bytes[size - 64 * KIB..][..512].fill(0);
        let half = device(&bytes);
        let changed = change_credentials(&*half, &cheap("hidden"), &cheap("new"), None, &options);
        assert!(changed.unwrap_err().to_string().contains("header-restore"));
        assert!(half.contents() == bytes);
        let saved =
            backup_headers(&*half, &cheap("outer"), Some(&cheap("hidden")), &header()).unwrap();
        restore_headers(&*half, HeaderSource::File(&saved), &cheap("hidden"), &header()).unwrap();
        change_credentials(&*half, &cheap("hidden"), &cheap("new"), None, &options).unwrap();
    }
}

/// The sectors that differ.
fn differing(one: &[u8], other: &[u8]) -> Vec<usize> {
    assert_eq!(one.len(), other.len());
    let sectors = one.chunks(512).zip(other.chunks(512)).enumerate();
    sectors.filter(|(_, (one, other))| one != other).map(|(number, _)| number * 512).collect()
}

/// TrueCrypt 5 has no backup headers, and its headers do not state the location of the data.
#[test]
fn containers_of_truecrypt_5_that_were_cut() {
    let Some(dir) = unpacked(&["tc_3-sha512-xts-aes-hidden"]) else { return };
    let host = std::fs::read(dir.path().join("tc_3-sha512-xts-aes-hidden")).unwrap();
    let truecrypt = OpenOptions { format: Some("truecrypt"), ..sha512() };
    let outer = credentials("aaaaaaaaaaaa", None);
    let whole = plaintext(&open(device(&host), &outer, &truecrypt).unwrap());
    let cut = open(device(&host[..host.len() - 4096]), &outer, &truecrypt).unwrap();
    assert!(plaintext(&cut) == whole[..whole.len() - 4096]);
    let said = cut.info().warnings().collect::<String>();
    assert!(said.contains("truncated"), "{said}");
    let hidden = OpenOptions { hidden: true, ..truecrypt };
    let own = credentials("bbbbbbbbbbbb", None);
    let cut = open(device(&host[4096..]), &own, &hidden).unwrap();
    let said = cut.info().warnings().collect::<String>();
    assert!(said.contains("decrypted incorrectly"), "{said}");
    let writable = OpenOptions { access: Access::ReadWrite, ..hidden };
    assert!(refused(&host[4096..], &own, &writable).contains("looks random"));
    for options in [hidden, writable] {
        let volume = open(device(&host), &own, &options).unwrap();
        assert_eq!(volume.info().warnings().count(), 0);
    }
}

/// These images, in a separate directory; `None` and a message if they are not available.
fn unpacked(names: &[&str]) -> Option<tempfile::TempDir> {
    let Some(shared) = shared_volumes() else {
        eprintln!("SKIPPED: no ../shared/data/volumes beside the repository");
        return None;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(shared.join("tcrypt-images.tar.xz")).arg("-C").arg(dir.path());
    tar.args(names.iter().map(|name| format!("./{name}")));
    if tar.status().is_ok_and(|done| done.success()) {
        return Some(dir);
    }
    eprintln!("SKIPPED: tar cannot unpack the images");
    None
}

/// Containers created by VeraCrypt and TrueCrypt: each one with header version 4 or 5, whole and truncated.
#[test]
fn containers_of_other_programs_without_their_start() {
    let names = ["tc_4-sha512-xts-aes-hidden", "tc_4-sha512-xts-serpent-twofish-aes-hidden"];
    let Some(dir) = unpacked(&names) else { return };
    for name in names {
        let host = std::fs::read(dir.path().join(name)).unwrap();
        for (passphrase, is_hidden) in [("aaaaaaaaaaaa", false), ("bbbbbbbbbbbb", true)] {
            let options = OpenOptions {
                hidden: is_hidden,
                backup_header: true,
                format: Some("truecrypt"),
                ..options()
            };
            let credentials = credentials(passphrase, None);
            let whole = plaintext(&open(device(&host), &credentials, &options).unwrap());
            for lost in [4096, DATA, DATA + 4096] {
                let volume = open(device(&host[lost..]), &credentials, &options).unwrap();
                let mut expected = whole.clone();
                expected[..if is_hidden { 0 } else { lost.saturating_sub(DATA) }].fill(0);
                assert!(plaintext(&volume) == expected, "{name} {is_hidden} {lost}");
                cryptbench_prove::count(1, "containers of TrueCrypt without their start");
            }
        }
    }
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/veracrypt");
    let host = std::fs::read(fixtures.join("vc_sha512_aes.hc")).unwrap();
    let whole =
        plaintext(&open(device(&host), &credentials("cryptbench", Some(1)), &backup()).unwrap());
    let cut = open(device(&host[DATA..]), &credentials("cryptbench", Some(1)), &backup()).unwrap();
    assert!(plaintext(&cut) == whole);
}
