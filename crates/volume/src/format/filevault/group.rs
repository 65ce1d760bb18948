//! The complete metadata: header, unencrypted and encrypted metadata, and the only logical volume.

use cryptbench_blockdev::BlockDevice;
use cryptbench_cipher::Tier;

use super::context::Context;
use super::family::Family;
use super::header::{self, Header};
use super::label::{self, Copies, Label};
use super::logical::{Logical, Segment, check_apart};
use super::objects::{Objects, kind};
use super::{MACOS, cannot_open, damaged, reason};
use crate::VolumeError;

/// A group of volumes on this physical volume.
#[derive(Debug)]
pub(super) struct Group {
    pub header: Header,
    pub label: Label,
    /// Copies of the unencrypted metadata.
    pub copies: Copies,
    /// Copies of the encrypted metadata that were examined.
    pub encrypted: Copies,
    pub volume: Volume,
}

/// The logical volume.
#[derive(Debug)]
pub(super) struct Volume {
    pub logical: Logical,
    /// The volume's family, as far as known: macOS wipes the family of a system volume.
    pub family: Family,
    /// The location of its data.
    pub data: Vec<Segment>,
    /// Why the location is unknown.
    pub lost: Option<VolumeError>,
}

impl Group {
    /// Reads the metadata.
    pub(super) fn read(device: &dyn BlockDevice, tier: Tier) -> Result<Self, VolumeError> {
        let header = Header::read(device)?;
        let (label, copies) = label::read(device, &header)?;
        let (mut found, mut encrypted): (Option<Volume>, Copies) = (None, Vec::new());
        let mut refused = None;
        for &at in &label.encrypted {
            let (volume, problem) = match Volume::read(device, &header, &label, at, tier) {
                Ok((volume, 0)) => (Some(volume), None),
                Ok((volume, damaged)) => {
                    (Some(volume), Some(format!("{damaged} blocks are damaged or missing")))
                }
                Err(error) => {
                    let problem = reason(&error);
                    refused = refused.or(Some(error));
                    (None, Some(problem))
                }
            };
            let whole = problem.is_none();
            encrypted.push((at, problem));
            if whole || found.is_none() {
                found = volume.or(found);
            }
            if whole {
                break;
            }
        }
        match found {
            Some(volume) => Ok(Self { header, label, copies, encrypted, volume }),
            None => {
                Err(refused
                    .unwrap_or_else(|| damaged("it does not refer to any encrypted metadata")))
            }
        }
    }

    /// Why this program cannot open the volume with any key.
    pub(super) fn obstacle(&self) -> Option<VolumeError> {
        let several = self.label.physical_volumes > 1;
        if !several && self.volume.data.iter().all(|segment| segment.volume == 0) {
            return None;
        }
        let why = "its data is on several physical volumes, as in a Fusion Drive";
        Some(cannot_open(self.volume.logical.describe(), why, MACOS))
    }

    /// The context, if passwords can open the volume with it.
    pub(super) fn usable<'a>(
        &self,
        context: Option<&'a Context>,
    ) -> Result<&'a Context, VolumeError> {
        let Volume { logical, family, data, .. } = &self.volume;
        let what = logical.describe();
        let Some(context) = context else {
            if family.encryption.as_deref() == Some("None") {
                return Err(unencrypted(what, data));
            }
            let why = "its keys are in the file EncryptedRoot.plist.wipekey on the Recovery HD partition of its Mac";
            return Err(cannot_open(what, why, "specify a copy of that file: --keyfile FILE"));
        };
        match context.conversion.as_deref() {
            None | Some("Complete" | "NoConversion") if context.keys.is_empty() => {
                Err(unencrypted(what, data))
            }
            None | Some("Complete" | "NoConversion") => Ok(context),
            Some(state) => {
                let why = format!("it is being encrypted or decrypted (state {state:?})");
                let with = "let macOS finish (diskutil coreStorage list shows the progress)";
                Err(cannot_open(what, why, with))
            }
        }
    }
}

/// An error for an unencrypted volume: another program can read it directly.
fn unencrypted(what: String, data: &[Segment]) -> VolumeError {
    let with = match data {
        [Segment { physical, len, .. }] => {
            format!("use mount -o ro,loop,offset={physical},sizelimit={len}")
        }
        _ => MACOS.to_owned(),
    };
    cannot_open(what, "it is not encrypted", &with)
}

impl Volume {
    /// Reads the copy of the encrypted metadata at `at`, and returns how many of its blocks are damaged.
    fn read(
        device: &dyn BlockDevice,
        header: &Header,
        label: &Label,
        at: u64,
        tier: Tier,
    ) -> Result<(Self, usize), VolumeError> {
        let objects = Objects::read(device, header, at, label.encrypted_bytes, tier)?;
        let logical = only(&objects)?;
        let family = objects.get(logical.family_object, kind::FAMILY);
        let family = family.map(|family| Family::parse(family, &objects)).transpose()?;
        let data = logical.data(header, &objects).and_then(|data| {
            check_apart(&data, &metadata(header, label))?;
            Ok(data)
        });
        let (data, lost) = match data {
            Ok(data) => (data, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let volume = Self { logical, family: family.unwrap_or_default(), data, lost };
        Ok((volume, objects.damaged))
    }
}

/// Offset and length of everything that is not data.
fn metadata(header: &Header, label: &Label) -> Vec<(u64, u64)> {
    let headers = [0, header.size.saturating_sub(header::BYTES)].map(|at| (at, header::BYTES));
    let labels = header.labels.iter().map(|at| (*at, header.label_bytes));
    let encrypted = label.encrypted.iter().map(|at| (*at, label.encrypted_bytes));
    headers.into_iter().chain(labels).chain(encrypted).collect()
}

/// The logical volume. Older logical volumes can remain among the objects, but their families are no longer in
/// use.
fn only(objects: &Objects) -> Result<Logical, VolumeError> {
    let (mut all, mut refused) = (Vec::new(), None);
    for (_, object) in objects.of(kind::LOGICAL) {
        match Logical::parse(object) {
            Ok(volume) => all.push(volume),
            Err(error) => refused = Some(error),
        }
    }
    if all.len() > 1 {
        let used = |volume: &Logical| {
            objects.of(kind::FAMILIES).any(|(_, list)| {
                let mut entries = list.data[8..].chunks_exact(16);
                entries.any(|entry| entry[..8] == volume.family_object.to_le_bytes())
            })
        };
        if all.iter().any(used) {
            all.retain(used);
        }
    }
    match all.len() {
        0 => Err(refused.unwrap_or_else(|| damaged("the metadata lists no logical volume"))),
        1 => Ok(all.remove(0)),
        count => {
            let what = format!("a CoreStorage group of {count} logical volumes");
            Err(cannot_open(what, "cryptbench supports only groups with one logical volume", MACOS))
        }
    }
}
