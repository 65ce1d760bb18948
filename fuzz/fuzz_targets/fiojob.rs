//! A fio job file written by a user.
#![no_main]

use cryptbench_load::Profile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &str| {
    let _ = Profile::from_fio(data, "fuzz.fio");
});
