//! Volumes that this crate creates, read by cryptsetup. Its dump of a header requires neither root nor the
//! kernel for AES, the cipher that it tries first.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode};
use cryptbench_cipher::Layout;
use cryptbench_volume::format::tcrypt::{
    CreateOptions, Fill, HeaderOptions, HiddenPlace, Product, change_credentials, create,
    create_hidden,
};
use cryptbench_volume::{Access, Credentials, OpenOptions};

use super::{credentials, effort, open, options};
use crate::{CRYPTSETUP, there};

const SIZE: u64 = 320 * 1024;

/// Runs `cryptsetup tcryptDump --dump-volume-key`; `None` if there is no cryptsetup.
fn dump(
    path: &Path,
    passphrase: &str,
    prf: &str,
    product: Product,
    extra: &[&str],
) -> Option<String> {
    if !there(CRYPTSETUP) {
        return None;
    }
    let hash = prf.replace("ripemd-160", "ripemd160").replace("sha-", "sha");
    let mut command = Command::new(CRYPTSETUP);
    command.args([
        "tcryptDump",
        "--batch-mode",
        "--dump-volume-key",
        "--cipher",
        "aes",
        "--hash",
        &hash,
    ]);
    // With a PIM it does not try TrueCrypt derivations, and therefore no cipher for which it would need the
    // kernel.
    command.args(match product {
        Product::VeraCrypt => &["--veracrypt", "--veracrypt-pim", "1"][..],
        Product::TrueCrypt => &["--disable-veracrypt"],
    });
    let command = command.args(extra).arg(path).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(passphrase.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    if error.contains("not available") {
        eprintln!("SKIPPED: {prf}: this cryptsetup says: {error}");
        return None;
    }
    assert!(output.status.success(), "{prf} {extra:?}: {error}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The volume key and the start of the data in bytes, from a dump.
fn parsed(dump: &str) -> (Vec<u8>, u64) {
    let offset = dump.split("Payload offset:").nth(1).unwrap().split_whitespace().next().unwrap();
    let key = dump.split("MK dump:").nth(1).unwrap().split_whitespace();
    let key = key.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    (key, offset.parse::<u64>().unwrap() * 512)
}

/// The start of the data area, decrypted with the key and the offset that cryptsetup printed.
fn start_of_data(path: &Path, dump: &str) -> Vec<u8> {
    let (key, offset) = parsed(dump);
    let device = FileDevice::open(path, IoMode::Buffered, true).unwrap();
    let mut data = vec![0; 4096];
    device.read_at(offset, &mut data).unwrap();
    let aes = cryptbench_cipher::find("aes-256-xts").unwrap();
    let aes = aes.with_key(&key, Layout::SECTOR_512, cryptbench_cipher::tier().unwrap()).unwrap();
    aes.decrypt_in_place(offset / 512, &mut data);
    data
}

/// Writes a marker to the start of a volume's plaintext.
fn mark(path: &Path, credentials: &Credentials, options: &OpenOptions<'_>) -> Vec<u8> {
    let device = Arc::new(FileDevice::open(path, IoMode::Buffered, false).unwrap());
    let options = OpenOptions { access: Access::ReadWrite, ..*options };
    let volume = open(device, credentials, &options).unwrap();
    let data: Vec<u8> = (0..4096_u32).map(|i| (i * i / 8) as u8).collect();
    volume.write_at(0, &data).unwrap();
    data
}

fn volume_file() -> (tempfile::NamedTempFile, FileDevice) {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(SIZE).unwrap();
    let device = FileDevice::open(file.path(), IoMode::Buffered, false).unwrap();
    (file, device)
}

fn new() -> CreateOptions<'static> {
    let options = CreateOptions::new(cryptbench_cipher::tier().unwrap(), effort());
    CreateOptions { fill: Fill::Quick, ..options }
}

#[test]
fn cryptsetup_reads_what_was_created_and_changed() {
    let veracrypt =
        ["sha-512", "sha-256", "whirlpool"].map(|prf| (Product::VeraCrypt, Some(1), prf));
    let truecrypt =
        ["sha-512", "whirlpool", "ripemd-160"].map(|prf| (Product::TrueCrypt, None, prf));
    for (product, pim, prf) in veracrypt.into_iter().chain(truecrypt) {
        let (file, device) = volume_file();
        let first = credentials("first", pim);
        create(&device, &first, &CreateOptions { product, prf, ..new() }).unwrap();
        let format = Some(product.format());
        let written =
            mark(file.path(), &first, &OpenOptions { format, prf: Some(prf), ..options() });
        let header = HeaderOptions::new(new().tier, effort());
        let header = HeaderOptions { prf: Some(prf), ..header };
        for passphrase in ["first", "second"] {
            for extra in [&[][..], &["--tcrypt-backup"]] {
                let Some(dump) = dump(file.path(), passphrase, prf, product, extra) else {
                    return;
                };
                assert!(start_of_data(file.path(), &dump) == written, "{prf} {extra:?}");
                cryptbench_prove::count(
                    1,
                    &format!("volumes of ours ({}) read by cryptsetup", product.format()),
                );
            }
            let second = credentials("second", pim);
            if passphrase == "first" {
                change_credentials(&device, &first, &second, None, &header).unwrap();
            }
        }
    }
}

#[test]
fn cryptsetup_reads_hidden_volumes() {
    let (file, device) = volume_file();
    let outer = credentials("outer", Some(1));
    let hidden = credentials("hidden", Some(1));
    create(&device, &outer, &new()).unwrap();
    let place = HiddenPlace { size: 32 * 1024, outer: &outer, outer_prf: Some("sha-512") };
    create_hidden(&device, &hidden, &place, &new()).unwrap();
    let open_options = OpenOptions { hidden: true, prf: Some("sha-512"), ..options() };
    let written = mark(file.path(), &hidden, &open_options);
    for extra in [&["--tcrypt-hidden"][..], &["--tcrypt-hidden", "--tcrypt-backup"]] {
        let Some(dump) = dump(file.path(), "hidden", "sha-512", Product::VeraCrypt, extra) else {
            return;
        };
        assert!(start_of_data(file.path(), &dump) == written, "{extra:?}");
    }
}
