//! EncFS: encrypts files in 1024-byte blocks. Its two presets are available.
//!
//! | preset | cipher | MAC of each block | IV of a file chained to its path |
//! |---|---|---|---|
//! | standard | AES-192 | no | no |
//! | paranoia | AES-256 | 8 bytes | yes |
//!
//! Both use a separate IV for each file and chain the IVs of names (encfs(1), "Paranoia mode").

use cryptbench_catalog as catalog;

use super::bindfs::BINDFS;
use crate::command::Invocation;
use crate::kind::program::{Program, StackedDirs, first_version};
use crate::{Setting, System};

const PRESETS: Setting = Setting {
    name: "preset",
    about: "AES-192, or AES-256 with a MAC per block and chained IVs",
    values: &["standard", "paranoia"],
};

/// encfs(1).
pub(crate) static ENCFS: System = System {
    settings: &[PRESETS],
    null_layer: Some(&BINDFS),
    ..System::program(
        &catalog::ENCFS,
        Program {
            cipher: Some(|choice| match choice["preset"] {
                "paranoia" => "aes-256-cbc",
                _ => "aes-192-cbc",
            }),
            version: &["--version"],
            read_version: first_version,
            // EncFS creates the volume if it finds none.
            create: None,
            serve,
        },
    )
};

fn serve(dirs: &StackedDirs<'_>) -> Invocation {
    Invocation::new("encfs")
        .args(["-f", "--stdinpass", &format!("--{}", dirs.setting("preset"))])
        .args([dirs.ciphertext, dirs.mount_point])
        .input(dirs.passphrase())
}
