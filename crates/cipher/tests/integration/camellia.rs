//! Camellia-XTS against independent implementations: RustCrypto's `camellia`, and libgcrypt if there.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;

use camellia::Camellia256;
use camellia::cipher::KeyInit;
use cryptbench_cipher::{Layout, SectorCipher, Tier, find};
use libloading::{Library, Symbol};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use xts_mode::Xts128;

const KEY_BYTES: usize = 64;

/// Encrypts the data unit with that tweak, in another implementation.
type Oracle<'a> = dyn Fn(&[u8], u128, &mut [u8]) + 'a;

fn random(rng: &mut ChaCha8Rng, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    rng.fill_bytes(&mut data);
    data
}

fn keyed(key: &[u8], layout: Layout, tier: Tier) -> Box<dyn SectorCipher> {
    let info = find("camellia-256-xts").unwrap();
    assert_eq!(info.label, "Camellia-256-XTS");
    info.with_key(key, layout, tier).unwrap()
}

/// Compares every tier with `oracle`, over unit lengths on both sides of the kernels' 32 and 64 blocks.
fn compare(seed: u64, oracle: &Oracle<'_>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for data_unit in [16, 48, 496, 512, 528, 1008, 1024, 1040, 4096] {
        for (tweak_step, units) in [(1, 1), (1, 7), (8, 37), (3, 70)] {
            let layout = Layout { data_unit, tweak_step };
            let key = random(&mut rng, KEY_BYTES);
            let plain = random(&mut rng, units * data_unit);
            let first = rng.next_u64();
            let mut expected = plain.clone();
            for (k, unit) in expected.chunks_mut(data_unit).enumerate() {
                oracle(&key, u128::from(first) + k as u128 * u128::from(tweak_step), unit);
            }
            for tier in Tier::available() {
                let cipher = keyed(&key, layout, tier);
                let mut data = plain.clone();
                cipher.encrypt_in_place(first, &mut data);
                assert!(data == expected, "{units} of {data_unit}, {}", cipher.tier());
                cipher.decrypt_in_place(first, &mut data);
                assert!(data == plain, "{units} of {data_unit}, {}", cipher.tier());
            }
        }
    }
}

#[test]
fn agrees_with_rustcrypto() {
    compare(1, &|key, tweak, unit| {
        let [data, tweaks] = [&key[..32], &key[32..]]
            .map(|half| Camellia256::new_from_slice(half).expect("32 bytes"));
        Xts128::new(data, tweaks).encrypt_sector(unit, tweak.to_le_bytes().into());
    });
}

#[test]
fn agrees_with_libgcrypt() {
    // SAFETY: loading runs the library's constructors, which have no preconditions.
    let Ok(library) = (unsafe { Library::new("libgcrypt.so.20") }) else {
        eprintln!("SKIPPED: there is no libgcrypt.so.20");
        return;
    };
    // SAFETY: the types are those of gcrypt.h.
    let gcrypt = unsafe { Gcrypt::new(&library) }.unwrap();
    compare(2, &|key, tweak, unit| gcrypt.encrypt(key, tweak, unit));
}

type Check = unsafe extern "C" fn(*const c_char) -> *const c_char;
type Control = unsafe extern "C" fn(c_int, ...) -> c_uint;
type Open = unsafe extern "C" fn(*mut *mut c_void, c_int, c_int, c_uint) -> c_uint;
type Set = unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_uint;
type Encrypt = unsafe extern "C" fn(*mut c_void, *mut u8, usize, *const u8, usize) -> c_uint;
type Close = unsafe extern "C" fn(*mut c_void);

/// The functions of libgcrypt that this test needs (gcrypt.h, version 1.8 and later).
struct Gcrypt<'a> {
    open: Symbol<'a, Open>,
    set_key: Symbol<'a, Set>,
    set_iv: Symbol<'a, Set>,
    encrypt: Symbol<'a, Encrypt>,
    close: Symbol<'a, Close>,
}

impl<'a> Gcrypt<'a> {
    /// # Safety
    /// `library` must be libgcrypt.
    unsafe fn new(library: &'a Library) -> Result<Self, libloading::Error> {
        const INITIALIZATION_FINISHED: c_int = 38;
        // SAFETY: the function's contract; initialisation is as the manual's section 2.4 wants it.
        unsafe {
            let check: Symbol<'_, Check> = library.get(b"gcry_check_version")?;
            let control: Symbol<'_, Control> = library.get(b"gcry_control")?;
            check(ptr::null());
            control(INITIALIZATION_FINISHED, 0);
            Ok(Self {
                open: library.get(b"gcry_cipher_open")?,
                set_key: library.get(b"gcry_cipher_setkey")?,
                set_iv: library.get(b"gcry_cipher_setiv")?,
                encrypt: library.get(b"gcry_cipher_encrypt")?,
                close: library.get(b"gcry_cipher_close")?,
            })
        }
    }

    fn encrypt(&self, key: &[u8], tweak: u128, unit: &mut [u8]) {
        const CAMELLIA256: c_int = 312;
        const XTS: c_int = 13;
        let mut handle = ptr::null_mut();
        // SAFETY: the handle is opened first and closed last; lengths are those of the slices, and
        // no input means in place.
        unsafe {
            assert_eq!((self.open)(&raw mut handle, CAMELLIA256, XTS, 0), 0);
            assert_eq!((self.set_key)(handle, key.as_ptr(), key.len()), 0);
            let tweak = tweak.to_le_bytes();
            assert_eq!((self.set_iv)(handle, tweak.as_ptr(), tweak.len()), 0);
            let (start, len) = (unit.as_mut_ptr(), unit.len());
            assert_eq!((self.encrypt)(handle, start, len, ptr::null(), 0), 0);
            (self.close)(handle);
        }
    }
}
