//! Reads eCryptfs lower directories, which contain the encrypted names and files of the kernel's stacked file system,
//! without the kernel.
//!
//! Source: Linux, `fs/ecryptfs` (`crypto.c`, `keystore.c`); for passphrases ecryptfs-utils, `src/libecryptfs`.
//! The format has no checksums, so a changed byte cannot be detected.

mod cipher;
mod content;
mod header;
mod key;
mod name;
mod packet;

pub use cipher::{ciphers, name_of_code};
pub use content::copy;
pub use header::{Header, MARKED, START, is_marked};
pub use key::{Keys, Signature, signature_of};
pub use name::{link_target, plain_name, signature};

use crate::VolumeError;

/// Name of the format in errors.
const FORMAT: &str = "eCryptfs";

/// An error for impossible metadata.
fn damaged(reason: impl Into<String>) -> VolumeError {
    VolumeError::Damaged { format: FORMAT, reason: reason.into() }
}

fn md5(parts: &[&[u8]]) -> Result<[u8; 16], VolumeError> {
    let mut hash = [0; 16];
    cryptbench_kdf::find("md5")?.hash(parts, &mut hash);
    Ok(hash)
}
