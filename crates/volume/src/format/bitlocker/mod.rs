//! BitLocker volumes: opens those created by Windows Vista to 11, and creates volumes that other programs can open.
//!
//! Sources: libyal/libbde, "BitLocker Drive Encryption (BDE) format"; N. Ferguson, "AES-CBC + Elephant
//! diffuser", 2006. Details that they omit come from the source of cryptsetup's `lib/bitlk`, dislocker and
//! dissect.fve, and were tested on volumes created by Windows.

mod boot;
mod create;
mod dataset;
mod eow;
mod guid;
mod info;
mod metadata;
mod method;
mod open;
mod plaintext;
mod protector;
mod recovery;
mod sealed;
mod startup;
mod time;
mod unlock;

pub use create::{CreateOptions, Created, create};
pub use guid::Guid;
pub use info::{Info, ProtectorInfo, info};
pub use method::Method;
pub use open::open;
pub use recovery::RecoveryPassword;

use crate::VolumeError;

/// Name of the format in errors and records.
const FORMAT: &str = "bitlocker";

/// Signature of the boot sector and of every copy of the metadata.
const SIGNATURE: [u8; 8] = *b"-FVE-FS-";

/// Size of a metadata copy since Windows 7, in bytes.
const METADATA_BYTES: u64 = 64 << 10;

/// Copies of the metadata.
const COPIES: usize = 3;

/// An error for impossible metadata.
fn damaged(reason: impl Into<String>) -> VolumeError {
    VolumeError::Damaged { format: FORMAT, reason: reason.into() }
}
