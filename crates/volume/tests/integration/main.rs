//! What `volume` promises its users, one module for each subject.

mod bitlocker;
mod damaged;
mod detect;
mod luks;
mod tcrypt;

use std::path::Path;

const CRYPTSETUP: &str = "/usr/sbin/cryptsetup";

/// Whether there is this program. Looked for, not tried: under QEMU one that does not exist starts, and fails.
fn there(program: &str) -> bool {
    let there = Path::new(program).exists();
    if !there {
        eprintln!("SKIPPED: no {program} here");
    }
    there
}
