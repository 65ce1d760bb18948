//! A decrypted VeraCrypt or TrueCrypt header, and its serialised form.
#![no_main]

use cryptbench_volume::format::tcrypt::{ENCRYPTED_BYTES, Header};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut plain = [0; ENCRYPTED_BYTES];
    let len = data.len().min(plain.len());
    plain[..len].copy_from_slice(&data[..len]);
    if let Ok(Some(header)) = Header::parse(&plain) {
        let again = header.serialise();
        assert!(Header::parse(&again).is_ok_and(|h| h.is_some()), "what it wrote, it reads");
    }
});
