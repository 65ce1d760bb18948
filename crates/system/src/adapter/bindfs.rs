//! bindfs passes a directory through FUSE unchanged: the null layer of the stacked systems that are served by
//! programs.
//!
//! Like EncFS, CryFS and securefs, it is built on libfuse 2, and it handles each request as they do, but
//! without encryption. Its cost is the cost of the path through user space.

use cryptbench_catalog as catalog;

use crate::System;
use crate::command::Invocation;
use crate::kind::program::{Program, StackedDirs, first_version};

/// bindfs(1).
pub(crate) static BINDFS: System = System::program(
    &catalog::BINDFS,
    Program {
        cipher: None,
        version: &["--version"],
        read_version: first_version,
        create: None,
        serve,
    },
);

fn serve(dirs: &StackedDirs<'_>) -> Invocation {
    // Serves from several threads, as the other programs do. The subtype distinguishes its mount from the mounts of
    // those programs. Ordinary users must not use allow_other.
    Invocation::new("bindfs")
        .args(["-f", "--multithreaded", "--no-allow-other", "-o", "subtype=bindfs"])
        .args([dirs.ciphertext, dirs.mount_point])
}
