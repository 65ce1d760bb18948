//! What a self-encrypting drive (TCG Opal) reports about itself, in Linux's flags (linux/sed-opal.h).

use std::fmt;
use std::io;

const SUPPORTED: u32 = 1;
const CAN_LOCK: u32 = 2;
const IS_SET_UP: u32 = 4;
const IS_LOCKED: u32 = 8;
const HAS_SHADOW: u32 = 16;
const SHADOW_IS_DONE: u32 = 32;

/// A LUKS2 volume whose data the drive encrypts, alone or below dm-crypt.
pub const LUKS2_OPAL: &str = "LUKS2 with OPAL";

/// A drive that can be queried; tests use a model of such a drive.
pub trait OpalDrive {
    /// The flags of `IOC_OPAL_GET_STATUS`.
    ///
    /// # Errors
    /// The operating system's error: `ENOTTY` for a drive without Opal or a kernel without support for it, `EACCES` for
    /// a user who is not root.
    fn status(&self) -> io::Result<u32>;

    /// The alignment of the drive's locking ranges in bytes (`IOC_OPAL_GET_GEOMETRY`); 0 if a range can start at any
    /// sector.
    ///
    /// # Errors
    /// The errors of [`Self::status`]; also `ENOTTY` for an older kernel.
    fn granularity(&self) -> io::Result<u64>;
}

/// A self-encrypting drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelfEncrypting {
    /// Whether ownership was taken, so that a passphrase can lock the drive.
    pub is_set_up: bool,
    /// Whether a part of the drive is locked now.
    pub is_locked: bool,
    /// Whether the drive supports locking.
    pub can_lock: bool,
    /// Whether a program for unlocking currently replaces the drive's first sectors.
    pub is_shadowed: bool,
    /// The alignment of a locking range in bytes, if alignment is required.
    pub granularity: Option<u64>,
}

impl SelfEncrypting {
    /// Queries a drive; `None` if the drive is not self-encrypting or does not respond.
    pub fn ask(drive: &impl OpalDrive) -> Option<Self> {
        let flags = drive.status().ok()?;
        let has = |flag| flags & flag != 0;
        has(SUPPORTED).then(|| Self {
            is_set_up: has(IS_SET_UP),
            is_locked: has(IS_LOCKED),
            can_lock: has(CAN_LOCK),
            is_shadowed: has(HAS_SHADOW) && !has(SHADOW_IS_DONE),
            granularity: drive.granularity().ok().filter(|bytes| *bytes > 0),
        })
    }
}

impl fmt::Display for SelfEncrypting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self { can_lock: false, .. } => "encrypts itself (OPAL) and cannot be locked",
            Self { is_locked: true, .. } => "encrypts itself (OPAL), a part is locked",
            Self { is_set_up: true, .. } => "encrypts itself (OPAL), locking is set up",
            _ => "encrypts itself (OPAL), but locking is not set up: anyone who has the drive can read it",
        })?;
        if self.is_shadowed {
            f.write_str(", its start shows a program for unlocking")?;
        }
        match self.granularity {
            Some(bytes) if self.can_lock => {
                write!(f, ", locking ranges are multiples of {} KiB", bytes.div_ceil(1024))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model of the drive and of the kernel's answers: what an owner does to it changes its flags.
    #[derive(Default)]
    struct Model {
        has_opal: bool,
        is_root: bool,
        is_owned: bool,
        is_locked: bool,
        has_shadow: bool,
        granularity: Option<u64>,
    }

    impl OpalDrive for Model {
        fn status(&self) -> io::Result<u32> {
            match (self.is_root, self.has_opal) {
                (false, _) => Err(io::ErrorKind::PermissionDenied.into()),
                (true, false) => Err(io::Error::from_raw_os_error(25)),
                (true, true) => Ok(SUPPORTED
                    | CAN_LOCK
                    | if self.is_owned { IS_SET_UP } else { 0 }
                    | if self.is_locked { IS_LOCKED } else { 0 }
                    | match (self.has_shadow, self.is_locked) {
                        (false, _) => 0,
                        (true, true) => HAS_SHADOW,
                        (true, false) => HAS_SHADOW | SHADOW_IS_DONE,
                    }),
            }
        }

        fn granularity(&self) -> io::Result<u64> {
            self.granularity.ok_or(io::Error::from_raw_os_error(25))
        }
    }

    #[test]
    fn a_drive_is_told_in_each_state_and_a_disk_without_opal_is_none() {
        let said = |drive: &Model| SelfEncrypting::ask(drive).map(|found| found.to_string());
        let mut drive = Model { is_root: true, ..Model::default() };
        assert_eq!(said(&drive), None, "ENOTTY");
        drive.has_opal = true;
        assert!(said(&drive).unwrap().contains("not set up"));
        drive.is_owned = true;
        assert!(said(&drive).unwrap().ends_with("locking is set up"));
        drive.is_locked = true;
        assert!(said(&drive).unwrap().ends_with("locked"));
        // `cryptsetup` sets up no program for unlocking; `sedutil-cli --loadpbaimage` does.
        drive.has_shadow = true;
        assert!(said(&drive).unwrap().ends_with("its start shows a program for unlocking"));
        drive.is_locked = false;
        drive.granularity = Some(0);
        assert!(said(&drive).unwrap().ends_with("locking is set up"), "any sector");
        drive.granularity = Some(1 << 20);
        assert_eq!(
            said(&drive).unwrap(),
            "encrypts itself (OPAL), locking is set up, locking ranges are multiples of 1024 KiB"
        );
        drive.is_root = false;
        assert_eq!(said(&drive), None, "nobody but root may ask");
    }
}
