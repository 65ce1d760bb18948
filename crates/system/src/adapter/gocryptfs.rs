//! gocryptfs: each file encrypted in blocks of 4096 bytes with their authentication tags.

use crate::Setting;
use crate::command::Invocation;
use crate::stacked::{Place, Stacked};

const CIPHERS: Setting = Setting {
    name: "cipher",
    about: "what encrypts the content of files",
    values: &["aes-256-gcm", "xchacha20-poly1305", "aes-256-siv"],
};

const NAMES: Setting = Setting {
    name: "names",
    about: "whether names of files are encrypted",
    values: &["encrypted", "plain"],
};

/// gocryptfs(1).
pub(crate) const GOCRYPTFS: Stacked = Stacked {
    name: "gocryptfs",
    about: "an encrypted directory, each file in authenticated blocks of 4 KiB",
    label: "gocryptfs",
    file_system: "fuse.gocryptfs",
    settings: &[CIPHERS, NAMES],
    cipher: Some(|choice| choice["cipher"]),
    version: &["-version"],
    read_version: |said| Some(said.split(';').next()?.split_whitespace().nth(1)?.to_owned()),
    create: Some(create),
    serve,
};

fn create(place: &Place<'_>) -> Invocation {
    // The passphrase has 256 random bits: stretching it would take time and make nothing safer.
    let mut program = Invocation::new("gocryptfs").args(["-init", "-q", "-scryptn", "10"]);
    match place.setting("cipher") {
        "xchacha20-poly1305" => program = program.args(["-xchacha"]),
        "aes-256-siv" => program = program.args(["-aessiv"]),
        _ => {}
    }
    if place.setting("names") == "plain" {
        program = program.args(["-plaintextnames"]);
    }
    program.args(["--".as_ref(), place.ciphertext]).input(place.passphrase())
}

fn serve(place: &Place<'_>) -> Invocation {
    Invocation::new("gocryptfs")
        .args(["-fg", "-q", "--"])
        .args([place.ciphertext, place.mount_point])
        .input(place.passphrase())
}
