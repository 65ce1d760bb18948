//! A deliberate fault, with which `cargo xtask prove` shows that libFuzzer and AddressSanitizer find faults.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if data.starts_with(b"bad") {
        // SAFETY: none. It reads beyond the end, which the sanitizer must detect.
        let behind = unsafe { data.as_ptr().add(data.len()).read_volatile() };
        std::hint::black_box(behind);
    }
});
