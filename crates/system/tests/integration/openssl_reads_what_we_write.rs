//! OpenSSL's AES-256-XTS decrypts the data that the built-in engine stores, sector by sector, and the plaintext
//! pattern does not occur in that data.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cryptbench_blockdev::{Extent, IoMode, IoTarget};
use cryptbench_load::{
    Amount, Engine, EngineChoice, Job, MARKER, Operation, Pattern, SectorState, verify_sector,
};
use cryptbench_system::{Abilities, ArmSpec, Role, Selection, arms, inline_layer};
use libcrypto::Libcrypto;

const SIZE: u64 = 8 << 20;

#[test]
fn every_sector_decrypts_with_openssl_and_none_shows_the_pattern() {
    let openssl = match Libcrypto::load() {
        Ok(library) => library,
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "SKIPPED: no libcrypto.so.3 as the oracle: {e}");
            return;
        }
    };
    for arm in encrypted_arms() {
        for choice in [EngineChoice::Auto, EngineChoice::Threads] {
            let key: Vec<u8> = (0..64u8).map(|i| i.wrapping_mul(37) ^ 0x5a).collect();
            let stored = write_through(&arm, &key, choice);
            assert!(!contains(&stored, &MARKER), "{}: the pattern lies on the disk", arm.id);
            // VeraCrypt: 512-byte units from 256; LUKS2 with 4096-byte sectors: 0, 8, 16 ...
            let (unit, first, step) =
                if arm.data_unit == Some(512) { (512, 256, 1) } else { (4096, 0, 8) };
            for (i, sealed) in stored.chunks_exact(unit).enumerate() {
                let plain = openssl.decrypt_xts_256(&key, first + i as u64 * step, sealed);
                for (s, sector) in plain.chunks_exact(512).enumerate() {
                    let offset = (i * unit + s * 512) as u64;
                    let state = verify_sector(sector, offset);
                    assert!(
                        matches!(state, SectorState::Valid { .. }),
                        "{}: offset {offset}: {state:?}",
                        arm.id
                    );
                }
            }
        }
    }
}

#[test]
fn plain_storage_does_show_the_pattern() {
    let plain = usual_arms().swap_remove(0);
    assert_eq!(plain.role, Role::Plain);
    let path = write_to_file(None, EngineChoice::Auto);
    assert!(contains(&fs::read(&path.1).unwrap(), &MARKER), "the check above could not fail");
}

#[test]
fn the_null_layer_stores_plaintext() {
    let arms = usual_arms();
    let null = arms.iter().find(|a| a.role == Role::NullLayer).unwrap();
    assert!(contains(&write_through(null, &[], EngineChoice::Auto), &MARKER));
}

fn usual_arms() -> Vec<ArmSpec> {
    let selection = Selection::default();
    arms(&selection, &Abilities::look_for(&selection)).unwrap()
}

fn encrypted_arms() -> Vec<ArmSpec> {
    let all = usual_arms();
    let encrypted: Vec<_> = all.into_iter().filter(|a| a.role == Role::Encrypted).collect();
    assert_eq!(encrypted.len(), 2);
    encrypted
}

/// The bytes of a file that was filled and then partly overwritten through the arm's layer.
fn write_through(arm: &ArmSpec, key: &[u8], choice: EngineChoice) -> Vec<u8> {
    let tier = cryptbench_cipher::tier().unwrap();
    let layer = inline_layer(arm, key, tier).unwrap();
    let (_dir, path) = write_to_file(Some(layer), choice);
    fs::read(path).unwrap()
}

fn write_to_file(
    transform: Option<Arc<dyn cryptbench_blockdev::SectorTransform>>,
    choice: EngineChoice,
) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scratch");
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    file.set_len(SIZE).unwrap();
    let io_target = IoTarget {
        file: Arc::new(file),
        extent: Extent { offset: 0, len: SIZE },
        mode: IoMode::Buffered,
        transform,
    };
    let stop = AtomicBool::new(false);
    let (mut engine, _) = Engine::open(choice).unwrap();
    engine.prefill(&io_target, 1, &stop, &mut |_| {}).unwrap();
    for (block_size, pattern) in [(4096, Pattern::Random), (1 << 20, Pattern::Sequential)] {
        let job = Job {
            amount: Amount::Time { ramp: Duration::ZERO, duration: Duration::from_millis(50) },
            seed: 3,
            generation: 7,
            ..Job::new(Operation::Write, pattern, block_size, 4)
        };
        engine.run(&io_target, &job, &stop).unwrap();
    }
    io_target.file.sync_all().unwrap();
    (dir, path)
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}

/// OpenSSL 3's libcrypto, loaded at run time so that the build does not need a development package.
mod libcrypto {
    use std::ffi::{c_int, c_void};
    use std::ptr::null;

    use libloading::Library;

    pub struct Libcrypto(Library);

    type New = unsafe extern "C" fn() -> *mut c_void;
    type Free = unsafe extern "C" fn(*mut c_void);
    type Cipher = unsafe extern "C" fn() -> *const c_void;
    type Init = unsafe extern "C" fn(
        *mut c_void,
        *const c_void,
        *const c_void,
        *const u8,
        *const u8,
    ) -> c_int;
    type Update = unsafe extern "C" fn(*mut c_void, *mut u8, *mut c_int, *const u8, c_int) -> c_int;

    impl Libcrypto {
        pub fn load() -> Result<Self, libloading::Error> {
            // SAFETY: libcrypto's initialisers have no requirements on the caller.
            unsafe { Library::new("libcrypto.so.3") }.map(Self)
        }

        /// Decrypts one data unit with EVP_aes_256_xts; the tweak is the little-endian unit number.
        pub fn decrypt_xts_256(&self, key: &[u8], tweak: u64, sealed: &[u8]) -> Vec<u8> {
            assert_eq!(key.len(), 64);
            let mut iv = [0u8; 16];
            iv[..8].copy_from_slice(&tweak.to_le_bytes());
            let mut plain = vec![0u8; sealed.len()];
            let mut written: c_int = 0;
            // SAFETY: the symbols have these types (openssl/evp.h); the key, the IV, the input and the output
            // have the lengths that AES-256-XTS and the calls require; the context is freed once.
            unsafe {
                let new = self.0.get::<New>(b"EVP_CIPHER_CTX_new").unwrap();
                let free = self.0.get::<Free>(b"EVP_CIPHER_CTX_free").unwrap();
                let cipher = self.0.get::<Cipher>(b"EVP_aes_256_xts").unwrap();
                let init = self.0.get::<Init>(b"EVP_DecryptInit_ex").unwrap();
                let update = self.0.get::<Update>(b"EVP_DecryptUpdate").unwrap();
                let context = new();
                assert!(!context.is_null());
                assert_eq!(init(context, cipher(), null(), key.as_ptr(), iv.as_ptr()), 1);
                let len = sealed.len() as c_int;
                let out = plain.as_mut_ptr();
                assert_eq!(update(context, out, &raw mut written, sealed.as_ptr(), len), 1);
                free(context);
            }
            assert_eq!(written as usize, sealed.len());
            plain
        }
    }
}
