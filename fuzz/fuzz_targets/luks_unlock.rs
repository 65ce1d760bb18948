//! A LUKS volume whose header was changed, with valid checksums, by someone who knows the passphrase. If it
//! opens, it is also read.
#![no_main]

use std::sync::{Arc, OnceLock};

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_cipher::Tier;
use cryptbench_kdf::{Derivation, Effort};
use cryptbench_volume::format::luks::{
    CreateOptions, Limits, LuksOptions, Resources, Version, create, open_with,
};
use cryptbench_volume::{Access, Credentials, Secret};
use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};

const COPY: usize = 16 << 10;

fn credentials() -> Credentials {
    Credentials { passphrase: Secret::new(b"p".to_vec()), ..Credentials::default() }
}

/// The fastest tier, because key derivation takes most of the time.
fn tier() -> Tier {
    cryptbench_cipher::tier().expect("nothing masks it")
}

fn resources() -> Resources<'static> {
    let limits = Limits { pbkdf2_iterations: 10_000, argon2_memory_kib: 256, argon2_work: 1024 };
    Resources { limits, ..Resources::new(tier(), Effort::new(tier(), 1)) }
}

fn volumes() -> &'static [Vec<u8>; 2] {
    static VOLUMES: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    VOLUMES.get_or_init(|| {
        [Version::Luks1, Version::Luks2].map(|version| {
            let device = MemoryDevice::new(vec![0; 5 << 20]);
            let mut options = CreateOptions::new(version, resources()).expect("defaults");
            let prf = cryptbench_kdf::find("sha-256").expect("a PRF");
            options.derivation = Derivation::Pbkdf2 { prf, iterations: 1000 };
            options.digest_iterations = 1000;
            options.data_offset = Some(4 << 20);
            create(&device, &credentials(), &options).expect("a volume");
            device.contents()
        })
    })
}

// The first byte selects the version. Offsets and new bytes for them follow.
fuzz_target!(|data: &[u8]| {
    let Some((version, changes)) = data.split_first() else { return };
    let mut bytes = volumes()[usize::from(version & 1)].clone();
    let second = version & 1 == 1;
    for change in changes.chunks_exact(3).take(64) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % COPY;
        // The bytes before offset 8 identify the volume as LUKS.
        if at >= 8 {
            bytes[at] = change[2];
            if second {
                bytes[COPY + at] = change[2];
            }
        }
    }
    if second {
        for copy in [0, COPY] {
            bytes[copy + 448..copy + 512].fill(0);
            let digest = Sha256::digest(&bytes[copy..copy + COPY]);
            bytes[copy + 448..copy + 480].copy_from_slice(&digest);
        }
    }
    let options = LuksOptions {
        access: Access::ReadOnly,
        keyslot: None,
        secondary: false,
        resources: resources(),
    };
    if let Ok(volume) = open_with(Arc::new(MemoryDevice::new(bytes)), &credentials(), &options) {
        let mut sector = vec![0; volume.sector()];
        if let Some(last) = (volume.size() / sector.len() as u64).checked_sub(1) {
            volume.read_at(last * sector.len() as u64, &mut sector).expect("within the volume");
        }
    }
});
