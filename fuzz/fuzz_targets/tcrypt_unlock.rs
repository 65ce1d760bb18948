//! A TrueCrypt volume whose header was made up by someone who knows the passphrase. If it opens, it is also
//! read.
#![no_main]

use std::sync::{Arc, OnceLock};

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_cipher::{Layout, SectorCipher, Tier};
use cryptbench_kdf::Effort;
use cryptbench_volume::format::tcrypt::{ENCRYPTED_BYTES, Header};
use cryptbench_volume::{Credentials, OpenOptions, Secret, open};
use libfuzzer_sys::fuzz_target;

const SALT: [u8; 64] = [0x5a; 64];
const SIZE: usize = 320 << 10;

/// The fastest tier, because key derivation takes most of the time.
fn tier() -> Tier {
    cryptbench_cipher::tier().expect("nothing masks it")
}

fn effort() -> Effort<'static> {
    Effort::new(tier(), 1)
}

/// The cipher of the header: AES under the passphrase `p` and [`SALT`].
fn cipher() -> &'static dyn SectorCipher {
    static CIPHER: OnceLock<Box<dyn SectorCipher>> = OnceLock::new();
    &**CIPHER.get_or_init(|| {
        let mut key = [0; 64];
        let prf = cryptbench_kdf::find("sha-512").expect("a PRF");
        prf.pbkdf2(b"p", &SALT, 1000, &mut key, effort()).expect("a key");
        let layout = Layout { data_unit: ENCRYPTED_BYTES, tweak_step: 1 };
        let aes = cryptbench_cipher::find("aes-256-xts").expect("a cipher");
        aes.with_key(&key, layout, tier()).expect("a cipher")
    })
}

fuzz_target!(|data: &[u8]| {
    let mut plain = [0; ENCRYPTED_BYTES];
    let len = data.len().min(plain.len());
    plain[..len].copy_from_slice(&data[..len]);
    // With valid checksums, parsing continues further.
    if let Ok(Some(header)) = Header::parse(&plain) {
        plain = *header.serialise();
    }
    cipher().encrypt_in_place(0, &mut plain);
    let mut bytes = vec![0; SIZE];
    bytes[..64].copy_from_slice(&SALT);
    bytes[64..512].copy_from_slice(&plain);
    let passphrase = Secret::new(b"p".to_vec());
    let credentials = Credentials { passphrase, ..Credentials::default() };
    let options = OpenOptions {
        format: Some("truecrypt"),
        prf: Some("sha-512"),
        ..OpenOptions::new(tier(), effort())
    };
    if let Ok(volume) = open(Arc::new(MemoryDevice::new(bytes)), &credentials, &options) {
        let mut sector = vec![0; volume.sector()];
        let last = volume.size() / sector.len() as u64 - 1;
        volume.read_at(last * sector.len() as u64, &mut sector).expect("within the volume");
    }
});
