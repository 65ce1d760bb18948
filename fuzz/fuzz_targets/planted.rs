//! A fault on purpose: `cargo xtask prove` shows with it that libFuzzer and AddressSanitizer find one.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if data.starts_with(b"bad") {
        // SAFETY: none. It reads behind the end, which is what is to be found.
        let behind = unsafe { data.as_ptr().add(data.len()).read_volatile() };
        std::hint::black_box(behind);
    }
});
