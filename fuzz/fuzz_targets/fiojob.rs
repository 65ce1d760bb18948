//! A fio job file that a user wrote.
#![no_main]

use cryptbench_load::Profile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &str| {
    let _ = Profile::from_fio(data, "fuzz.fio");
});
