//! What a self-encrypting drive (TCG Opal) reports about itself, in Linux's flags (linux/sed-opal.h).

use std::fmt;
use std::io;

const SUPPORTED: u32 = 1;
const CAN_LOCK: u32 = 2;
const IS_SET_UP: u32 = 4;
const IS_LOCKED: u32 = 8;

/// A drive that can be queried; tests use a model of one.
pub trait OpalDrive {
    /// The flags of `IOC_OPAL_GET_STATUS`.
    ///
    /// # Errors
    /// The operating system's error: `ENOTTY` for a drive without Opal or a kernel without support for it, `EACCES` for
    /// a user who is not root.
    fn status(&self) -> io::Result<u32>;
}

/// A self-encrypting drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelfEncrypting {
    /// Whether ownership was taken, so that a passphrase can lock the drive.
    pub is_set_up: bool,
    /// Whether a part of it is locked now.
    pub is_locked: bool,
    /// Whether it can be locked at all.
    pub can_lock: bool,
}

impl SelfEncrypting {
    /// Queries a drive; `None` if it is not of this kind or does not respond.
    pub fn ask(drive: &impl OpalDrive) -> Option<Self> {
        let flags = drive.status().ok()?;
        let has = |flag| flags & flag != 0;
        has(SUPPORTED).then(|| Self {
            is_set_up: has(IS_SET_UP),
            is_locked: has(IS_LOCKED),
            can_lock: has(CAN_LOCK),
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
        })
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
    }

    impl OpalDrive for Model {
        fn status(&self) -> io::Result<u32> {
            match (self.is_root, self.has_opal) {
                (false, _) => Err(io::ErrorKind::PermissionDenied.into()),
                (true, false) => Err(io::Error::from_raw_os_error(25)),
                (true, true) => Ok(SUPPORTED
                    | CAN_LOCK
                    | if self.is_owned { IS_SET_UP } else { 0 }
                    | if self.is_locked { IS_LOCKED } else { 0 }),
            }
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
        drive.is_root = false;
        assert_eq!(said(&drive), None, "nobody but root may ask");
    }
}
