//! Small, cheap volumes for the tests.

use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_kdf::{Argon2Kind, Argon2Params, Derivation, Effort};
use cryptbench_volume::format::luks::{
    CreateOptions, KeyOptions, LuksOptions, Resources, Version, create, open_with,
};
use cryptbench_volume::{Access, Credentials, Secret, Volume, VolumeError};

pub const MIB: u64 = 1 << 20;

pub fn resources() -> Resources<'static> {
    let kdf = cryptbench_kdf::tier().expect("a tier");
    Resources::new(cryptbench_cipher::tier().expect("a tier"), Effort::new(kdf, 2))
}

pub fn passphrase(text: &str) -> Credentials {
    Credentials { passphrase: Secret::new(text.into()), ..Credentials::default() }
}

pub fn pbkdf2(prf: &str, iterations: u32) -> Derivation {
    Derivation::Pbkdf2 { prf: cryptbench_kdf::find(prf).expect("a PRF"), iterations }
}

pub fn argon2(kind: Argon2Kind) -> Derivation {
    let params = Argon2Params { memory_kib: 64, passes: 1, lanes: 2 };
    Derivation::Argon2 { kind, params }
}

/// The cheapest volume of a version whose header has room for several keyslots.
pub fn cheap(version: Version) -> CreateOptions<'static> {
    let defaults = CreateOptions::new(version, resources()).expect("defaults");
    CreateOptions {
        derivation: pbkdf2("sha-256", 1000),
        digest_iterations: 1000,
        data_offset: Some(match version {
            Version::Luks1 => 4 * MIB,
            Version::Luks2 => 2 * MIB,
        }),
        ..defaults
    }
}

pub fn key_options() -> KeyOptions<'static> {
    KeyOptions {
        keyslot: None,
        existing: None,
        in_place: false,
        derivation: pbkdf2("sha-256", 1000),
        resources: resources(),
    }
}

pub fn writable() -> LuksOptions<'static> {
    LuksOptions {
        access: Access::ReadWrite,
        keyslot: None,
        secondary: false,
        resources: resources(),
    }
}

/// A 5 MiB device with a volume that the passphrase `first` opens.
pub fn volume(options: &CreateOptions<'_>) -> Arc<MemoryDevice> {
    let device = Arc::new(MemoryDevice::new(vec![0xa5; 5 << 20]));
    create(&*device, &passphrase("first"), options).expect("a volume");
    device
}

pub fn open(device: &Arc<MemoryDevice>, text: &str) -> Result<Volume, VolumeError> {
    open_with(device.clone(), &passphrase(text), &writable())
}

/// Whether a passphrase opens the volume.
pub fn opens(device: &Arc<MemoryDevice>, text: &str) -> bool {
    match open(device, text) {
        Ok(_) => true,
        Err(VolumeError::NoKeyFits(_)) => false,
        Err(other) => panic!("{other}"),
    }
}

/// Bytes with a pattern that shows their origin.
pub fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// All plaintext of a volume.
pub fn contents(volume: &Volume) -> Vec<u8> {
    let mut data = vec![0; volume.size() as usize];
    volume.read_at(0, &mut data).expect("the plaintext");
    data
}
