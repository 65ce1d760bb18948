//! A LUKS header, byte by byte.
#![no_main]

use cryptbench_blockdev::MemoryDevice;
use cryptbench_volume::format::luks;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    bytes.resize(data.len().max(64 << 10), 0);
    bytes[..6].copy_from_slice(b"LUKS\xba\xbe");
    let _ = luks::info(&MemoryDevice::new(bytes));
});
