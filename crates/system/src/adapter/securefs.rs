//! securefs in its lite format: encrypts each file in authenticated blocks, and also encrypts names.

use cryptbench_catalog as catalog;

use super::bindfs::BINDFS;
use crate::command::Invocation;
use crate::kind::program::{Program, StackedDirs};
use crate::{Setting, System};

const BLOCKS: Setting = Setting {
    name: "block-size",
    about: "bytes of content per authentication tag",
    values: &["4096", "1024", "16384", "65536"],
};

/// securefs(1).
pub(crate) static SECUREFS: System = System {
    settings: &[BLOCKS],
    null_layer: Some(&BINDFS),
    ..System::program(
        &catalog::SECUREFS,
        Program {
            // `securefs info` reports this for the lite format.
            cipher: Some(|_| "aes-128-gcm"),
            version: &["version"],
            // Debian's build prints GIT-NOTFOUND instead of a number.
            read_version: |said| {
                let version = said.lines().next()?.strip_prefix("securefs ")?.trim();
                Some(
                    if version.starts_with("GIT") { "of unknown version" } else { version }
                        .to_owned(),
                )
            },
            create: Some(create),
            serve,
        },
    )
};

fn create(dirs: &StackedDirs<'_>) -> Invocation {
    Invocation::new("securefs")
        // The passphrase has 256 random bits, so a slow key derivation would take time without adding security.
        .args(["create", "--rounds", "1", "--format", "4"])
        .args(["--block-size", dirs.setting("block-size")])
        .args([dirs.ciphertext])
        .input(dirs.passphrase())
}

fn serve(dirs: &StackedDirs<'_>) -> Invocation {
    Invocation::new("securefs")
        .args(["mount".as_ref(), dirs.ciphertext, dirs.mount_point])
        .input(dirs.passphrase())
}
