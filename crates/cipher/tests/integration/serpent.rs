//! Serpent-XTS on every tier against independent implementations: RustCrypto and libgcrypt.

use std::ffi::{c_char, c_int, c_uint, c_void};

use cryptbench_cipher::{Layout, Tier, find};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serpent::Serpent;
use serpent::cipher::KeyInit;
use xts_mode::Xts128;

/// The tweak of unit `k`.
fn tweak(layout: Layout, first: u64, k: usize) -> [u8; 16] {
    (u128::from(first) + k as u128 * u128::from(layout.tweak_step)).to_le_bytes()
}

/// Checks every tier against `oracle`, which encrypts the units of a buffer under a key.
fn check(seed: u64, mut oracle: impl FnMut(&[u8], Layout, u64, &mut [u8])) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let info = find("serpent-256-xts").unwrap();
    for data_unit in [16, 48, 256, 512, 528, 768, 1024, 4096] {
        for tweak_step in [1, 8] {
            let layout = Layout { data_unit, tweak_step };
            let mut key = vec![0; info.key_bytes];
            rng.fill_bytes(&mut key);
            // More units than tweaks are enciphered together.
            let mut plain = vec![0; 37 * data_unit];
            rng.fill_bytes(&mut plain);
            let first = rng.next_u64();
            let mut expected = plain.clone();
            oracle(&key, layout, first, &mut expected);
            for tier in Tier::available() {
                let cipher = info.with_key(&key, layout, tier).unwrap();
                let mut data = plain.clone();
                cipher.encrypt_in_place(first, &mut data);
                assert!(data == expected, "{data_unit} {}", cipher.tier());
                cipher.decrypt_in_place(first, &mut data);
                assert!(data == plain, "{data_unit} {}", cipher.tier());
            }
        }
    }
}

#[test]
fn agrees_with_rustcrypto() {
    check(11, |key, layout, first, data| {
        let cipher = |key| Serpent::new_from_slice(key).unwrap();
        let xts = Xts128::new(cipher(&key[..32]), cipher(&key[32..]));
        for (k, unit) in data.chunks_mut(layout.data_unit).enumerate() {
            xts.encrypt_sector(unit, tweak(layout, first, k).into());
        }
    });
}

/// `GCRY_CIPHER_SERPENT256` and `GCRY_CIPHER_MODE_XTS` of gcrypt.h.
const SERPENT256: c_int = 306;
const MODE_XTS: c_int = 13;

type CheckVersion = unsafe extern "C" fn(*const c_char) -> *const c_char;
type Open = unsafe extern "C" fn(*mut *mut c_void, c_int, c_int, c_uint) -> c_uint;
type SetBytes = unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_uint;
type Encrypt = unsafe extern "C" fn(*mut c_void, *mut u8, usize, *const u8, usize) -> c_uint;
type Close = unsafe extern "C" fn(*mut c_void);

#[test]
fn agrees_with_libgcrypt() {
    // SAFETY: libgcrypt has no harmful initialisers.
    let library = match unsafe { libloading::Library::new("libgcrypt.so.20") } {
        Ok(library) => library,
        Err(error) => {
            eprintln!("SKIPPED: no libgcrypt: {error}");
            return;
        }
    };
    // SAFETY: the types are those of gcrypt.h.
    let (check_version, open, set_key, set_iv, encrypt, close) = unsafe {
        (
            library.get::<CheckVersion>(b"gcry_check_version\0").unwrap(),
            library.get::<Open>(b"gcry_cipher_open\0").unwrap(),
            library.get::<SetBytes>(b"gcry_cipher_setkey\0").unwrap(),
            library.get::<SetBytes>(b"gcry_cipher_setiv\0").unwrap(),
            library.get::<Encrypt>(b"gcry_cipher_encrypt\0").unwrap(),
            library.get::<Close>(b"gcry_cipher_close\0").unwrap(),
        )
    };
    // SAFETY: a null pointer asks for no least version.
    unsafe { check_version(std::ptr::null()) };
    check(12, |key, layout, first, data| {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the handle is open between `open` and `close`; lengths are those of the slices.
        unsafe {
            assert_eq!(open(&raw mut handle, SERPENT256, MODE_XTS, 0), 0);
            assert_eq!(set_key(handle, key.as_ptr(), key.len()), 0);
            for (k, unit) in data.chunks_mut(layout.data_unit).enumerate() {
                assert_eq!(set_iv(handle, tweak(layout, first, k).as_ptr(), 16), 0);
                let source = std::ptr::null();
                assert_eq!(encrypt(handle, unit.as_mut_ptr(), unit.len(), source, 0), 0);
            }
            close(handle);
        }
    });
}
