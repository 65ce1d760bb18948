//! Contents that this program recognises on a device without other programs, with libblkid's names.

use std::path::Path;

use cryptbench_blockdev::{FileDevice, IoMode};
use cryptbench_volume::detect::{Kind, detect, signatures};

use crate::SystemError;

/// A signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The content's name in blkid(8): `ext4`, `crypto_LUKS`, `swap`, `gpt`, `dos` and so on.
    pub name: String,
    /// Byte offset of its magic.
    pub offset: u64,
}

/// The content of the file or device at `path`, recognised at its start or, failing that, at its end, if
/// libblkid has a name for it.
///
/// # Errors
/// [`SystemError::Io`] if it cannot be read.
pub(super) fn recognised(path: &Path) -> Result<Option<Signature>, SystemError> {
    let device =
        FileDevice::open(path, IoMode::Buffered, true).map_err(SystemError::io("inspect", path))?;
    let kind = detect(&device)?.kind;
    if kind == Kind::Unreadable {
        let source = std::io::Error::other("no part of it can be read");
        return Err(SystemError::io("inspect", path)(source));
    }
    let first = signatures(&device).into_iter().next();
    Ok(first.map(|found| Signature { name: found.name.to_owned(), offset: found.offset }))
}
