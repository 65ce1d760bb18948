//! A result of another benchmark program.
#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    let path = PLACE.get_or_init(|| {
        std::env::temp_dir().join(format!("cryptbench-fuzz-{}", std::process::id()))
    });
    std::fs::write(path, data).expect("a file in the directory for temporary ones");
    let _ = cryptbench_foreign::is_record(path);
    let _ = cryptbench_foreign::read(&[path.clone()]);
    let _ = std::fs::remove_file(path);
});
