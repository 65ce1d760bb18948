//! FileVault 2: encrypted CoreStorage volumes of Mac OS X 10.7 to macOS 10.15, opened but never created.
//!
//! Source: libyal/libfvde, "FileVault Drive Encryption (FVDE)" 0.0.17. Details that it omits come from the
//! source of libfvde and of cryptsetup's `lib/fvault2`, and were tested on a volume created by macOS.

mod bytes;
mod context;
mod family;
mod group;
mod header;
mod info;
mod label;
mod logical;
mod objects;
mod open;
mod plist;
mod unlock;
mod uuid;
mod wipekey;
mod wrap;

pub use info::{Info, UserInfo, info};
pub use open::open;
pub use unlock::{derivations, is_recovery_password};
pub use uuid::Uuid;

use cryptbench_cipher::{CipherError, Layout, SectorCipher, Tier, dm_crypt};

use crate::VolumeError;

/// The name of the format in errors and records, and for [`OpenOptions::format`](crate::OpenOptions::format).
pub const FORMAT: &str = "filevault2";

/// The cipher of the data, in dm-crypt's notation.
const CIPHER: (&str, &str) = ("aes", "xts-plain64");

/// The name of the cipher on the command line and in lists.
pub const CIPHER_NAME: &str = cryptbench_catalog::AES_128_XTS.name;

/// Size of a data sector in bytes; each sector has its own tweak.
const SECTOR: u64 = 512;

/// Bytes of AES keys here.
const KEY: usize = 16;

/// The keyed cipher of the data, with the number of each 512-byte sector of the logical volume as its tweak.
/// The key consists of the data key and the tweak key, 16 bytes each.
///
/// # Errors
/// [`CipherError`] for a key of another length.
pub fn keyed(key: &[u8], tier: Tier) -> Result<Box<dyn SectorCipher>, CipherError> {
    let layout = Layout { data_unit: SECTOR as usize, tweak_step: 1 };
    dm_crypt(CIPHER.0, CIPHER.1, key, layout, tier)
}

/// An error for impossible metadata.
fn damaged(reason: impl Into<String>) -> VolumeError {
    VolumeError::Damaged { format: FORMAT, reason: reason.into() }
}

/// The defect of one copy of the metadata, without the format's name.
fn reason(error: &VolumeError) -> String {
    match error {
        VolumeError::Damaged { reason, .. } => reason.clone(),
        other => cryptbench_text::chain(other),
    }
}

/// An error for operations that would change a volume's keys or metadata.
pub fn unchangeable() -> VolumeError {
    VolumeError::Unsupported {
        what: "changing a FileVault volume's keys or metadata".to_owned(),
        hint: Some("use `diskutil coreStorage` on macOS".to_owned()),
    }
}

/// An error for volumes that only other programs can open.
fn cannot_open(what: impl Into<String>, why: impl Into<String>, with: &str) -> VolumeError {
    VolumeError::CannotOpen { what: what.into(), why: why.into(), with: with.to_owned() }
}

/// States which systems can open any CoreStorage volume.
const MACOS: &str = "macOS 10.7 to 10.15 can open it";
