//! Restores a header backup, or the backup header within the volume, for all formats.

use cryptbench_blockdev::{BlockDevice, read_bytes};

use crate::detect::{Kind, detect};
use crate::format::tcrypt::{self, HeaderOptions, HeaderSource};
use crate::format::{filevault, luks};
use crate::open::find;
use crate::{Credentials, VolumeError};

/// Sizes in bytes of the header backups of VeraCrypt and TrueCrypt, and of TrueCrypt before version 6.
const TCRYPT_BACKUPS: [u64; 2] = [128 << 10, 1 << 10];

/// A header that is to be restored.
#[derive(Clone, Copy)]
pub struct Restore<'a> {
    device: &'a dyn BlockDevice,
    backup: Option<&'a dyn BlockDevice>,
    luks: bool,
}

/// The result of [`Restore::run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restored {
    /// The header was written.
    Written,
    /// Both copies were valid and equally recent; nothing was written.
    NothingToDo,
}

impl<'a> Restore<'a> {
    /// Prepares to restore the header of `device` from `backup`, or from the copy within the volume. The backup
    /// determines the format, because the header on the device may be damaged. Writes nothing.
    ///
    /// # Errors
    /// [`VolumeError::Invalid`] for an unknown `format`; [`VolumeError::Unsupported`] for BitLocker and FileVault.
    pub fn new(
        device: &'a dyn BlockDevice,
        backup: Option<&'a dyn BlockDevice>,
        format: Option<&str>,
    ) -> Result<Self, VolumeError> {
        let luks = match (format, backup) {
            (Some(name), _) => {
                find(name)?;
                match name {
                    "bitlocker" => return Err(bitlocker()),
                    filevault::FORMAT => return Err(filevault::unchangeable()),
                    _ => {}
                }
                name.starts_with("luks")
            }
            (None, Some(backup)) => match luks::info(backup) {
                Err(VolumeError::NotThisFormat { .. }) => {
                    !TCRYPT_BACKUPS.contains(&backup.size()) && luks::info(device).is_ok()
                }
                _ => true,
            },
            (None, None) => match detect(device)?.kind {
                Kind::BitLocker { .. } => return Err(bitlocker()),
                Kind::FileVault => return Err(filevault::unchangeable()),
                Kind::Luks { .. } => true,
                // A secondary header may have survived the replacement of the primary one.
                _ => luks::info(device).is_ok(),
            },
        };
        Ok(Self { device, backup, luks })
    }

    /// Whether [`run`](Self::run) needs credentials: VeraCrypt and TrueCrypt headers are encrypted.
    pub fn needs_credentials(&self) -> bool {
        !self.luks
    }

    /// Restores the header if the device holds the volume that it belongs to, or if `options.force` is set.
    /// `credentials` are not used for LUKS.
    ///
    /// # Errors
    /// [`VolumeError::Occupied`] if the device contains, or may contain, something else; otherwise as for
    /// [`luks::restore_header`], [`luks::repair`] and [`tcrypt::restore_headers`].
    pub fn run(
        &self,
        credentials: &Credentials,
        options: &HeaderOptions<'_>,
    ) -> Result<Restored, VolumeError> {
        match (self.luks, self.backup) {
            (true, Some(backup)) => luks::restore_header(self.device, backup, options.force)?,
            (true, None) => {
                if !luks::repair(self.device, options.force)? {
                    return Ok(Restored::NothingToDo);
                }
            }
            (false, backup) => {
                let file = backup.map(whole).transpose()?;
                let source = file.as_deref().map_or(HeaderSource::Embedded, HeaderSource::File);
                tcrypt::restore_headers(self.device, source, credentials, options)?;
            }
        }
        Ok(Restored::Written)
    }
}

/// Reads a whole backup file in the format of VeraCrypt and TrueCrypt.
fn whole(backup: &dyn BlockDevice) -> Result<Vec<u8>, VolumeError> {
    let most = TCRYPT_BACKUPS[0];
    if backup.size() > most {
        let reason = format!(
            "it is {} bytes long, but a backup is at most {most} bytes long",
            backup.size()
        );
        return Err(VolumeError::NotThisFormat { format: "header backup", reason });
    }
    read_bytes(backup, 0..backup.size()).map_err(VolumeError::io("reading the backup"))
}

fn bitlocker() -> VolumeError {
    VolumeError::Unsupported {
        what: "changing a BitLocker volume's keys or metadata".to_owned(),
        hint: Some("use `manage-bde` on Windows".to_owned()),
    }
}
