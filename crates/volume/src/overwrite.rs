//! Decides whether a header may overwrite the content of a device. Every function that writes a header performs this
//! check.

use std::io;

use cryptbench_blockdev::{BlockDevice, Extent, read_bytes};

use crate::VolumeError;
use crate::detect::{Kind, Signature, signatures};

/// A header that is about to be written.
#[derive(Clone, Copy)]
pub(crate) struct Overwrite<'a> {
    /// The parts of the device that belong to the header and its keyslots, and must not contain anything else.
    pub(crate) parts: &'a [Extent],
    /// Evidence that the volume on the device belongs to the header.
    pub(crate) proof: Proof<'a>,
    /// The parts that must be zeros if there is no such evidence; writing there then destroys nothing.
    pub(crate) blank: &'a [Extent],
    /// The area in which keyslots may have survived, and its new content. Without other evidence, the area must
    /// be zeros, or a piece of it must equal the new content: keyslots are random, so no other volume contains
    /// that piece.
    pub(crate) keyslots: Option<(Extent, &'a dyn BlockDevice)>,
    /// What the user can do after a refusal.
    pub(crate) remedy: &'static str,
}

/// Evidence that a header belongs to the volume on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof<'a> {
    /// A key opened the existing header, or the data.
    Key,
    /// A LUKS header on the device has this UUID.
    Uuid(&'a str),
    /// Nothing.
    Nothing,
}

/// The options of `header-restore` after a refusal.
pub(crate) const FORCE: &str = "--force overwrites it";

/// The remedy for commands without that option.
pub(crate) const MEND: &str =
    "to keep the volume, restore its header first (header-restore --force)";

/// Checks that `write` belongs to the volume on `device`, and destroys nothing else.
///
/// The rules apply in this order. The write is refused if the header of another LUKS volume is at the start, or
/// anything else with a known magic is within the header's parts. It is permitted by a proof. Without a proof,
/// it is refused if anything with a known magic is anywhere on the device. It is permitted if the header area
/// is zeros, as on a disk with a wiped header. Otherwise it is refused: the contents could be another volume,
/// because encrypted data looks like random bytes.
pub(crate) fn check(device: &dyn BlockDevice, write: &Overwrite<'_>) -> Result<(), VolumeError> {
    let occupied = |holds: String| Err(VolumeError::Occupied { holds, remedy: write.remedy });
    let (headers, others): (Vec<_>, Vec<_>) =
        signatures(device).into_iter().partition(|found| matches!(found.kind, Kind::Luks { .. }));
    let ours = |header: &Signature| write.proof == Proof::Uuid(uuid(header));
    let primary = headers.iter().find(|header| header.offset == 0);
    if let Some(header) = primary.filter(|header| !ours(header) && !uuid(header).is_empty()) {
        return occupied(describe(header));
    }
    let within = |found: &&Signature| {
        write.parts.iter().any(|part| (part.offset..part.offset + part.len).contains(&found.offset))
    };
    if let Some(found) = others.iter().find(within) {
        return occupied(describe(found));
    }
    if write.proof == Proof::Key && primary.is_none() || headers.iter().any(ours) {
        return Ok(());
    }
    if let Some(found) = headers.first().or(others.first()) {
        return occupied(describe(found));
    }
    for part in write.blank {
        let end = (part.offset + part.len).min(device.size());
        match read_bytes(device, part.offset..end) {
            Ok(there) if is_zero(&there) => {}
            Ok(_) => return occupied(UNKNOWN.to_owned()),
            Err(error) => return occupied(unreadable(&error)),
        }
    }
    if let Some((part, written)) = write.keyslots {
        match survived(device, part, written) {
            Ok(true) => {}
            Ok(false) => return occupied(UNKNOWN.to_owned()),
            Err(error) => return occupied(unreadable(&error)),
        }
    }
    if write.blank.is_empty() { occupied(UNKNOWN.to_owned()) } else { Ok(()) }
}

/// Whether `part` is all zeros, or has a piece that is not all zeros in common with `written`.
fn survived(device: &dyn BlockDevice, part: Extent, written: &dyn BlockDevice) -> io::Result<bool> {
    let end = (part.offset + part.len).min(device.size());
    let mut is_blank = true;
    for start in (part.offset..end).step_by(PIECE) {
        let piece = start..end.min(start + PIECE as u64);
        let there = read_bytes(device, piece.clone())?;
        if is_zero(&there) {
            continue;
        }
        is_blank = false;
        if there.len() >= LEAST && read_bytes(written, piece)? == there {
            return Ok(true);
        }
    }
    Ok(is_blank)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

fn unreadable(error: &io::Error) -> String {
    format!("something that cannot be read ({error})")
}

/// Bytes compared in one step.
const PIECE: usize = 4096;

/// Minimum length in bytes of a piece that identifies a volume.
const LEAST: usize = 512;

const UNKNOWN: &str = "data that cannot be identified as the volume of this header; it could be another encrypted \
                       volume, which looks like random data";

/// [`check`] for a header that a key opens: it refuses the write if any other known magic is within `parts`. If
/// it is called before the key is derived, a write that no key could permit is refused early.
pub(crate) fn check_opened(
    device: &dyn BlockDevice,
    parts: &[Extent],
    remedy: &'static str,
) -> Result<(), VolumeError> {
    check(device, &Overwrite { parts, proof: Proof::Key, blank: &[], keyslots: None, remedy })
}

fn uuid(header: &Signature) -> &str {
    match &header.kind {
        Kind::Luks { uuid, .. } => uuid,
        _ => "",
    }
}

fn describe(found: &Signature) -> String {
    let place = if found.at_end { " at its end" } else { "" };
    match &found.kind {
        Kind::Luks { uuid, secondary_only, .. } => {
            let which = if *secondary_only { "the secondary header" } else { "the header" };
            if uuid.is_empty() {
                format!("{which} of a LUKS volume whose UUID cannot be read")
            } else {
                format!("{which} of another volume (LUKS, UUID {uuid})")
            }
        }
        Kind::FileSystem { name } => format!("{name}{place}"),
        Kind::PartitionTable { name } => format!("a partition table ({name}){place}"),
        other => other.to_string(),
    }
}
