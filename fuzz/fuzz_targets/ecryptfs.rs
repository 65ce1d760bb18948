//! Names and files of eCryptfs: a name that ends at the first zero, followed by a lower file.
#![no_main]

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use cryptbench_volume::format::ecryptfs::{Header, Keys, START, copy, link_target, plain_name};
use cryptbench_volume::{Credentials, Secret};
use libfuzzer_sys::fuzz_target;

static KEYS: Mutex<Option<Keys>> = Mutex::new(None);

fuzz_target!(|data: &[u8]| {
    let mut keys = KEYS.lock().unwrap();
    let keys = keys.get_or_insert_with(|| {
        let passphrase = Secret::new(b"mount pass".to_vec());
        let credentials = Credentials { passphrase, ..Credentials::default() };
        Keys::of(&credentials, cryptbench_cipher::tier().unwrap()).unwrap()
    });
    let (name, lower) =
        data.split_at(data.iter().position(|byte| *byte == 0).unwrap_or(data.len()));
    let _ = link_target(name, keys);
    if let Ok(name) = plain_name(name, keys) {
        assert!(!name.contains(&b'/') && name != b"..");
    }
    let lower = lower.get(1..).unwrap_or_default();
    let Ok(header) = Header::parse(&lower[..lower.len().min(START)]) else { return };
    let read = |at: u64, part: &mut [u8]| {
        let at = usize::try_from(at).unwrap();
        part.copy_from_slice(&lower[at..at + part.len()]);
        Ok(())
    };
    let stop = AtomicBool::new(false);
    let _ = copy(&header, keys, lower.len() as u64, read, |_| Ok(()), &stop);
});
