//! EncFS: files encrypted in blocks of 1024 bytes, in its two presets.
//!
//! | preset | cipher | MAC of each block | IV of a file chained to its path |
//! |---|---|---|---|
//! | standard | AES-192 | no | no |
//! | paranoia | AES-256 | 8 bytes | yes |
//!
//! Both have an IV of their own for each file and chain the IVs of names (encfs(1), "Paranoia mode").

use crate::Setting;
use crate::command::Invocation;
use crate::stacked::{Place, Stacked, first_version};

const PRESETS: Setting = Setting {
    name: "preset",
    about: "AES-192 without, or AES-256 with a MAC for each block and chained IVs",
    values: &["standard", "paranoia"],
};

/// encfs(1).
pub(crate) const ENCFS: Stacked = Stacked {
    name: "encfs",
    about: "an encrypted directory, each file in blocks of 1 KiB",
    label: "EncFS",
    file_system: "fuse.encfs",
    settings: &[PRESETS],
    cipher: Some(|choice| match choice["preset"] {
        "paranoia" => "aes-256-cbc",
        _ => "aes-192-cbc",
    }),
    version: &["--version"],
    read_version: first_version,
    // It makes the volume when it finds none.
    create: None,
    serve,
};

fn serve(place: &Place<'_>) -> Invocation {
    Invocation::new("encfs")
        .args(["-f", "--stdinpass", &format!("--{}", place.setting("preset"))])
        .args([place.ciphertext, place.mount_point])
        .input(place.passphrase())
}
