//! Volumes created by LibreCrypt.

use std::sync::{Arc, OnceLock};

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_cipher::{Layout, dm_crypt, tier};
use cryptbench_kdf::Effort;
use cryptbench_volume::{Credentials, OpenOptions, Secret, Volume, VolumeError, open};

/// The start of a volume created by LibreCrypt, its passphrase, the size of its data in bytes, and what opens
/// it.
const ALL: [(&[u8], &[u8], u64, &str); 2] = [
    (include_bytes!("../fixtures/freeotfe/a.start"), b"password", 1 << 20, "aes-xts-plain64"),
    // In Windows code page encoding.
    (
        include_bytes!("../fixtures/freeotfe/c.start"),
        b"!\"\xa3$%^&*()",
        1 << 20,
        "des3_ede-cbc-plain",
    ),
];

fn options() -> OpenOptions<'static> {
    let effort = Effort::new(tier().unwrap(), 1);
    OpenOptions { format: Some("freeotfe"), ..OpenOptions::new(tier().unwrap(), effort) }
}

/// The volume, with zeros everywhere except at its start.
fn opened(start: &[u8], bytes: u64, passphrase: &[u8]) -> Result<Volume, VolumeError> {
    opened_with(start, bytes, passphrase, &options())
}

fn opened_with(
    start: &[u8],
    bytes: u64,
    passphrase: &[u8],
    options: &OpenOptions<'_>,
) -> Result<Volume, VolumeError> {
    let mut whole = start.to_vec();
    whole.resize(usize::try_from(bytes).unwrap(), 0);
    let passphrase = Secret::new(passphrase.to_vec());
    let credentials = Credentials { passphrase, ..Credentials::default() };
    open(Arc::new(MemoryDevice::new(whole)), &credentials, options)
}

/// Size of the details in a block, in bytes.
pub const DETAILS: usize = 512 - 32 - 64;

/// Details of layout 4: an AES key in the mode of the block, 64 sectors of data, IVs that count from the start
/// of the data.
pub fn details(mode: &str) -> [u8; DETAILS] {
    let key = if mode == "cbc-null" { 32 } else { 64_u8 };
    let (iv, generator) = if mode == "cbc-null" { (16, 2) } else { (0, 0) };
    let mut made = vec![4, 0, 0, 0, 1];
    made.extend((64_u64 * 512).to_be_bytes());
    made.extend((u32::from(key) * 8).to_be_bytes());
    made.extend((0..key).map(|byte| byte.wrapping_mul(7)));
    made.push(0);
    made.extend((iv as u32 * 8).to_be_bytes());
    made.extend(vec![9; iv]);
    made.push(generator);
    made.resize(DETAILS, 0);
    made.try_into().unwrap()
}

/// A block with these details, according to the description of the format: SHA-512 and AES, passphrase `p`.
pub fn block(mode: &str, details: &[u8; DETAILS]) -> Vec<u8> {
    static DERIVED: OnceLock<[u8; 64]> = OnceLock::new();
    let sha512 = cryptbench_kdf::find("sha-512").unwrap();
    let salt = [0x5a; 32];
    let derived = DERIVED.get_or_init(|| {
        let mut derived = [0; 64];
        sha512.pbkdf2(b"p", &salt, 2048, &mut derived, options().effort).unwrap();
        derived
    });
    let key = if mode == "cbc-null" { &derived[..32] } else { &derived[..] };
    let padded = |with: u8| {
        let mut pad = vec![with; 128];
        pad.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        pad
    };
    let (mut inner, mut mac) = ([0; 64], [0; 64]);
    sha512.hash(&[&padded(0x36), details], &mut inner);
    sha512.hash(&[&padded(0x5c), &inner], &mut mac);
    let mut plain = [&mac[..], details].concat();
    let layout = Layout { data_unit: plain.len(), tweak_step: 1 };
    let cipher = dm_crypt("aes", mode, key, layout, tier().unwrap()).unwrap();
    cipher.encrypt_in_place(0, &mut plain);
    [&salt[..], &plain].concat()
}

/// Opens a volume that starts with a [`block`], without trying other hashes.
pub fn opened_block(block: &[u8], bytes: u64) -> Result<Volume, VolumeError> {
    opened_with(block, bytes, b"p", &OpenOptions { prf: Some("sha-512"), ..options() })
}

#[test]
fn volumes_of_the_tests_open() {
    for (mode, cipher) in [("xts-plain64", "aes-xts-plain64"), ("cbc-null", "aes-cbc-plain64")] {
        let volume = opened_block(&block(mode, &details(mode)), 512 + 64 * 512).unwrap();
        assert_eq!((volume.info().cipher.as_str(), volume.size()), (cipher, 64 * 512));
    }
}

#[test]
fn volumes_of_librecrypt_open_to_their_boot_sector() {
    for (start, passphrase, bytes, cipher) in ALL {
        let volume = opened(start, 512 + bytes, passphrase).unwrap();
        assert_eq!(volume.info().cipher, cipher);
        assert_eq!((volume.size(), volume.is_read_only()), (bytes, true), "{cipher}");
        let mut sector = [0; 512];
        volume.read_at(0, &mut sector).unwrap();
        assert_eq!(sector[3..11], *b"MSDOS5.0", "{cipher}");
        assert_eq!(sector[510..], [0x55, 0xaa], "{cipher}");
    }
}

#[test]
fn nothing_else_opens_it() {
    let (start, passphrase, bytes, _) = ALL[0];
    let wrong = opened(start, 512 + bytes, b"Password").map(drop).unwrap_err();
    assert!(matches!(wrong, VolumeError::NoKeyFits(_)), "{wrong}");
    let mut damaged = start.to_vec();
    damaged[100] ^= 1;
    let wrong = opened(&damaged, 512 + bytes, passphrase).map(drop).unwrap_err();
    assert!(matches!(wrong, VolumeError::NoKeyFits(_)), "{wrong}");
    let cut = opened(start, 4096, passphrase).unwrap();
    assert_eq!((cut.size(), cut.info().warnings().count()), (3584, 1));
}

#[test]
fn it_is_never_written() {
    let (start, passphrase, bytes, _) = ALL[1];
    let volume = opened(start, 512 + bytes, passphrase).unwrap();
    assert!(volume.write_at(0, &[0; 512]).is_err());
}
