//! The public behaviour of `volume`, one module per subject.

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

/// Whether this Linux program exists. It is searched for and not tried: under QEMU, starting a missing program
/// succeeds, and the program then fails. Under Wine the program also exists and can be started, but its input
/// and output are lost.
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
