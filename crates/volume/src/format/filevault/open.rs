//! Opens a volume with its metadata and the user's credentials.

use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, Extent};

use super::group::Group;
use super::logical::Segment;
use super::unlock::{self, KeyFile, Unlocked};
use super::{CIPHER, FORMAT, SECTOR, keyed};
use crate::detect::{Kind, detect};
use crate::pieces::{Pieces, Source};
use crate::volume::{WARNING, there};
use crate::{Access, Credentials, Mapping, OpenOptions, Volume, VolumeError, VolumeInfo};

/// Warning if every copy of the encrypted metadata has a damaged block, which may have been newer than the
/// other blocks.
const LOST: &str = "no copy of the encrypted metadata is intact; its offsets may be out of date, so the volume is read-only";

/// Opens the logical volume on the physical volume `device`. Its metadata is never written.
///
/// A key file is either the volume key (16 bytes, or 32 with the tweak key), or the file
/// `EncryptedRoot.plist.wipekey` with the keys of a Mac's system volume.
///
/// # Errors
/// [`VolumeError::NoKeyFits`]; [`VolumeError::NotThisFormat`] or [`VolumeError::Damaged`] for the metadata;
/// [`VolumeError::CannotOpen`] for a volume that is not encrypted, is being encrypted, or is on several
/// physical volumes; [`VolumeError::Unsupported`]; [`VolumeError::Invalid`]; [`VolumeError::Stopped`];
/// [`VolumeError::Io`].
pub fn open(
    device: Arc<dyn BlockDevice>,
    credentials: &Credentials,
    options: &OpenOptions<'_>,
) -> Result<Volume, VolumeError> {
    options.refuse_choices("FileVault")?;
    unlock::check(credentials)?;
    let mut group = Group::read(&*device, options.tier)?;
    if let Some(obstacle) = group.obstacle() {
        return Err(obstacle);
    }
    if let Some(error) = group.volume.lost.take() {
        return Err(error);
    }
    let lost = group.encrypted.iter().all(|(_, problem)| problem.is_some());
    let access = if lost { Access::ReadOnly } else { options.access };
    let data = &group.volume.data;
    let size = group.volume.logical.size;
    let left = available(data, device.size());
    let (whole, cut) = there(Extent { offset: 0, len: size }, left, SECTOR, access)?;
    let unlocked = unlocked(&group, credentials, options)?;
    let key_bytes = unlocked.key.len();
    let cipher = keyed(&unlocked.key, options.tier)?;
    let physical = data.first().map_or(0, |segment| segment.physical);
    let info = VolumeInfo {
        format: FORMAT,
        cipher: format!("{}-{}", CIPHER.0, CIPHER.1),
        kernel: cipher.tier(),
        key_bytes,
        derivation: unlocked.opened_with,
        data_unit: SECTOR as usize,
        size: whole.len,
        data_offset: physical,
        details: lost
            .then(|| (WARNING, LOST.to_owned()))
            .into_iter()
            .chain(cut.map(|text| (WARNING, text)))
            .chain(details(&group, data.len()))
            .collect(),
    };
    let (offset, pieces) = match data.as_slice() {
        [_] => (physical, None),
        several => (0, Some(pieces(several))),
    };
    let data = Extent { offset, len: whole.len };
    let mapping = Mapping { data, cipher, first_tweak: 0, tweak_step: 1, protected: None };
    let volume = Volume::new(device, mapping, access, info)?;
    let volume = match pieces {
        Some(pieces) => volume.with_pieces(pieces)?,
        None => volume,
    };
    if (unlocked.unproved || lost) && !matches!(detect(&volume)?.kind, Kind::FileSystem { .. }) {
        let why = "the data decrypted with this key contains no file system";
        return Err(VolumeError::NoKeyFits(why.to_owned()));
    }
    Ok(volume)
}

/// Number of data bytes before the first byte that is not on a device of `size` bytes.
fn available(data: &[Segment], size: u64) -> u64 {
    let mut left = 0;
    for segment in data {
        let there = size.saturating_sub(segment.physical).min(segment.len);
        left += there;
        if there < segment.len {
            break;
        }
    }
    // `there` contains one run, which cannot be longer than the device.
    left.min(size)
}

/// The plaintext of several segments, with tweaks that follow from their offsets in the plaintext.
fn pieces(data: &[Segment]) -> Pieces {
    let mut pieces = Pieces::default();
    for segment in data {
        pieces.push(segment.logical, Source::Moved(segment.physical));
    }
    pieces
}

fn unlocked(
    group: &Group,
    credentials: &Credentials,
    options: &OpenOptions<'_>,
) -> Result<Unlocked, VolumeError> {
    let family = group.volume.logical.family;
    let beside = match KeyFile::of(credentials, &group.header, options.tier)? {
        KeyFile::Key(key) => return unlock::with_key(&key, family),
        KeyFile::Context(context) => Some(context),
        KeyFile::None => None,
    };
    let context = group.usable(beside.as_ref().or(group.volume.family.context.as_ref()))?;
    let unlocked =
        unlock::with_password(context, family, credentials, options.tier, options.effort)?;
    // Nothing ties a file that is already decrypted to this volume.
    Ok(Unlocked { unproved: beside.is_some(), ..unlocked })
}

fn details(group: &Group, segments: usize) -> Vec<(&'static str, String)> {
    let logical = &group.volume.logical;
    let mut details = Vec::new();
    let told = [
        ("name", logical.name.clone()),
        ("identifier", logical.id.map(|id| id.to_string())),
        ("group", group.label.name.clone()),
        ("contents", logical.contents.clone()),
        ("segments", (segments > 1).then(|| segments.to_string())),
    ];
    details.extend(told.into_iter().filter_map(|(name, value)| Some((name, value?))));
    for (at, why) in group.copies.iter().chain(&group.encrypted) {
        details.extend(why.iter().map(|why| ("damaged copy", format!("at byte {at}: {why}"))));
    }
    details
}
