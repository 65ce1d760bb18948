//! What a device is, by its bytes.
#![no_main]

use cryptbench_blockdev::MemoryDevice;
use cryptbench_volume::detect::detect;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = detect(&MemoryDevice::new(data.to_vec())).map(|found| found.kind.to_string());
});
