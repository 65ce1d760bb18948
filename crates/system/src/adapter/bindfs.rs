//! bindfs: a directory passed through FUSE as it is, the null layer of the stacked systems that programs serve.
//!
//! It is built on libfuse 2, as EncFS, CryFS and securefs are, and does for each request what they do besides
//! encrypting: what it costs is the way through user space.

use crate::System;
use crate::command::Invocation;
use crate::kind::program::{Program, StackedDirs, first_version};

/// bindfs(1).
pub(crate) static BINDFS: System = System::program(
    "bindfs",
    "a directory through FUSE and not encrypted: the null layer of gocryptfs, EncFS, CryFS and securefs",
    Program {
        label: "FUSE pass-through (bindfs)",
        file_system: "fuse.bindfs",
        cipher: None,
        version: &["--version"],
        read_version: first_version,
        create: None,
        serve,
    },
);

fn serve(dirs: &StackedDirs<'_>) -> Invocation {
    // The others serve from several threads too. The subtype tells its mount from those of other programs. Ordinary
    // users may not let others in.
    Invocation::new("bindfs")
        .args(["-f", "--multithreaded", "--no-allow-other", "-o", "subtype=bindfs"])
        .args([dirs.ciphertext, dirs.mount_point])
}
