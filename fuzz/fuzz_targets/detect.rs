//! Detection of a device's content from its bytes.
#![no_main]

use cryptbench_blockdev::MemoryDevice;
use cryptbench_volume::detect::{detect, signatures};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let device = MemoryDevice::new(data.to_vec());
    let _ = detect(&device).map(|found| found.kind.to_string());
    let _ = signatures(&device);
});
