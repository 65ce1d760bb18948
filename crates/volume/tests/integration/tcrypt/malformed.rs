//! Headers that open but contain wrong values; each generator is named after its defect.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_cipher::Layout;
use cryptbench_volume::format::tcrypt::{
    ENCRYPTED_BYTES, Header, Product, SecretBytes, open_partition,
};
use cryptbench_volume::{Access, OpenOptions, VolumeError};
use proptest::prelude::*;

use super::{credentials, effort, open, options};

const SIZE: u64 = 320 * 1024;

/// A header as TrueCrypt 7 would write it, whose derivation is cheap.
fn sound() -> Header {
    Header {
        product: Product::TrueCrypt,
        version: 5,
        required_version: 0x0700,
        times: [0; 2],
        hidden_size: 0,
        volume_size: SIZE - 256 * 1024,
        data_offset: 128 * 1024,
        data_size: SIZE - 256 * 1024,
        flags: 0,
        sector_size: 512,
        keys: SecretBytes::from(&std::array::from_fn(|i| i as u8)),
    }
}

/// A host with the headers `plain` at `offset`, sealed by this test itself: SHA-512, AES, passphrase `p`.
pub fn host(offset: u64, plain: [u8; ENCRYPTED_BYTES]) -> Arc<MemoryDevice> {
    sealed("sha-512", offset, plain)
}

fn sealed(prf: &'static str, offset: u64, mut plain: [u8; ENCRYPTED_BYTES]) -> Arc<MemoryDevice> {
    let device = Arc::new(MemoryDevice::new(vec![0; SIZE as usize]));
    let (salt, key) = ([0x5A; 64], key(prf, [0x5A; 64]));
    let layout = Layout { data_unit: ENCRYPTED_BYTES, tweak_step: 1 };
    let aes = cryptbench_cipher::find("aes-256-xts").unwrap();
    let aes = aes.with_key(&key, layout, cryptbench_cipher::tier().unwrap()).unwrap();
    aes.encrypt_in_place(0, &mut plain);
    device.write_at(offset, &[&salt[..], &plain].concat()).unwrap();
    device
}

/// The key of the passphrase `p`, derived once.
fn key(prf: &'static str, salt: [u8; 64]) -> [u8; 64] {
    static KEYS: Mutex<BTreeMap<&str, [u8; 64]>> = Mutex::new(BTreeMap::new());
    *KEYS.lock().unwrap().entry(prf).or_insert_with(|| {
        let mut key = [0; 64];
        let prf = cryptbench_kdf::find(prf).unwrap();
        prf.pbkdf2(b"p", &salt, 1000, &mut key, effort()).unwrap();
        key
    })
}

pub fn sha512() -> OpenOptions<'static> {
    OpenOptions { format: Some("truecrypt"), prf: Some("sha-512"), ..options() }
}

fn refusal(plain: [u8; ENCRYPTED_BYTES]) -> VolumeError {
    open(host(0, plain), &credentials("p", None), &sha512()).unwrap_err()
}

/// A valid header with one changed field and correct checksums.
pub fn lying(change: impl FnOnce(&mut Header)) -> [u8; ENCRYPTED_BYTES] {
    let mut header = sound();
    change(&mut header);
    *header.serialise()
}

/// A valid header whose bytes were changed afterwards, with unchanged checksums.
fn corrupted(change: impl FnOnce(&mut [u8; ENCRYPTED_BYTES])) -> [u8; ENCRYPTED_BYTES] {
    let mut plain = *sound().serialise();
    change(&mut plain);
    plain
}

#[test]
fn the_sound_header_opens() {
    let volume = open(host(0, lying(|_| {})), &credentials("p", None), &sha512()).unwrap();
    assert_eq!(volume.size(), SIZE - 256 * 1024);
}

#[test]
fn damaged_headers_say_so() {
    let defects = [
        ("fields_flipped", corrupted(|plain| plain[40] ^= 1)),
        ("reserved_bytes_flipped", corrupted(|plain| plain[100] ^= 1)),
        ("header_crc_flipped", corrupted(|plain| plain[188] ^= 1)),
        ("keys_flipped", corrupted(|plain| plain[447] ^= 1)),
        ("keys_crc_flipped", corrupted(|plain| plain[8] ^= 1)),
        ("version_0", lying(|header| header.version = 0)),
        ("sectors_of_0", lying(|header| header.sector_size = 0)),
        ("sectors_of_520", lying(|header| header.sector_size = 520)),
        ("sectors_of_1_mib", lying(|header| header.sector_size = 1 << 20)),
        ("sectors_of_4_gib", lying(|header| header.sector_size = u32::MAX)),
        ("volume_empty", lying(|header| (header.volume_size, header.data_size) = (0, 0))),
        (
            "volume_of_16_eib",
            lying(|header| {
                header.volume_size = u64::MAX - 511;
                header.data_size = header.volume_size;
            }),
        ),
        (
            "volume_off_its_units",
            lying(|header| {
                header.volume_size -= 1;
                header.data_size = header.volume_size;
            }),
        ),
        ("data_over_the_header", lying(|header| header.data_offset = 0)),
        ("data_at_16_eib", lying(|header| header.data_offset = u64::MAX - 511)),
        ("data_off_its_units", lying(|header| header.data_offset += 16)),
    ];
    for (defect, plain) in defects {
        let error = refusal(plain);
        assert!(matches!(error, VolumeError::Damaged { .. }), "{defect}: {error}");
    }
}

#[test]
fn a_volume_whose_end_is_missing_is_read_as_far_as_it_goes() {
    let longer = lying(|header| {
        header.volume_size += 129 * 1024;
        header.data_size = header.volume_size;
    });
    let volume = open(host(0, longer), &credentials("p", None), &sha512()).unwrap();
    assert_eq!(volume.size(), SIZE - 128 * 1024);
    let warnings: Vec<&str> = volume.info().warnings().collect();
    assert!(warnings[0].contains("truncated: it has only 196608 of 197632 bytes"), "{warnings:?}");
    let writable = OpenOptions { access: Access::ReadWrite, ..sha512() };
    let refused = open(host(0, longer), &credentials("p", None), &writable).unwrap_err();
    assert!(refused.to_string().contains("--read-only"), "{refused}");
    let nothing = refusal(lying(|header| header.data_offset = SIZE));
    assert!(nothing.to_string().contains("truncated: it has only 0 of"), "{nothing}");
}

#[test]
fn a_partition_of_a_wholly_encrypted_disk_says_so() {
    const AREA: usize = SIZE as usize - (256 << 10);
    let opened = |first: u64, bytes: usize| {
        let plain = lying(|header| header.data_offset = first);
        let disk = sealed("ripemd-160", 62 * 512, plain);
        let partition = Arc::new(MemoryDevice::new(vec![0; bytes]));
        let options = OpenOptions { prf: Some("ripemd-160"), ..options() };
        open_partition(&*disk, partition, &credentials("p", None), &options)
    };
    // Only one partition is encrypted; in the second case it begins immediately after the first track.
    for (first, bytes) in [(64 << 10, AREA), (63 * 512, AREA), (64 << 10, AREA / 2)] {
        assert_eq!(opened(first, bytes).unwrap().size(), bytes as u64);
    }
    let error = opened(63 * 512, AREA / 2).unwrap_err();
    assert!(matches!(error, VolumeError::CannotOpen { .. }), "{error}");
    assert!(error.to_string().contains("copy the whole disk"), "{error}");
}

#[test]
fn sound_headers_that_are_not_supported_say_so() {
    let cases = [
        ("version_6", lying(|header| header.version = 6)),
        ("encryption_unfinished", lying(|header| header.data_size /= 2)),
        ("encryption_not_begun", lying(|header| header.data_size = 0)),
    ];
    for (case, plain) in cases {
        let error = refusal(plain);
        assert!(matches!(error, VolumeError::Unsupported { .. }), "{case}: {error}");
    }
}

#[test]
fn old_hidden_headers_that_do_not_fit_say_so() {
    let hidden = OpenOptions { hidden: true, ..sha512() };
    for size in [0, 511, SIZE - 3 * 512, SIZE, u64::MAX, u64::MAX - 511] {
        let plain = lying(|header| {
            header.version = 3;
            header.hidden_size = size;
        });
        let host = host(SIZE - 3 * 512, plain);
        let error = open(host, &credentials("p", None), &hidden).unwrap_err();
        assert!(matches!(error, VolumeError::Damaged { .. }), "{size}: {error}");
    }
}

prop_compose! {
    fn any_header()(
        veracrypt: bool,
        version in 1..=5_u16,
        required_version: u16,
        times: [u64; 2],
        sizes: [u64; 4],
        flags: u32,
        sector in 9..=12_u32,
        keys: [[u8; 32]; 8],
    ) -> Header {
        let [hidden_size, volume_size, data_offset, data_size] = sizes;
        let product = if veracrypt { Product::VeraCrypt } else { Product::TrueCrypt };
        let mut area = SecretBytes::from(&[0; 256]);
        area.copy_from_slice(&keys.concat());
        Header {
            product,
            version,
            required_version,
            times,
            hidden_size,
            volume_size,
            data_offset,
            data_size,
            flags,
            sector_size: if version < 5 { 0 } else { 1 << sector },
            keys: area,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_header_is_what_was_written(header in any_header()) {
        prop_assert_eq!(Header::parse(&header.serialise()).unwrap(), Some(header));
    }

    #[test]
    fn any_flipped_bit_is_noticed(header in any_header(), bit in 0..ENCRYPTED_BYTES * 8) {
        let mut plain = header.serialise();
        plain[bit / 8] ^= 1 << (bit % 8);
        // Before version 4 no checksum covered the fields, and the version is one of them: version 1, which has
        // no check that could fail, differs from version 5 by one bit.
        let says = u16::from_be_bytes([plain[4], plain[5]]);
        let guarded = says >= 4 || !(4..192).contains(&(bit / 8)) || (8..12).contains(&(bit / 8));
        match Header::parse(&plain) {
            Ok(None) => prop_assert!(bit / 8 < 4),
            Ok(Some(_)) => prop_assert!(!guarded),
            Err(_) => {}
        }
    }

    #[test]
    fn a_lying_header_never_panics(header in any_header(), at_end: bool) {
        let offset = if at_end { SIZE - 3 * 512 } else { 0 };
        let header = Header { product: Product::TrueCrypt, ..header };
        let options = OpenOptions { hidden: at_end, ..sha512() };
        let opened = open(host(offset, *header.serialise()), &credentials("p", None), &options);
        if let Ok(volume) = opened {
            prop_assert!(volume.info().data_offset + volume.size() <= SIZE);
        }
    }
}
