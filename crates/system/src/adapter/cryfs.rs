//! CryFS: a file system split into encrypted blocks of equal size, which hides even the sizes of
//! files.

use cryptbench_catalog as catalog;

use super::bindfs::BINDFS;
use crate::command::Invocation;
use crate::kind::program::{Program, StackedDirs, first_version};
use crate::{Setting, System};

/// As listed by `cryfs --show-ciphers` of version 0.11.
const CIPHERS: Setting = Setting {
    name: "cipher",
    about: "what encrypts the blocks",
    values: &[
        "xchacha20-poly1305",
        "aes-256-gcm",
        "aes-256-cfb",
        "aes-128-gcm",
        "aes-128-cfb",
        "twofish-256-gcm",
        "twofish-256-cfb",
        "twofish-128-gcm",
        "twofish-128-cfb",
        "serpent-256-gcm",
        "serpent-256-cfb",
        "serpent-128-gcm",
        "serpent-128-cfb",
        "cast-256-gcm",
        "cast-256-cfb",
        "mars-448-gcm",
        "mars-448-cfb",
        "mars-256-gcm",
        "mars-256-cfb",
        "mars-128-gcm",
        "mars-128-cfb",
    ],
};

const BLOCKS: Setting = Setting {
    name: "block-size",
    about: "bytes of an encrypted block, which is a file of its own",
    values: &["16384", "4096", "32768", "65536", "131072", "524288", "1048576"],
};

/// cryfs(1).
pub(crate) static CRYFS: System = System {
    settings: &[CIPHERS, BLOCKS],
    null_layer: Some(&BINDFS),
    ..System::program(
        &catalog::CRYFS,
        Program {
            cipher: Some(|choice| choice["cipher"]),
            version: &["--version"],
            read_version: first_version,
            // CryFS creates the volume if it finds none.
            create: None,
            serve,
        },
    )
};

fn serve(dirs: &StackedDirs<'_>) -> Invocation {
    Invocation::new("cryfs")
        .args(["-f", "--cipher", dirs.setting("cipher")])
        .args(["--blocksize", dirs.setting("block-size")])
        .args([dirs.ciphertext, dirs.mount_point])
        // Prevents questions, and the search for newer versions on the network.
        .variable("CRYFS_FRONTEND", "noninteractive")
        .variable("CRYFS_NO_UPDATE_CHECK", "true")
        // Otherwise it would leave state of each volume in the user's home directory.
        .variable("CRYFS_LOCAL_STATE_DIR", dirs.memory)
        .input(dirs.passphrase())
}
