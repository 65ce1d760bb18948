//! gocryptfs: encrypts each file in 4096-byte blocks with authentication tags.

use cryptbench_catalog as catalog;

use super::bindfs::BINDFS;
use crate::command::Invocation;
use crate::kind::program::{Program, StackedDirs};
use crate::{Setting, System};

const CIPHERS: Setting = Setting {
    name: "cipher",
    about: "cipher for file contents",
    values: &["aes-256-gcm", "xchacha20-poly1305", "aes-256-siv"],
};

const NAMES: Setting = Setting {
    name: "names",
    about: "whether file names are encrypted",
    values: &["encrypted", "plain"],
};

/// gocryptfs(1).
pub(crate) static GOCRYPTFS: System = System {
    settings: &[CIPHERS, NAMES],
    null_layer: Some(&BINDFS),
    ..System::program(
        &catalog::GOCRYPTFS,
        Program {
            cipher: Some(|choice| choice["cipher"]),
            version: &["-version"],
            read_version: |said| {
                Some(said.split(';').next()?.split_whitespace().nth(1)?.to_owned())
            },
            create: Some(create),
            serve,
        },
    )
};

fn create(dirs: &StackedDirs<'_>) -> Invocation {
    // The passphrase has 256 random bits, so a slow key derivation would take time without adding security.
    let mut program = Invocation::new("gocryptfs").args(["-init", "-q", "-scryptn", "10"]);
    match dirs.setting("cipher") {
        "xchacha20-poly1305" => program = program.args(["-xchacha"]),
        "aes-256-siv" => program = program.args(["-aessiv"]),
        _ => {}
    }
    if dirs.setting("names") == "plain" {
        program = program.args(["-plaintextnames"]);
    }
    program.args(["--".as_ref(), dirs.ciphertext]).input(dirs.passphrase())
}

fn serve(dirs: &StackedDirs<'_>) -> Invocation {
    Invocation::new("gocryptfs")
        .args(["-fg", "-q", "--"])
        .args([dirs.ciphertext, dirs.mount_point])
        .input(dirs.passphrase())
}
