//! BitLocker's metadata with a valid checksum, maps of encrypted chunks, startup keys and recovery passwords.
#![no_main]

use std::sync::Arc;

use cryptbench_blockdev::MemoryDevice;
use cryptbench_volume::format::bitlocker::{RecoveryPassword, info};
use cryptbench_volume::{Credentials, OpenOptions, Secret, open};
use libfuzzer_sys::fuzz_target;

/// Offsets of the metadata and the maps.
const METADATA: usize = 16 << 10;
const MAPS: usize = 96 << 10;

fuzz_target!(|data: &[u8]| {
    let Some((&kind, data)) = data.split_first() else { return };
    if let Ok(password) = RecoveryPassword::parse(data) {
        let again = RecoveryPassword::parse(&password.digits()).expect("what it wrote, it reads");
        assert_eq!(*again.digits(), *password.digits());
    }
    let mut bytes = vec![0; 160 << 10];
    let (metadata, maps) = data.split_at(data.len() / (1 + usize::from(kind & 1)));
    bytes[3..11].copy_from_slice(b"-FVE-FS-");
    bytes[11..13].copy_from_slice(&512_u16.to_le_bytes());
    let vista = kind & 2 != 0;
    if vista {
        bytes[13] = 8;
        bytes[56..64].copy_from_slice(&(METADATA as u64 / 4096).to_le_bytes());
    } else {
        let identifier: &[u8; 16] = if kind & 1 == 0 {
            b"\x3b\xd6\x67\x49\x29\x2e\xd8\x4a\x83\x99\xf6\xa3\x39\xe3\xd0\x01"
        } else {
            b"\x3b\x4d\xa8\x92\x80\xdd\x0e\x4d\x9e\x4e\xb1\xe3\x28\x4e\xae\xd8"
        };
        bytes[160..176].copy_from_slice(identifier);
        bytes[176..184].copy_from_slice(&(METADATA as u64).to_le_bytes());
        bytes[200..208].copy_from_slice(&(MAPS as u64).to_le_bytes());
        let len = maps.len().min(bytes.len() - MAPS);
        bytes[MAPS..MAPS + len].copy_from_slice(&maps[..len]);
    }
    // A block whose length, offset and checksum are right.
    let len = metadata.len().min(4096) / 16 * 16;
    let block = &mut bytes[METADATA..];
    block[..len].copy_from_slice(&metadata[..len]);
    block[..8].copy_from_slice(b"-FVE-FS-");
    let (size, version) = if vista { (len as u16, 1_u16) } else { (len as u16 / 16, 2) };
    block[8..10].copy_from_slice(&size.to_le_bytes());
    block[10..12].copy_from_slice(&version.to_le_bytes());
    block[32..40].copy_from_slice(&(METADATA as u64).to_le_bytes());
    let crc = crc32(&block[..len]);
    block[len + 4..len + 8].copy_from_slice(&crc.to_le_bytes());
    let _ = info(&MemoryDevice::new(bytes.clone()));
    let tier = cryptbench_cipher::tier().expect("nothing masks it");
    let options = OpenOptions::new(tier, cryptbench_kdf::Effort::new(tier, 1));
    let startup_key = Some(Secret::new(data.to_vec()));
    for credentials in [Credentials::default(), Credentials { startup_key, ..Default::default() }] {
        let _ = open(Arc::new(MemoryDevice::new(bytes.clone())), &credentials, &options);
    }
});

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0xedb8_8320))
    })
}
