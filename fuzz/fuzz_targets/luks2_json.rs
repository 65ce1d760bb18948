//! The JSON area of a LUKS2 header whose binary part and checksum are valid.
#![no_main]

use cryptbench_blockdev::MemoryDevice;
use cryptbench_volume::format::luks;
use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};

const HEADER: usize = 16 << 10;

fuzz_target!(|json: &[u8]| {
    let mut bytes = vec![0; 64 << 10];
    bytes[..6].copy_from_slice(b"LUKS\xba\xbe");
    bytes[6..8].copy_from_slice(&2u16.to_be_bytes());
    bytes[8..16].copy_from_slice(&(HEADER as u64).to_be_bytes());
    bytes[16..24].copy_from_slice(&1u64.to_be_bytes());
    bytes[72..78].copy_from_slice(b"sha256");
    bytes[168..204].copy_from_slice(b"00000000-0000-4000-8000-000000000000");
    let len = json.len().min(HEADER - 4096 - 1);
    bytes[4096..][..len].copy_from_slice(&json[..len]);
    let sum = Sha256::digest(&bytes[..HEADER]);
    bytes[448..480].copy_from_slice(&sum);
    let _ = luks::info(&MemoryDevice::new(bytes));
});
