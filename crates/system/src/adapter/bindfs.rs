//! bindfs: a directory passed through FUSE as it is, the null layer of the stacked systems that programs serve.
//!
//! It is built on libfuse 2, as EncFS, CryFS and securefs are, and does for each request what they do besides
//! encrypting: what it costs is the way through user space.

use crate::command::Invocation;
use crate::stacked::{Place, Stacked, first_version};

/// bindfs(1).
pub(crate) const BINDFS: Stacked = Stacked {
    name: "bindfs",
    about: "a directory through FUSE and not encrypted: the null layer of gocryptfs, EncFS, CryFS and securefs",
    label: "FUSE pass-through (bindfs)",
    file_system: "fuse.bindfs",
    settings: &[],
    cipher: None,
    version: &["--version"],
    read_version: first_version,
    create: None,
    serve,
};

fn serve(place: &Place<'_>) -> Invocation {
    // The others serve from several threads too. The subtype tells its mount from those of other programs. Ordinary
    // users may not let others in.
    Invocation::new("bindfs")
        .args(["-f", "--multithreaded", "--no-allow-other", "-o", "subtype=bindfs"])
        .args([place.ciphertext, place.mount_point])
}
