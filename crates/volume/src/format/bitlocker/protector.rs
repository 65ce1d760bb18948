//! Protectors: each contains the volume master key, sealed for one credential.

use cryptbench_blockdev::LockedBytes;

use super::dataset::{entries, kind, role, text};
use super::guid::Guid;
use super::sealed::Sealed;
use crate::bytes::{array_at, u16_at, u64_at};

/// Size of a protector's header in bytes; its properties follow.
const HEADER: usize = 28;
/// Size in bytes of a stretched key's header: its number, flags and salt. The key's own properties follow.
const STRETCHED_HEADER: usize = 20;
/// Flag of a stretched key: derived by PBKDF2 instead of BitLocker's own hash chain.
const PBKDF2: u16 = 0x40;

/// The credential for a protector, as encoded in the high byte of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Opener {
    /// A key stored with the protector: the protection is suspended.
    ClearKey,
    /// A password.
    Password,
    /// A recovery password.
    RecoveryPassword,
    /// A startup key in a file.
    StartupKey,
    /// A credential that is not available on this machine, such as the TPM of another machine.
    Other,
}

/// The parts of protection types.
const PARTS: [(u16, &str); 6] = [
    (0x0100, "TPM"),
    (0x0200, "startup key"),
    (0x0400, "PIN"),
    (0x0800, "recovery password"),
    (0x1000, "certificate or smart card"),
    (0x2000, "password"),
];

/// A protector.
#[derive(Debug)]
pub(super) struct Protector {
    pub id: Guid,
    /// FILETIME of its last change.
    pub modified: u64,
    /// The protection type as it is stored.
    pub number: u16,
    pub opener: Opener,
    pub name: Option<String>,
    pub salt: Option<[u8; 16]>,
    /// The volume master key.
    pub master: Option<Sealed>,
    /// The clear key, if it has one.
    pub clear: Option<LockedBytes>,
    /// Why the protector cannot be used, if its contents are incomplete.
    pub problem: Option<String>,
}

impl Protector {
    /// The contents of an entry of kind [`kind::PROTECTOR`].
    ///
    /// # Errors
    /// A message if it is too short to contain its type.
    pub(super) fn parse(data: &[u8]) -> Result<Self, String> {
        let fields = (array_at(data, 0), u64_at(data, 16), u16_at(data, 26), data.get(HEADER..));
        let (Some(id), Some(modified), Some(number), Some(properties)) = fields else {
            return Err(format!("a protector is truncated: {} bytes", data.len()));
        };
        let opener = match number & 0xff00 {
            0 => Opener::ClearKey,
            0x0200 => Opener::StartupKey,
            0x0800 => Opener::RecoveryPassword,
            0x2000 => Opener::Password,
            _ => Opener::Other,
        };
        let mut protector = Self {
            id: Guid(id),
            modified,
            number,
            opener,
            name: None,
            salt: None,
            master: None,
            clear: None,
            problem: None,
        };
        protector.problem = protector.read(properties).err();
        Ok(protector)
    }

    fn read(&mut self, properties: &[u8]) -> Result<(), String> {
        for property in entries(properties)? {
            let data = property.data;
            match property.kind {
                kind::STRETCHED => {
                    if data.len() < STRETCHED_HEADER {
                        return Err("its salt is truncated".to_owned());
                    }
                    if u16_at(data, 2).is_some_and(|flags| flags & PBKDF2 != 0) {
                        return Err("it derives keys with PBKDF2".to_owned());
                    }
                    self.salt = array_at(data, 4);
                }
                // This protector's key seals the volume master key.
                kind::SEALED if property.role == role::PROPERTY && self.master.is_none() => {
                    self.master = Some(Sealed::parse(data).ok_or("its sealed key is truncated")?);
                }
                kind::KEY if self.opener == Opener::ClearKey => {
                    let key = data.get(4..).filter(|key| key.len() == 32);
                    let key = key.ok_or("its clear key is not 32 bytes long")?;
                    self.clear = Some(LockedBytes::copy_of(key));
                }
                kind::TEXT => self.name = self.name.take().or_else(|| Some(text(data))),
                _ => {}
            }
        }
        let lacks =
            |there: bool, what: &str| if there { Ok(()) } else { Err(format!("it has no {what}")) };
        match self.opener {
            Opener::Other => return Ok(()),
            Opener::ClearKey => lacks(self.clear.is_some(), "clear key")?,
            Opener::Password | Opener::RecoveryPassword => lacks(self.salt.is_some(), "salt")?,
            Opener::StartupKey => {}
        }
        lacks(self.master.is_some(), "sealed volume master key")
    }

    /// The credential, in words.
    pub(super) fn describe(&self) -> String {
        let parts = PARTS.iter().filter(|(bit, _)| self.number & bit != 0);
        let parts: Vec<&str> = parts.map(|(_, name)| *name).collect();
        match parts.as_slice() {
            [] if self.opener == Opener::ClearKey => "clear key".to_owned(),
            [] => format!("protector of type {:#06x}", self.number),
            parts => parts.join(" and "),
        }
    }
}
