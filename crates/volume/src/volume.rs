//! An opened volume: the plaintext of its data area as a block device.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_blockdev::{
    AlignedBuf, BlockDevice, Extent, IoTarget, SectorTransform, check_request, lock_in_place,
};
use cryptbench_cipher::SectorCipher;

use crate::pieces::{Pieces, Stored};

/// How a volume may be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    ReadOnly,
    /// Read and write.
    ReadWrite,
}

/// The existing part of a data area, because a copy of a volume may be truncated. From a truncated volume only
/// whole sectors are read, and nothing is written to it. The second value is a warning if a part is missing.
///
/// # Errors
/// [`VolumeError::CannotOpen`](crate::VolumeError::CannotOpen) if a truncated volume is to be written to, or if
/// no part of the data area exists.
pub(crate) fn there(
    data: Extent,
    size: u64,
    unit: u64,
    access: Access,
) -> Result<(Extent, Option<String>), crate::VolumeError> {
    let left = size.saturating_sub(data.offset);
    if data.len <= left {
        return Ok((data, None));
    }
    let len = left - left % unit;
    let what = format!("the container is truncated: it has only {len} of {} bytes", data.len);
    if len == 0 || access == Access::ReadWrite {
        let named = if len == 0 { "this volume, a header without data," } else { "this volume" };
        return Err(crate::VolumeError::CannotOpen {
            what: named.to_owned(),
            why: what,
            with: if len == 0 {
                "only a complete copy can be opened; to restore a header backup, use `volume header-restore VOLUME \
                 FILE`".to_owned()
            } else {
                "the part that exists can be opened read-only: volume dump, or --read-only"
                    .to_owned()
            },
        });
    }
    Ok((Extent { len, ..data }, Some(what)))
}

/// The location of the plaintext and its cipher. The header of every format is reduced to these values.
pub struct Mapping {
    /// The encrypted bytes on the device.
    pub data: Extent,
    /// The keyed cipher; its data unit is the sector of the volume.
    pub cipher: Box<dyn SectorCipher>,
    /// Tweak number of the first data unit of `data`.
    pub first_tweak: u64,
    /// Difference between the tweak numbers of neighbouring data units.
    pub tweak_step: u64,
    /// The part of the plaintext that must not be written because it holds a hidden volume. Offsets
    /// count from the start of the plaintext.
    pub protected: Option<Extent>,
}

/// Facts about an opened volume, for users and records. Contains no secret.
#[derive(Clone, Debug, serde::Serialize)]
pub struct VolumeInfo {
    /// Format, such as `veracrypt`, `luks2`.
    pub format: &'static str,
    /// Cipher by the format's name, such as `AES(Twofish)` or `aes-xts-plain64`.
    pub cipher: String,
    /// Kernel in use, such as `vaes-avx2`.
    pub kernel: &'static str,
    /// Bytes of the volume key.
    pub key_bytes: usize,
    /// The derivation that unlocked it, such as `sha-512, 500000 iterations`.
    pub derivation: String,
    /// Number of bytes per tweak.
    pub data_unit: usize,
    /// Bytes of plaintext.
    pub size: u64,
    /// Offset of the data on the device.
    pub data_offset: u64,
    /// Further facts as pairs of name and value, in display order.
    pub details: Vec<(&'static str, String)>,
}

/// Name of a detail that is reported to the user when the volume is opened.
pub(crate) const WARNING: &str = "warning";

impl VolumeInfo {
    /// Details that must be reported to the user when the volume is opened, for example that its protection is
    /// suspended. They are also in the list of details.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.details.iter().filter(|(name, _)| *name == WARNING).map(|(_, text)| text.as_str())
    }
}

/// The plaintext of an opened volume.
///
/// Its sector size is the data unit of its cipher, or the sector size of the underlying device if that is
/// larger. A volume with 512-byte data units on a disk with 4096-byte sectors is therefore read and written
/// 4096 bytes at a time.
pub struct Volume {
    device: Arc<dyn BlockDevice>,
    mapping: Arc<Mapping>,
    access: Access,
    info: VolumeInfo,
    sector: usize,
    /// The composition of the plaintext; `None` if it is the decrypted data from start to end.
    pieces: Option<Pieces>,
    /// Set when a write to the protected part is refused. From then on every write fails, because
    /// the file system's view no longer matches the device (VeraCrypt does the same).
    frozen: AtomicBool,
}

impl Volume {
    /// The plaintext of `mapping` on `device`. A read-only device results in a read-only volume.
    ///
    /// # Errors
    /// [`VolumeError::Damaged`](crate::VolumeError::Damaged) if the data area is empty, is not a whole number
    /// of data units, or is not on the device.
    pub fn new(
        device: Arc<dyn BlockDevice>,
        mapping: Mapping,
        access: Access,
        info: VolumeInfo,
    ) -> Result<Self, crate::VolumeError> {
        let Extent { offset, len } = mapping.data;
        let unit = mapping.cipher.data_unit() as u64;
        let damaged = |reason| Err(crate::VolumeError::Damaged { format: info.format, reason });
        if len == 0 || !len.is_multiple_of(unit) {
            return damaged(format!(
                "a data area of {len} bytes is not a whole number of {unit}-byte data units"
            ));
        }
        if offset.checked_add(len).is_none_or(|end| end > device.size()) {
            let size = device.size();
            return damaged(format!(
                "{len} bytes of data at {offset} do not fit into {size} bytes"
            ));
        }
        let volume = Self {
            sector: mapping.cipher.data_unit(),
            device,
            mapping: Arc::new(mapping),
            access,
            info,
            pieces: None,
            frozen: AtomicBool::new(false),
        };
        let below = volume.device.sector();
        volume.with_sector(below)
    }

    /// The same volume with sectors of at least `bytes`, the size for which the file system was
    /// created.
    ///
    /// # Errors
    /// [`VolumeError::Unsupported`](crate::VolumeError::Unsupported) if the data area does not
    /// begin and end on a boundary of such sectors.
    pub fn with_sector(mut self, bytes: usize) -> Result<Self, crate::VolumeError> {
        let sector = self.sector.max(bytes);
        let Extent { offset, len } = self.mapping.data;
        let below = self.device.sector() as u64;
        if !sector.is_multiple_of(self.mapping.cipher.data_unit())
            || !(sector as u64).is_multiple_of(below)
            || !offset.is_multiple_of(below)
            || !len.is_multiple_of(sector as u64)
        {
            return Err(crate::VolumeError::Unsupported {
                what: format!(
                    "a data area of {len} bytes at {offset} in {sector}-byte sectors on a device with {below}-byte \
                     sectors"
                ),
                hint: Some("open it without direct I/O".to_owned()),
            });
        }
        self.sector = sector;
        Ok(self)
    }

    /// The same volume, with plaintext composed of `pieces`, which must cover the data area.
    ///
    /// # Errors
    /// As for [`with_sector`](Self::with_sector), if a piece does not begin on a sector boundary.
    pub(crate) fn with_pieces(mut self, pieces: Pieces) -> Result<Self, crate::VolumeError> {
        let sector = self.sector as u64;
        if let Some(at) = pieces.boundaries().find(|at| !at.is_multiple_of(sector)) {
            return Err(crate::VolumeError::Unsupported {
                what: format!("a segment at byte {at}, which is not a multiple of {sector} bytes,"),
                hint: Some("open it without direct I/O".to_owned()),
            });
        }
        self.pieces = Some(pieces);
        Ok(self)
    }

    /// The same volume, limited to its first `len` bytes.
    ///
    /// # Errors
    /// [`VolumeError::Invalid`](crate::VolumeError::Invalid) unless these are whole sectors within the volume.
    pub fn cut(mut self, len: u64) -> Result<Self, crate::VolumeError> {
        let whole = self.mapping.data.len;
        if len == 0 || len > whole || !len.is_multiple_of(self.sector as u64) {
            let reason = format!(
                "{len} bytes is not a valid length for a part of a volume of {whole} bytes"
            );
            return Err(crate::VolumeError::Invalid(reason));
        }
        let Some(mapping) = Arc::get_mut(&mut self.mapping) else {
            return Err(crate::VolumeError::Invalid("the volume is in use".to_owned()));
        };
        mapping.data.len = len;
        self.info.size = len;
        Ok(self)
    }

    /// Facts about the volume.
    pub fn info(&self) -> &VolumeInfo {
        &self.info
    }

    /// Locks the cipher's expanded keys in memory, out of swap, for as long as the process lives.
    /// [`locking_failed`](cryptbench_blockdev::locking_failed) reports whether that failed.
    pub fn lock_keys(&self) {
        self.mapping.cipher.visit_keys(&mut lock_in_place);
    }

    /// Whether a write into the protected hidden volume was refused.
    pub fn hit_protection(&self) -> bool {
        self.frozen.load(Ordering::Acquire)
    }

    /// Reads the bytes at `at` in the data area, and decrypts them with the tweaks for offset `tweaks`.
    fn read_encrypted(&self, at: u64, tweaks: u64, buf: &mut [u8]) -> io::Result<()> {
        self.device.read_at(self.mapping.data.offset + at, buf)?;
        self.mapping.open(tweaks, buf);
        Ok(())
    }

    /// Encrypts `data` in place with the tweaks for offset `tweaks`, and writes it to `at`.
    fn write_encrypted(&self, at: u64, tweaks: u64, data: &mut [u8]) -> io::Result<()> {
        self.mapping.seal_in_place(tweaks, data);
        self.device.write_scratch(self.mapping.data.offset + at, data)
    }

    /// Writes `data` to its pieces, or nothing if one of them is read-only.
    fn write_pieces(&self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        let Some(pieces) = &self.pieces else { return self.write_encrypted(offset, offset, data) };
        let fixed = |stored: &Stored<'_>| matches!(stored, Stored::Given(..) | Stored::Zeros);
        if let Some((range, _)) = pieces.within(offset, data.len()).find(|(_, s)| fixed(s)) {
            let at = offset + range.start as u64;
            let reason = format!("byte {at} belongs to the volume's own metadata");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
        for (range, stored) in pieces.within(offset, data.len()) {
            match stored {
                Stored::Encrypted(at) => self.write_encrypted(at, at, &mut data[range])?,
                Stored::Moved(at) => {
                    let tweaks = offset + range.start as u64;
                    self.write_encrypted(at, tweaks, &mut data[range])?;
                }
                Stored::Plain(at) => {
                    let at = self.mapping.data.offset + at;
                    self.device.write_scratch(at, &mut data[range])?;
                }
                Stored::Given(..) | Stored::Zeros => {}
            }
        }
        Ok(())
    }

    fn check_write(&self, offset: u64, len: u64) -> io::Result<()> {
        if self.is_read_only() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if let Some(hidden) = self.mapping.protected
            && len > 0
            && offset < hidden.offset.saturating_add(hidden.len)
            && hidden.offset < offset.saturating_add(len)
        {
            self.frozen.store(true, Ordering::Release);
            let reason =
                "the write would have damaged the hidden volume; all further writes are refused";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
        Ok(())
    }
}

impl Mapping {
    /// Tweak number of the data unit that begins at `offset` in the plaintext.
    fn tweak(&self, offset: u64) -> u64 {
        let unit = self.cipher.data_unit() as u64;
        self.first_tweak.wrapping_add((offset / unit).wrapping_mul(self.tweak_step))
    }
}

impl SectorTransform for Mapping {
    fn unit(&self) -> usize {
        self.cipher.data_unit()
    }

    fn seal(&self, offset: u64, plain: &[u8], stored: &mut [u8]) {
        self.cipher.encrypt(self.tweak(offset), plain, stored);
    }

    fn seal_in_place(&self, offset: u64, data: &mut [u8]) {
        self.cipher.encrypt_in_place(self.tweak(offset), data);
    }

    fn open(&self, offset: u64, data: &mut [u8]) {
        self.cipher.decrypt_in_place(self.tweak(offset), data);
    }
}

impl std::fmt::Debug for Volume {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Volume").field("info", &self.info).finish_non_exhaustive()
    }
}

impl BlockDevice for Volume {
    fn size(&self) -> u64 {
        self.mapping.data.len
    }

    fn sector(&self) -> usize {
        self.sector
    }

    fn is_read_only(&self) -> bool {
        self.access == Access::ReadOnly || self.device.is_read_only() || self.hit_protection()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        check_request(self, offset, buf.len())?;
        let Some(pieces) = &self.pieces else { return self.read_encrypted(offset, offset, buf) };
        for (range, stored) in pieces.within(offset, buf.len()) {
            let place = offset + range.start as u64;
            let part = &mut buf[range];
            match stored {
                Stored::Encrypted(at) => self.read_encrypted(at, at, part)?,
                Stored::Moved(at) => self.read_encrypted(at, place, part)?,
                Stored::Plain(at) => self.device.read_at(self.mapping.data.offset + at, part)?,
                Stored::Given(from, bytes) => part.copy_from_slice(&bytes[from..][..part.len()]),
                Stored::Zeros => part.fill(0),
            }
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        check_request(self, offset, data.len())?;
        self.check_write(offset, data.len() as u64)?;
        if data.is_empty() {
            return Ok(());
        }
        let mut stored = AlignedBuf::zeroed(data.len());
        if self.pieces.is_some() {
            stored.copy_from_slice(data);
            return self.write_pieces(offset, &mut stored);
        }
        self.mapping.seal(offset, data, &mut stored);
        self.device.write_scratch(self.mapping.data.offset + offset, &mut stored)
    }

    fn write_scratch(&self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        check_request(self, offset, data.len())?;
        self.check_write(offset, data.len() as u64)?;
        self.write_pieces(offset, data)
    }

    fn flush(&self) -> io::Result<()> {
        self.device.flush()
    }

    fn discard(&self, offset: u64, len: u64) -> io::Result<()> {
        check_request(self, offset, usize::try_from(len).map_err(io::Error::other)?)?;
        self.check_write(offset, len)?;
        if self.pieces.is_some() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.device.discard(self.mapping.data.offset + offset, len)
    }

    fn io_target(&self) -> Option<IoTarget> {
        // `None` if every write must be checked against a protected hidden volume, if the plaintext consists of
        // pieces, which are not a pure transform, or if the underlying device is encrypted itself.
        let below = self.device.io_target()?;
        if self.mapping.protected.is_some() || self.pieces.is_some() || below.transform.is_some() {
            return None;
        }
        let Extent { offset, len } = self.mapping.data;
        Some(IoTarget {
            extent: Extent { offset: below.extent.offset + offset, len },
            transform: Some(Arc::clone(&self.mapping) as Arc<dyn SectorTransform>),
            ..below
        })
    }
}
