//! Twofish-XTS against independent implementations, and its kernels against each other by block count.

use cryptbench_cipher::{Layout, Tier, find};
use libloading::Library;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ffi::{c_char, c_int, c_uint, c_void};
use twofish::Twofish;
use twofish::cipher::KeyInit;
use xts_mode::Xts128;

const NAME: &str = "twofish-256-xts";
const DATA_UNITS: [usize; 9] = [16, 48, 128, 256, 512, 528, 1024, 4096, 4608];

fn random(rng: &mut ChaCha8Rng, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    rng.fill_bytes(&mut data);
    data
}

/// Checks every tier against `oracle`, which encrypts one unit: key, tweak number, data.
fn check_against(mut oracle: impl FnMut(&[u8], u128, &mut [u8]), seed: u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let info = find(NAME).unwrap();
    for data_unit in DATA_UNITS {
        for tweak_step in [1, 8] {
            let layout = Layout { data_unit, tweak_step };
            let key = random(&mut rng, info.key_bytes);
            let plain = random(&mut rng, 37 * data_unit);
            let first = rng.next_u64();
            let mut expected = plain.clone();
            for (k, unit) in expected.chunks_mut(data_unit).enumerate() {
                oracle(&key, u128::from(first) + k as u128 * u128::from(tweak_step), unit);
            }
            for tier in Tier::available() {
                let cipher = info.with_key(&key, layout, tier).unwrap();
                let mut data = plain.clone();
                cipher.encrypt_in_place(first, &mut data);
                assert!(data == expected, "encrypts units of {data_unit} on {}", cipher.tier());
                cipher.decrypt_in_place(first, &mut data);
                assert!(data == plain, "decrypts units of {data_unit} on {}", cipher.tier());
            }
        }
    }
}

#[test]
fn agrees_with_rustcrypto() {
    check_against(
        |key, tweak, unit| {
            let xts = Xts128::new(
                Twofish::new_from_slice(&key[..32]).unwrap(),
                Twofish::new_from_slice(&key[32..]).unwrap(),
            );
            xts.encrypt_sector(unit, tweak.to_le_bytes().into());
        },
        11,
    );
}

/// libgcrypt's numbers of Twofish with 256-bit keys and of XTS (`gcrypt.h`).
const GCRY_CIPHER_TWOFISH: c_int = 10;
const GCRY_CIPHER_MODE_XTS: c_int = 13;

type Open = unsafe extern "C" fn(*mut *mut c_void, c_int, c_int, c_uint) -> c_uint;
type SetBytes = unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_uint;
type Encrypt = unsafe extern "C" fn(*mut c_void, *mut u8, usize, *const u8, usize) -> c_uint;

#[test]
fn agrees_with_libgcrypt() {
    // SAFETY: the library's constructors ask nothing of us.
    let Ok(library) = (unsafe { Library::new("libgcrypt.so.20") }) else {
        eprintln!("SKIPPED: no libgcrypt.so.20");
        return;
    };
    // SAFETY: the types are those of `gcrypt.h`, version 1.8 and later.
    unsafe {
        let check_version: unsafe extern "C" fn(*const c_char) -> *const c_char =
            *library.get(b"gcry_check_version").unwrap();
        let open: Open = *library.get(b"gcry_cipher_open").unwrap();
        let close: unsafe extern "C" fn(*mut c_void) = *library.get(b"gcry_cipher_close").unwrap();
        let set_key: SetBytes = *library.get(b"gcry_cipher_setkey").unwrap();
        let set_iv: SetBytes = *library.get(b"gcry_cipher_setiv").unwrap();
        let encrypt: Encrypt = *library.get(b"gcry_cipher_encrypt").unwrap();
        assert!(!check_version(std::ptr::null()).is_null());
        check_against(
            |key, tweak, unit| {
                let mut handle = std::ptr::null_mut();
                assert_eq!(open(&mut handle, GCRY_CIPHER_TWOFISH, GCRY_CIPHER_MODE_XTS, 0), 0);
                assert_eq!(set_key(handle, key.as_ptr(), key.len()), 0);
                assert_eq!(set_iv(handle, tweak.to_le_bytes().as_ptr(), 16), 0);
                assert_eq!(encrypt(handle, unit.as_mut_ptr(), unit.len(), std::ptr::null(), 0), 0);
                close(handle);
            },
            12,
        );
    }
}

/// Three times the most blocks that a kernel takes at once, two groups of 64, and one more; runs of one
/// long unit, of 16-byte units, and of units that the fused kernels take.
#[test]
fn every_block_count_agrees_with_the_portable_kernel() {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let info = find(NAME).unwrap();
    let key = random(&mut rng, info.key_bytes);
    for blocks in 1..=3 * 128 + 1 {
        let len = 16 * blocks;
        let plain = random(&mut rng, len);
        for data_unit in [len, 16, 128, 256, 512] {
            if !len.is_multiple_of(data_unit) {
                continue;
            }
            let layout = Layout { data_unit, tweak_step: 1 };
            let first = rng.next_u64();
            let mut expected = plain.clone();
            let soft = info.with_key(&key, layout, Tier::Soft).unwrap();
            soft.encrypt_in_place(first, &mut expected);
            for tier in Tier::available() {
                let cipher = info.with_key(&key, layout, tier).unwrap();
                let what = format!("{blocks} blocks in units of {data_unit}, {}", cipher.tier());
                // Misaligned, apart and in place.
                let mut out = vec![0; len + 8];
                let at = blocks % 8..blocks % 8 + len;
                cipher.encrypt(first, &plain, &mut out[at.clone()]);
                assert!(out[at.clone()] == expected, "encrypts {what}");
                cipher.decrypt_in_place(first, &mut out[at.clone()]);
                assert!(out[at] == plain, "decrypts {what}");
            }
        }
    }
}
