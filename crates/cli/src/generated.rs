//! Blocks in docs that tests make from the program's definitions, between a mark of their own and a common end.

use std::fs;
use std::path::{Path, PathBuf};

const END: &str = "<!-- end of generated -->";

/// The directory of the pages.
pub fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Checks that the block behind `mark` in the page `page` of docs is `made`. With `CRYPTBENCH_WRITE` in the environment, as
/// `cargo xtask readme` sets it, writes it instead.
pub fn check(page: &str, mark: &str, made: &str) {
    let file = docs().join(page);
    let text = fs::read_to_string(&file).unwrap();
    let (before, block) = text.split_once(mark).expect("the mark");
    let (_, after) = block.split_once(END).expect("the end of the block");
    let made = format!("{before}{mark}{made}{END}{after}");
    if std::env::var_os("CRYPTBENCH_WRITE").is_some() {
        fs::write(&file, made).unwrap();
    } else {
        assert_eq!(text, made, "`cargo xtask readme` writes it");
    }
}
