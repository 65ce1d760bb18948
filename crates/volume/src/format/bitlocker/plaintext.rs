//! The composition of the plaintext: encrypted and plain parts, parts that read as zeros, and the relocated
//! first sectors.

use super::boot::{BOOT_BYTES, Boot, Layout};
use super::damaged;
use super::eow::Maps;
use super::metadata::{Metadata, State, Version, copy_bytes};
use crate::VolumeError;
use crate::pieces::{Pieces, Source};

/// Number of bytes at the start of a Windows Vista volume that are not encrypted.
const VISTA_PLAIN: u64 = 8192;

/// Maximum number of pieces of a plaintext: a limit for untrusted maps.
const MOST_PIECES: usize = 1 << 18;

/// The encrypted parts of the volume.
#[derive(Debug)]
pub(super) enum Encrypted {
    /// Everything up to this byte.
    UpTo(u64),
    /// These parts, ascending.
    Parts(Vec<(u64, u64)>),
}

impl Encrypted {
    /// The encrypted parts according to the metadata and, if the volume has maps, the maps.
    pub(super) fn new(
        metadata: &Metadata,
        maps: Option<&Maps>,
        size: u64,
    ) -> Result<Self, VolumeError> {
        if let Some(maps) = maps {
            return Ok(Self::Parts(maps.encrypted.clone()));
        }
        match metadata.state.now {
            State::DECRYPTED => Ok(Self::UpTo(0)),
            // Windows Vista does not record how much it encrypted, but always encrypts everything.
            State::ENCRYPTED | State::PAUSED | State::SWITCHING => match metadata.encrypted {
                0 if metadata.version == Version::Vista
                    && metadata.state.now != State::ENCRYPTED =>
                {
                    Err(unclear(metadata))
                }
                0 => Ok(Self::UpTo(size)),
                encrypted => Ok(Self::UpTo(encrypted)),
            },
            _ => Err(unclear(metadata)),
        }
    }

    /// Whether the byte at `at` is encrypted.
    fn holds(&self, at: u64) -> bool {
        match self {
            Self::UpTo(end) => at < *end,
            Self::Parts(parts) => {
                let next = parts.partition_point(|(_, end)| *end <= at);
                parts.get(next).is_some_and(|(start, _)| *start <= at)
            }
        }
    }

    /// The boundaries of encrypted parts within the range `from..to`.
    fn borders(&self, from: u64, to: u64) -> Vec<u64> {
        let all = match self {
            Self::UpTo(end) => vec![*end],
            Self::Parts(parts) => parts.iter().flat_map(|(start, end)| [*start, *end]).collect(),
        };
        all.into_iter().filter(|at| from < *at && *at < to).collect()
    }

    /// Number of encrypted bytes in a volume of `size` bytes.
    pub(super) fn bytes(&self, size: u64) -> u64 {
        match self {
            Self::UpTo(end) => size.min(*end),
            Self::Parts(parts) => {
                parts.iter().map(|(start, end)| end.min(&size).saturating_sub(*start)).sum()
            }
        }
    }
}

fn unclear(metadata: &Metadata) -> VolumeError {
    VolumeError::Unsupported {
        what: format!("a BitLocker volume that is {}", metadata.state.describe()),
        hint: Some("let Windows finish or pause the conversion".to_owned()),
    }
}

/// The location of the file system's first sectors: offset and length.
///
/// # Errors
/// [`VolumeError::Damaged`] if that location is impossible.
pub(super) fn first_sectors(
    boot: &Boot,
    metadata: &Metadata,
    sector: u64,
    size: u64,
) -> Result<Option<(u64, u64)>, VolumeError> {
    if boot.is_vista() {
        return Ok(None);
    }
    let by_header = (metadata.moved_to, u64::from(metadata.first_sectors) * sector);
    let (at, len) = metadata.moved.unwrap_or(by_header);
    let fits = at.checked_add(len).is_some_and(|end| end <= size);
    if len == 0 || at < len || !fits || !at.is_multiple_of(sector) || !len.is_multiple_of(sector) {
        let cut = if fits { "" } else { "; is it truncated?" };
        return Err(damaged(format!(
            "the copy of the first {len} bytes has an invalid offset: byte {at} of {size}{cut}"
        )));
    }
    Ok(Some((at, len)))
}

/// Information about a volume that is available without its key.
pub(super) struct Known<'a> {
    pub boot: &'a Boot,
    pub boot_sector: &'a [u8; BOOT_BYTES],
    /// The location of Windows Vista's copy of the boot sector; this copy is not encrypted either.
    pub boot_copy: Option<u64>,
    pub metadata: &'a Metadata,
    pub encrypted: &'a Encrypted,
    pub maps: Option<&'a Maps>,
    pub sector: u64,
    pub size: u64,
}

/// The pieces of a plaintext.
pub(super) fn pieces(known: &Known<'_>) -> Result<Pieces, VolumeError> {
    let Known { boot, boot_sector, metadata, encrypted, sector, size, .. } = *known;
    let moved = first_sectors(boot, metadata, sector, size)?;
    let mut zeros: Vec<(u64, u64)> = Vec::new();
    let whole = copy_bytes(&boot.layout);
    zeros.extend(metadata.offsets.map(|at| (at, at.saturating_add(whole))));
    zeros.extend(moved.map(|(at, len)| (at, at + len)));
    let reserved = known.maps.iter().flat_map(|maps| &maps.reserved);
    zeros.extend(reserved.map(|(at, len)| (*at, at.saturating_add(*len))));
    let zeros = joined(zeros, size);

    // A separate rule applies to the start of the plaintext.
    let mut pieces = Pieces::default();
    let start = match (moved, &boot.layout) {
        (Some((at, len)), _) => {
            let mut borders = encrypted.borders(at, at + len);
            borders.insert(0, at);
            for border in borders {
                pieces.push(
                    border - at,
                    if encrypted.holds(border) {
                        Source::Encrypted(border)
                    } else {
                        Source::Plain(border)
                    },
                );
            }
            len
        }
        (None, Layout::Vista { .. }) => {
            pieces.push(0, Source::Given(ntfs_boot_sector(boot_sector, metadata, sector)));
            pieces.push(sector, Source::Plain(sector));
            VISTA_PLAIN.min(size)
        }
        (None, Layout::Seven { .. }) => {
            return Err(damaged("the location of the first sectors is missing"));
        }
    };
    if zeros.first().is_some_and(|(at, _)| *at < start) {
        let at = zeros[0].0;
        return Err(damaged(format!("the metadata at byte {at} overlaps the first {start} bytes")));
    }
    let mut borders = encrypted.borders(start, size);
    borders.push(start);
    borders.extend(known.boot_copy.iter().flat_map(|at| [*at, at + sector]));
    for (from, to) in &zeros {
        borders.extend([*from, *to]);
    }
    borders.retain(|at| *at < size);
    borders.sort_unstable();
    borders.dedup();
    let mut next_zeros = zeros.iter().peekable();
    for at in borders {
        while next_zeros.next_if(|(_, end)| *end <= at).is_some() {}
        let source = match next_zeros.peek() {
            Some((from, _)) if *from <= at => Source::Zeros,
            _ if known.boot_copy == Some(at) => {
                Source::Given(ntfs_boot_sector(boot_sector, metadata, sector))
            }
            _ if encrypted.holds(at) => Source::Encrypted(at),
            _ => Source::Plain(at),
        };
        pieces.push(at, source);
        if pieces.len() > MOST_PIECES {
            return Err(VolumeError::Unsupported {
                what: format!("a volume encrypted in more than {MOST_PIECES} parts"),
                hint: Some("Windows can open it and finish the encryption".to_owned()),
            });
        }
    }
    Ok(pieces)
}

/// Sorts the ranges, limits them to `size` bytes and merges those that overlap or touch.
fn joined(mut ranges: Vec<(u64, u64)>, size: u64) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (from, to) in ranges {
        let to = to.min(size);
        match joined.last_mut() {
            _ if from >= to => {}
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// Restores NTFS's boot sector, in which Windows Vista modified two fields.
fn ntfs_boot_sector(
    boot_sector: &[u8; BOOT_BYTES],
    metadata: &Metadata,
    sector: u64,
) -> std::sync::Arc<[u8]> {
    let mut bytes = boot_sector.to_vec();
    bytes[3..11].copy_from_slice(b"NTFS    ");
    bytes[56..64].copy_from_slice(&metadata.moved_to.to_le_bytes());
    bytes.resize(sector as usize, 0);
    bytes.into()
}
