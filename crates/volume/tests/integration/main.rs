//! What `volume` promises its users, one module for each subject.

mod bitlocker;
mod damaged;
mod detect;
mod ecryptfs;
mod filevault;
mod freeotfe;
mod luks;
mod tcrypt;

use std::path::Path;

const CRYPTSETUP: &str = "/usr/sbin/cryptsetup";

/// Whether there is this program of Linux. Looked for, not tried: under QEMU one that does not exist starts, and fails.
/// Under Wine it is there as well, and can be started, but its input and output are lost.
fn there(program: &str) -> bool {
    if cfg!(windows) {
        eprintln!("SKIPPED: {program} is a program of Linux, and this is Windows or Wine");
        return false;
    }
    let there = Path::new(program).exists();
    if !there {
        eprintln!("SKIPPED: no {program} here");
    }
    there
}
