//! What this program itself recognises on a device, by libblkid's names.

use std::path::Path;

use cryptbench_blockdev::{FileDevice, IoMode};
use cryptbench_volume::detect::{Kind, detect};

use crate::SystemError;

/// A signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Its name in blkid(8): `ext4`, `crypto_LUKS`, `swap`, `gpt`, `dos` and so on.
    pub name: String,
    /// Byte offset of its magic.
    pub offset: u64,
}

/// What is at the beginning of the file or device at `path`, if libblkid has a name for it.
///
/// # Errors
/// [`SystemError::Io`] if it cannot be read.
pub(super) fn recognised(path: &Path) -> Result<Option<Signature>, SystemError> {
    let device =
        FileDevice::open(path, IoMode::Buffered, true).map_err(SystemError::io("look at", path))?;
    let kind = detect(&device)?.kind;
    if kind == Kind::Unreadable {
        let source = std::io::Error::other("none of it can be read");
        return Err(SystemError::io("look at", path)(source));
    }
    Ok(name_of(&kind).map(|name| Signature { name, offset: 0 }))
}

/// libblkid's name, if it has one.
fn name_of(kind: &Kind) -> Option<String> {
    let name = match kind {
        Kind::Luks { .. } => "crypto_LUKS",
        Kind::BitLocker { .. } => "BitLocker",
        Kind::FileVault => "cs_fvault2",
        // Names with commas cannot be passed on.
        Kind::FileSystem { name } if name.starts_with("ext2") => "ext4",
        Kind::FileSystem { name: "FAT" } => "vfat",
        Kind::FileSystem { name: "HFS+" } => "hfsplus",
        Kind::FileSystem { name: "LVM2 physical volume" } => "LVM2_member",
        Kind::FileSystem { name: "Linux software RAID" } => "linux_raid_member",
        Kind::FileSystem { name: "ISO 9660" } => "iso9660",
        Kind::FileSystem { name } => return Some(name.to_lowercase()),
        Kind::PartitionTable { name: "GPT" } => "gpt",
        Kind::PartitionTable { .. } => "dos",
        Kind::Zeros | Kind::Random { .. } | Kind::Unknown { .. } | Kind::Unreadable => return None,
    };
    Some(name.to_owned())
}
