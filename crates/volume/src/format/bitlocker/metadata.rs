//! The metadata: three copies of a block that describes the encrypted parts and their key.

use cryptbench_blockdev::{BlockDevice, read_bytes};
use sha2::{Digest, Sha256};

use super::boot::{BOOT_BYTES, Boot, Layout};
use super::dataset::{entries, kind, role, text};
use super::guid::Guid;
use super::protector::Protector;
use super::sealed::Sealed;
use super::{COPIES, METADATA_BYTES, SIGNATURE, damaged};
use crate::VolumeError;
use crate::bytes::{array_at, u16_at, u32_at, u64_at};
use crate::crc32::crc32;

/// Size of a block's header in bytes; the header of its entries follows.
const BLOCK_HEADER: usize = 64;
/// Size of the entries' header, in bytes.
const DATASET_HEADER: usize = 48;
/// Size in bytes of the header of the checks that follow a block. The sealed digest comes after it.
const CHECKS_HEADER: usize = 8;
/// Size of a metadata copy in Windows Vista, in bytes, before it is rounded up to clusters.
const VISTA_BYTES: u64 = 16 << 10;

/// The two versions of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Version {
    /// Windows Vista.
    Vista,
    /// Windows 7 and later.
    Seven,
}

/// The progress of encryption, and the pending change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub now: u16,
    pub next: u16,
}

impl State {
    pub(super) const DECRYPTED: u16 = 1;
    /// The conversion is within a step.
    pub(super) const CONVERTING: u16 = 2;
    pub(super) const PAUSED: u16 = 3;
    pub(super) const ENCRYPTED: u16 = 4;
    pub(super) const SWITCHING: u16 = 5;

    /// The state in words.
    pub(super) fn describe(self) -> String {
        let now = match self.now {
            Self::DECRYPTED => "not encrypted",
            Self::CONVERTING => "being encrypted or decrypted",
            Self::PAUSED | Self::SWITCHING => "partly encrypted, conversion paused",
            Self::ENCRYPTED => "encrypted",
            other => return format!("unknown state {other}"),
        };
        match self.next {
            next if next == self.now => now.to_owned(),
            Self::DECRYPTED => format!("{now}, to be decrypted"),
            Self::ENCRYPTED => format!("{now}, to be encrypted"),
            next => format!("{now}, to become state {next}"),
        }
    }
}

/// How the digest of a block is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Integrity {
    /// Sealed under the volume master key.
    Sealed(Sealed),
    /// Unsealed, if nothing is encrypted.
    Clear([u8; 32]),
    /// Not stored, which is permitted only for Windows Vista.
    None,
}

/// The content of a valid copy of the metadata.
#[derive(Debug)]
pub(super) struct Metadata {
    pub version: Version,
    pub state: State,
    /// Number of encrypted bytes from the start; 0 in Windows Vista, because Vista encrypts the whole volume.
    pub encrypted: u64,
    /// Number of relocated sectors, according to the block's header.
    pub first_sectors: u32,
    /// Offsets of the three copies.
    pub offsets: [u64; COPIES],
    /// The offset of the first sectors; in Windows Vista, the value of a field of NTFS's boot sector.
    pub moved_to: u64,
    /// Offset and length of the first sectors, if an entry contains them.
    pub moved: Option<(u64, u64)>,
    pub id: Guid,
    /// FILETIME of its creation.
    pub created: u64,
    /// Number of the cipher.
    pub method: u16,
    pub description: Option<String>,
    pub protectors: Vec<Protector>,
    pub data_key: Option<Sealed>,
    pub integrity: Integrity,
    /// SHA-256 of the block.
    pub digest: [u8; 32],
    /// State of each copy, in order: its defect, if any.
    pub copies: Vec<Result<(), String>>,
}

/// Reads the boot sector.
pub(super) fn boot(device: &dyn BlockDevice) -> Result<([u8; BOOT_BYTES], Boot), VolumeError> {
    let not_this = |reason: &str| VolumeError::NotThisFormat {
        format: super::FORMAT,
        reason: reason.to_owned(),
    };
    if device.size() < BOOT_BYTES as u64 {
        return Err(not_this("it is shorter than a boot sector"));
    }
    let bytes = read_bytes(device, 0..BOOT_BYTES as u64)
        .map_err(VolumeError::io("reading the boot sector"))?;
    let bytes = array_at(&bytes, 0).ok_or_else(|| not_this("it has no boot sector"))?;
    Ok((bytes, Boot::parse(&bytes)?))
}

/// Finds the metadata of a volume whose boot sector is lost, and reconstructs the boot sector. Two facts remain
/// unknown: whether the volume was BitLocker To Go, which does not matter, and whether encryption was in
/// progress.
///
/// # Errors
/// [`VolumeError::NotThisFormat`] if no copy is valid; [`VolumeError::CannotOpen`] if none is at its expected
/// offset; [`VolumeError::Io`].
pub(super) fn search(device: &dyn BlockDevice) -> Result<Boot, VolumeError> {
    const PIECE: u64 = 4 << 20;
    let mut elsewhere = None;
    for start in (0..device.size()).step_by(PIECE as usize) {
        let end = device.size().min(start + PIECE);
        let piece = read_bytes(device, start..end)
            .map_err(VolumeError::io("searching for BitLocker's metadata"))?;
        for (index, sector) in (0..).zip(piece.chunks(BOOT_BYTES)) {
            let at = start + index * BOOT_BYTES as u64;
            if !sector.starts_with(&SIGNATURE) {
                continue;
            }
            let Ok(copy) = read_copy(device, false, at) else { continue };
            if copy.offsets.contains(&at) {
                let metadata = copy.offsets;
                let layout = Layout::Seven { metadata, on_write: None, to_go: false };
                return Ok(Boot { layout, sector: None });
            }
            elsewhere.get_or_insert((at, copy.offsets));
        }
    }
    if let Some((at, [first, second, third])) = elsewhere {
        return Err(VolumeError::CannotOpen {
            what: "this BitLocker volume".to_owned(),
            why: format!(
                "its metadata at byte {at} belongs at byte {first}, {second} or {third}: the start of the volume is \
                 missing, or other bytes precede it"
            ),
            with: "if it is part of a disk, specify its location: --partition N or --offset BYTES"
                .to_owned(),
        });
    }
    let reason = "it has neither a BitLocker boot sector nor BitLocker metadata".to_owned();
    Err(VolumeError::NotThisFormat { format: super::FORMAT, reason })
}

/// Reads the first valid copy of the metadata that `boot` refers to, and examines the others.
///
/// # Errors
/// [`VolumeError::Damaged`] if no copy is valid, with the reason for each copy.
pub(super) fn read(device: &dyn BlockDevice, boot: &Boot) -> Result<Metadata, VolumeError> {
    let mut offsets = boot.metadata();
    let mut found: Option<Metadata> = None;
    let mut copies = Vec::new();
    let mut index = 0;
    while let Some(&at) = offsets.get(index) {
        let read =
            read_copy(device, boot.is_vista(), at).and_then(|copy| match copy.offsets[index] {
                place if place == at => Ok(copy),
                place => Err(format!("it records its own offset as byte {place}")),
            });
        let read = read.map(|copy| {
            // Windows Vista's boot sector refers to the first copy, which refers to the others.
            if boot.is_vista() && offsets.len() == 1 {
                offsets = copy.offsets.to_vec();
            }
            found.get_or_insert(copy);
        });
        copies.push(read.map_err(|why| format!("at byte {at}: {why}")));
        index += 1;
    }
    match found {
        Some(metadata) => Ok(Metadata { copies, ..metadata }),
        None => {
            let why: Vec<String> = copies.into_iter().filter_map(Result::err).collect();
            Err(damaged(format!("no copy of the metadata is valid: {}", why.join("; "))))
        }
    }
}

/// Number of bytes that a copy occupies on the volume; these bytes read as zeros.
pub(super) fn copy_bytes(layout: &Layout) -> u64 {
    match layout {
        // The cluster is a power of two.
        Layout::Vista { cluster, .. } => (VISTA_BYTES + cluster - 1) & !(cluster - 1),
        Layout::Seven { .. } => METADATA_BYTES,
    }
}

fn read_copy(device: &dyn BlockDevice, vista: bool, at: u64) -> Result<Metadata, String> {
    let most = if vista { VISTA_BYTES } else { METADATA_BYTES };
    let left = device.size().saturating_sub(at).min(most);
    if at == 0 || left < (BLOCK_HEADER + DATASET_HEADER) as u64 {
        return Err("it is outside the volume".to_owned());
    }
    let bytes = read_bytes(device, at..at + left).map_err(|error| error.to_string())?;
    parse(&bytes, vista)
}

/// Parses a copy of the metadata: a block and the checks that follow it.
///
/// # Errors
/// A message that states why the copy is not valid.
pub(super) fn parse(bytes: &[u8], vista: bool) -> Result<Metadata, String> {
    let cut = || "it is truncated".to_owned();
    if !bytes.starts_with(&SIGNATURE) {
        return Err("it has no BitLocker signature".to_owned());
    }
    let number = u16_at(bytes, 10).ok_or_else(cut)?;
    let size = usize::from(u16_at(bytes, 8).ok_or_else(cut)?);
    let (version, size) = match (number, vista) {
        (1, true) => (Version::Vista, size),
        (2, false) => (Version::Seven, 16 * size),
        _ => return Err(format!("it has version {number}")),
    };
    let block = bytes.get(..size).ok_or_else(cut)?;
    let checks = &bytes[size..];
    let checks_len = u16_at(checks, 0).map_or(0, usize::from);
    if crc32(block) != u32_at(checks, 4).ok_or_else(cut)? {
        return Err("its checksum is wrong".to_owned());
    }
    let dataset = block.get(BLOCK_HEADER..).ok_or_else(cut)?;
    let len = u32_at(dataset, 0).ok_or_else(cut)? as usize;
    let start = u32_at(dataset, 8).ok_or_else(cut)? as usize;
    if start < DATASET_HEADER {
        return Err("its entries overlap its header".to_owned());
    }
    let body = dataset.get(start..len).ok_or_else(cut)?;
    let offset = |index: usize| u64_at(block, 32 + 8 * index).unwrap_or_default();
    let checked = checks.get(CHECKS_HEADER..checks_len.min(checks.len())).unwrap_or_default();
    let mut metadata = Metadata {
        version,
        state: State {
            now: u16_at(block, 12).ok_or_else(cut)?,
            next: u16_at(block, 14).ok_or_else(cut)?,
        },
        encrypted: u64_at(block, 16).ok_or_else(cut)?,
        first_sectors: u32_at(block, 28).ok_or_else(cut)?,
        offsets: std::array::from_fn(offset),
        moved_to: u64_at(block, 56).ok_or_else(cut)?,
        moved: None,
        id: Guid(array_at(dataset, 16).ok_or_else(cut)?),
        created: u64_at(dataset, 40).ok_or_else(cut)?,
        method: u16_at(dataset, 36).ok_or_else(cut)?,
        description: None,
        protectors: Vec::new(),
        data_key: None,
        integrity: integrity(checked)?,
        digest: Sha256::digest(block).into(),
        copies: Vec::new(),
    };
    for entry in entries(body)? {
        match (entry.role, entry.kind) {
            (role::PROTECTOR, kind::PROTECTOR) => {
                metadata.protectors.push(Protector::parse(entry.data)?);
            }
            (role::DATA_KEY, kind::SEALED) if metadata.data_key.is_none() => {
                let key = Sealed::parse(entry.data)
                    .ok_or("the full volume encryption key is truncated")?;
                metadata.data_key = Some(key);
            }
            (role::DESCRIPTION, kind::TEXT) => metadata.description = Some(text(entry.data)),
            (role::FIRST_SECTORS, kind::PLACE) => {
                let (at, len) = (u64_at(entry.data, 0), u64_at(entry.data, 8));
                metadata.moved =
                    Some(at.zip(len).ok_or("the location of the first sectors is truncated")?);
            }
            _ => {}
        }
    }
    Ok(metadata)
}

/// The digest in the checks.
fn integrity(checks: &[u8]) -> Result<Integrity, String> {
    let Some(entry) = entries(checks)?.into_iter().next() else { return Ok(Integrity::None) };
    Ok(match entry.kind {
        kind::SEALED => {
            Integrity::Sealed(Sealed::parse(entry.data).ok_or("its digest is truncated")?)
        }
        kind::KEY => {
            let digest = entry.data.get(4..).and_then(|digest| digest.try_into().ok());
            Integrity::Clear(digest.ok_or("its digest is not 32 bytes long")?)
        }
        other => return Err(format!("its digest is an entry of unknown kind {other}")),
    })
}
