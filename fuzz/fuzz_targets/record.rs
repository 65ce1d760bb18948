//! An untrusted record, and the text to which it is written.
#![no_main]

use std::path::Path;

use cryptbench_record::{parse, to_json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &str| {
    if let Ok(record) = parse(Path::new("fuzz"), data) {
        parse(Path::new("again"), &to_json(&record)).expect("what it wrote, it reads");
    }
});
