//! The whole container around a backup header. The header is located from the container's end, but its data
//! offset counts from the start. If the start is missing, or other bytes precede it, the data would be
//! decrypted at the wrong offset.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, Extent, MemoryDevice, check_request, read_bytes};
use cryptbench_cipher::Tier;

use super::header::Header;
use super::layout::{self, GROUP, Slot};
use super::scheme::Scheme;
use super::unlock::Unlocked;
use crate::detect::{Kind, detect};
use crate::{Access, Part, VolumeError};

/// Possible sizes in bytes of the area after a hidden volume: 0 with VeraCrypt on Linux, either of the other sizes on
/// Windows.
const LEFT_FREE: [u64; 3] = [0, 4096, GROUP];

/// Number of data bytes that are decrypted to check whether they belong to a volume.
const LOOK: u64 = 1 << 20;

/// Maximum number of missing bytes, because they are written as zeros when the volume is dumped.
const MOST_LOST: u64 = 16 << 40;

/// The container as it was created.
pub(super) struct Whole {
    pub(super) device: Arc<dyn BlockDevice>,
    /// Number of missing bytes at its start.
    pub(super) lost: u64,
    /// A warning for the user.
    pub(super) warning: Option<String>,
}

/// The possible sizes of the container when this header was written, smallest first; empty if the layout does
/// not reveal them.
fn made(header: &Header, is_hidden: bool) -> Vec<u64> {
    let end = header.data_offset.saturating_add(header.volume_size).saturating_add(GROUP);
    match (header.version >= 4, is_hidden) {
        (true, false) => vec![end],
        (true, true) => LEFT_FREE.map(|free| end.saturating_add(free)).into(),
        (false, _) => Vec::new(),
    }
}

/// Like [`made`], for a header in a slot that is located from the end.
fn sizes(header: &Header, slot: Slot) -> Vec<u64> {
    match slot {
        Slot::Backup | Slot::HiddenBackup => made(header, slot.is_hidden()),
        _ => Vec::new(),
    }
}

/// Fails if the end of a host of `size` bytes is missing, because a backup header would then overwrite
/// something else.
///
/// A larger host has room for the backup header, but for a hidden volume no header shows exactly where its
/// container ended.
pub(super) fn check_end(header: &Header, slot: Slot, size: u64) -> Result<(), VolumeError> {
    let sizes = match slot {
        Slot::Primary | Slot::Hidden => made(header, slot.is_hidden()),
        _ => Vec::new(),
    };
    let most = sizes.last().copied().unwrap_or(0);
    if size >= most || sizes.contains(&size) {
        return Ok(());
    }
    let why = match &sizes[..] {
        [whole] => {
            format!("the last {} of {whole} bytes of the container are missing", whole - size)
        }
        _ => format!("the container is {size} bytes long, but was created with {}", listed(&sizes)),
    };
    Err(no_backup(slot, why, "the volume can still be opened: copy its files to a new volume"))
}

/// The error for a backup header that cannot be written.
pub(super) fn no_backup(slot: Slot, why: String, with: &str) -> VolumeError {
    let hidden = if slot.is_hidden() { "hidden " } else { "" };
    VolumeError::CannotOpen {
        what: format!("the backup header of this {hidden}volume"),
        why,
        with: format!("nothing was written; {with}"),
    }
}

fn listed(sizes: &[u64]) -> String {
    let sizes: Vec<_> = sizes.iter().map(u64::to_string).collect();
    sizes.join(" or ")
}

/// Fails unless a host of `size` bytes can be the whole container. In any other host, a written header could overwrite
/// data.
pub(super) fn check(header: &Header, slot: Slot, size: u64) -> Result<(), VolumeError> {
    let sizes = sizes(header, slot);
    match sizes.first() {
        Some(&whole) if !sizes.contains(&size) => {
            Err(refusal(&difference(whole, size), whole, size))
        }
        _ => Ok(()),
    }
}

/// The whole container to which the header of `unlocked` belongs.
///
/// # Errors
/// [`VolumeError::CannotOpen`] if it is to be written to and is not exactly `device`, or if its start is
/// unknown.
pub(super) fn find(
    device: Arc<dyn BlockDevice>,
    unlocked: &Unlocked,
    tier: Tier,
    access: Access,
) -> Result<Whole, VolumeError> {
    let (header, slot, size) = (&unlocked.header, unlocked.slot, device.size());
    if slot == Slot::HiddenLegacy && matches!(unlocked.scheme, Scheme::Xts(_)) {
        return uncounted(device, unlocked, tier, access);
    }
    let sizes = sizes(header, slot);
    let as_it_is = |device| Ok(Whole { device, lost: 0, warning: None });
    if sizes.is_empty() || sizes == [size] || reads(&device, size, unlocked, tier)? {
        return as_it_is(device);
    }
    let mut found = None;
    for &whole in sizes.iter().filter(|whole| **whole != size) {
        if found.is_none() && reads(&device, whole, unlocked, tier)? {
            found = Some(whole);
        }
    }
    let whole = match (found, slot) {
        (Some(whole), _) => whole,
        (None, _) if sizes.contains(&size) => return as_it_is(device),
        // Data that looks random, such as compressed files, is still at the offset in the header.
        (None, Slot::Backup) => sizes[0],
        (None, _) => {
            let why = "its start is missing or other bytes precede it, and the offset of its data is unknown";
            return Err(refusal(why, sizes[0], size));
        }
    };
    let what = difference(whole, size);
    if access == Access::ReadWrite {
        return Err(refusal(&what, whole, size));
    }
    let lost = whole.saturating_sub(size);
    Ok(Whole { device: at_its_place(device, whole)?, lost, warning: Some(what) })
}

/// A hidden volume of TrueCrypt 5: its data is located from the end, but its tweaks are numbered from a start
/// that no header records.
fn uncounted(
    device: Arc<dyn BlockDevice>,
    unlocked: &Unlocked,
    tier: Tier,
    access: Access,
) -> Result<Whole, VolumeError> {
    let Extent { offset, len } = layout::extent(&unlocked.header, unlocked.slot, device.size())?;
    let warning = match decrypts(&*device, offset..offset + len, unlocked, tier)? {
        true => None,
        false if access == Access::ReadOnly => Some(
            "its content looks random: if the start of the container is missing, it is decrypted \
            incorrectly"
                .to_owned(),
        ),
        false => {
            return Err(VolumeError::CannotOpen {
                what: "this hidden volume".to_owned(),
                why: "its content looks random, as if the start of the container were missing"
                    .to_owned(),
                with: "it can be opened read-only: volume dump, or --read-only".to_owned(),
            });
        }
    };
    Ok(Whole { device, lost: 0, warning })
}

fn difference(whole: u64, size: u64) -> String {
    match whole.checked_sub(size) {
        Some(lost) => format!(
            "the start of the container is missing: the first {lost} of {whole} bytes are missing and read as zeros"
        ),
        None => format!("{} bytes precede the container", size - whole),
    }
}

fn refusal(why: &str, whole: u64, size: u64) -> VolumeError {
    VolumeError::CannotOpen {
        what: "this volume".to_owned(),
        why: why.to_owned(),
        with: match size.checked_sub(whole) {
            Some(before) => format!("--offset {before} specifies where it starts"),
            None => {
                "the rest can be opened read-only: volume dump, or --read-only, with --backup-header"
                    .to_owned()
            }
        },
    }
}

/// `device` as the end of a container of `whole` bytes.
fn at_its_place(
    device: Arc<dyn BlockDevice>,
    whole: u64,
) -> Result<Arc<dyn BlockDevice>, VolumeError> {
    let size = device.size();
    if whole < size {
        return Ok(Arc::new(Part::new(device, size - whole, None)?));
    }
    let lost = whole - size;
    if lost > MOST_LOST || !lost.is_multiple_of(device.sector() as u64) {
        return Err(VolumeError::CannotOpen {
            what: "this volume".to_owned(),
            why: format!("according to its header, the first {lost} of {whole} bytes are missing"),
            with: "at most 16 TiB, in whole sectors, may be missing".to_owned(),
        });
    }
    Ok(Arc::new(Headless { device, lost }))
}

/// Whether, for this container size, the keys decrypt the data to something that does not look random.
fn reads(
    device: &Arc<dyn BlockDevice>,
    whole: u64,
    unlocked: &Unlocked,
    tier: Tier,
) -> Result<bool, VolumeError> {
    let header = &unlocked.header;
    let lost = whole.saturating_sub(device.size());
    let from = header.data_offset.max(lost);
    let host = at_its_place(Arc::clone(device), whole)?;
    let end = (header.data_offset.saturating_add(header.volume_size)).min(host.size());
    decrypts(&*host, from..end, unlocked, tier)
}

fn decrypts(
    host: &dyn BlockDevice,
    Range { start, end }: Range<u64>,
    unlocked: &Unlocked,
    tier: Tier,
) -> Result<bool, VolumeError> {
    let end = end.min(start.saturating_add(LOOK));
    if start >= end || !(end - start).is_multiple_of(512) || !start.is_multiple_of(512) {
        return Ok(false);
    }
    let mut plain = read_bytes(host, start..end).map_err(VolumeError::io("reading data"))?;
    let cipher = unlocked.scheme.keyed(&unlocked.header.keys, tier)?;
    cipher.decrypt_in_place(unlocked.scheme.first_tweak(start), &mut plain);
    Ok(!matches!(detect(&MemoryDevice::new(plain))?.kind, Kind::Random { .. } | Kind::Unreadable))
}

/// A container without its start; the start reads as zeros.
struct Headless {
    device: Arc<dyn BlockDevice>,
    lost: u64,
}

impl BlockDevice for Headless {
    fn size(&self) -> u64 {
        self.lost + self.device.size()
    }

    fn sector(&self) -> usize {
        self.device.sector()
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        check_request(self, offset, buf.len())?;
        let zeros = self.lost.saturating_sub(offset).min(buf.len() as u64);
        let (before, rest) = buf.split_at_mut(zeros as usize);
        before.fill(0);
        match rest.is_empty() {
            true => Ok(()),
            false => self.device.read_at(offset + zeros - self.lost, rest),
        }
    }

    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn flush(&self) -> io::Result<()> {
        self.device.flush()
    }
}
