//! The information that the metadata reveals without a key.

use cryptbench_blockdev::BlockDevice;
use cryptbench_text::chain;
use serde::Serialize;

use super::boot::Layout;
use super::guid::Guid;
use super::metadata::{self, Metadata, Version};
use super::method::Method;
use super::plaintext::{Encrypted, first_sectors};
use super::protector::{Opener, Protector};
use super::{open, time, unlock};
use crate::VolumeError;

/// The contents of the boot sector and the metadata. Contains no secret and no key material.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    /// The layout: `vista`, or `seven` for Windows 7 and all later versions.
    pub version: &'static str,
    /// BitLocker To Go: systems without BitLocker see a FAT volume.
    pub to_go: bool,
    /// Identifier of the volume.
    pub id: Guid,
    /// When it was encrypted.
    pub created: String,
    /// Computer, drive and date, as Windows wrote them.
    pub description: Option<String>,
    /// The cipher; `None` if it is unknown.
    pub method: Option<Method>,
    /// Number of the cipher in the metadata.
    pub method_number: u16,
    /// Bytes of a sector.
    pub sector: Option<u64>,
    /// The encryption state, and the pending change.
    pub state: String,
    /// Number of encrypted bytes, if known.
    pub encrypted_bytes: Option<u64>,
    /// Offset and length of the file system's first sectors, which are relocated.
    pub first_sectors: Option<(u64, u64)>,
    /// Offset of each copy of the metadata, and the defect of the copy, if any.
    pub copies: Vec<(u64, Option<String>)>,
    /// The protectors that open the volume.
    pub protectors: Vec<ProtectorInfo>,
    /// The volume opens without credentials, because its protection is suspended or nothing is encrypted.
    pub open_to_all: bool,
    /// Why this program cannot open the volume with any key; `None` if it can.
    pub obstacle: Option<String>,
}

/// A protector.
#[derive(Clone, Debug, Serialize)]
pub struct ProtectorInfo {
    /// The protector's identifier, which is also part of the name of a startup key file.
    pub id: Guid,
    /// The credential, such as `password`.
    pub opens_with: String,
    /// Name that Windows gave it.
    pub name: Option<String>,
    /// Time of its last change.
    pub modified: String,
    /// Why this program cannot use it; `None` if it can.
    pub problem: Option<String>,
}

/// Reads boot sector and metadata, without a key.
///
/// # Errors
/// [`VolumeError::NotThisFormat`], [`VolumeError::Damaged`], [`VolumeError::Io`].
pub fn info(device: &dyn BlockDevice) -> Result<Info, VolumeError> {
    let (_, boot) = metadata::boot(device)?;
    let metadata = metadata::read(device, &boot)?;
    let method = Method::of_number(metadata.method);
    let sector = open::sector(&boot, &metadata, device);
    let maps = open::maps(device, &boot);
    let size = device.size();
    let encrypted = match &maps {
        Ok(maps) => Encrypted::new(&metadata, maps.as_ref(), size),
        Err(_) => Ok(Encrypted::UpTo(0)),
    };
    let first = sector.as_ref().ok().map(|sector| first_sectors(&boot, &metadata, *sector, size));
    let problems = [
        maps.as_ref().err(),
        encrypted.as_ref().err(),
        sector.as_ref().err(),
        first.as_ref().and_then(|first| first.as_ref().err()),
    ];
    let mut obstacle = problems.into_iter().flatten().next().map(|error| chain(error));
    let plain = metadata.data_key.is_none();
    if obstacle.is_none() && method.is_none() && !plain {
        obstacle = Some(chain(&unlock::unknown(metadata.method)));
    }
    let clear =
        |protector: &Protector| protector.opener == Opener::ClearKey && protector.problem.is_none();
    Ok(Info {
        version: match metadata.version {
            Version::Vista => "vista",
            Version::Seven => "seven",
        },
        to_go: matches!(boot.layout, Layout::Seven { to_go: true, .. }),
        id: metadata.id,
        created: time::display(metadata.created),
        description: metadata.description.clone(),
        method,
        method_number: metadata.method,
        sector: sector.ok(),
        state: metadata.state.describe(),
        encrypted_bytes: (maps.is_ok()).then_some(encrypted.ok()).flatten().map(|e| e.bytes(size)),
        first_sectors: first.and_then(Result::ok).flatten(),
        copies: copies(&metadata),
        protectors: metadata.protectors.iter().map(protector).collect(),
        open_to_all: plain || metadata.protectors.iter().any(clear),
        obstacle,
    })
}

fn copies(metadata: &Metadata) -> Vec<(u64, Option<String>)> {
    let states = metadata.copies.iter().map(|state| state.clone().err());
    metadata.offsets.into_iter().zip(states).collect()
}

fn protector(protector: &Protector) -> ProtectorInfo {
    let elsewhere = (protector.opener == Opener::Other)
        .then(|| "cryptbench does not support this kind".to_owned());
    ProtectorInfo {
        id: protector.id,
        opens_with: protector.describe(),
        name: protector.name.clone(),
        modified: time::display(protector.modified),
        problem: protector.problem.clone().or(elsewhere),
    }
}
