//! Opens volumes of any format.

use std::sync::Arc;

use cryptbench_blockdev::BlockDevice;
use cryptbench_cipher::Tier;
use cryptbench_kdf::Effort;

use crate::detect::{Kind, detect, unpacked_by};
use crate::format::tcrypt::Product;
use crate::{Access, Credentials, Volume, VolumeError, format};

/// How to open a volume. The defaults detect everything that can be detected.
#[derive(Clone, Copy)]
pub struct OpenOptions<'a> {
    /// Name of the format; `None` detects it.
    pub format: Option<&'a str>,
    /// Read-only, or read and write.
    pub access: Access,
    /// VeraCrypt, TrueCrypt: the hidden volume.
    pub hidden: bool,
    /// VeraCrypt, TrueCrypt: the backup headers at the end. LUKS2: the secondary header.
    pub backup_header: bool,
    /// LUKS: only this keyslot, whatever its priority; `None` tries all without priority `ignore`.
    pub keyslot: Option<u32>,
    /// VeraCrypt, TrueCrypt: only this PRF (or `argon2id`); `None` tries all PRFs.
    pub prf: Option<&'a str>,
    /// VeraCrypt, TrueCrypt: the system-encryption layout.
    pub system: bool,
    /// VeraCrypt, TrueCrypt: credentials of the hidden volume that writes must not touch.
    pub protect_hidden: Option<&'a Credentials>,
    /// Instruction sets of the data cipher.
    pub tier: Tier,
    /// Instruction sets, threads and stop flag of key derivations.
    pub effort: Effort<'a>,
}

impl<'a> OpenOptions<'a> {
    /// Read-only, any format, everything else at its default.
    pub fn new(tier: Tier, effort: Effort<'a>) -> Self {
        Self {
            format: None,
            access: Access::ReadOnly,
            hidden: false,
            backup_header: false,
            keyslot: None,
            prf: None,
            system: false,
            protect_hidden: None,
            tier,
            effort,
        }
    }
}

impl OpenOptions<'_> {
    /// Refuses options that this format does not support, because they apply only to VeraCrypt and TrueCrypt,
    /// or only to LUKS.
    pub(crate) fn refuse_choices(&self, format: &str) -> Result<(), VolumeError> {
        let lacks = if self.hidden || self.protect_hidden.is_some() {
            "hidden volumes"
        } else if self.system || self.prf.is_some() || self.backup_header {
            "choice of PRF, layout or header"
        } else {
            return Ok(());
        };
        Err(VolumeError::Invalid(format!("{format} has no {lacks}")))
    }
}

/// Opens a volume of one format.
pub(crate) type Open =
    fn(Arc<dyn BlockDevice>, &Credentials, &OpenOptions<'_>) -> Result<Volume, VolumeError>;

/// The formats by name. `tcrypt` means TrueCrypt or VeraCrypt, and `luks` LUKS1 or LUKS2.
static FORMATS: &[(&str, Open)] = &[
    (Product::VeraCrypt.format(), format::tcrypt::open),
    (Product::TrueCrypt.format(), format::tcrypt::open),
    ("tcrypt", format::tcrypt::open),
    ("luks1", format::luks::open),
    ("luks2", format::luks::open),
    ("luks", format::luks::open),
    ("bitlocker", format::bitlocker::open),
    (format::filevault::FORMAT, format::filevault::open),
    ("freeotfe", format::freeotfe::open),
];

/// The names that [`OpenOptions::format`] accepts.
pub fn formats() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|(name, _)| *name)
}

/// Opens the volume on `device`.
///
/// If no format is given, it is detected. VeraCrypt and TrueCrypt volumes look random, so the function tries to open
/// any unrecognised contents as one of them. It also tries an apparent file system if an option is specific to these
/// formats, because a quick format leaves their backup headers intact.
///
/// # Errors
/// Any [`VolumeError`]; the device is unchanged.
pub fn open(
    device: Arc<dyn BlockDevice>,
    credentials: &Credentials,
    options: &OpenOptions<'_>,
) -> Result<Volume, VolumeError> {
    let name = match options.format {
        Some(name) => name,
        None => detected(&*device, options)?,
    };
    let open = find(name)?;
    if options.keyslot.is_some() && !name.starts_with("luks") {
        return Err(VolumeError::Invalid("only LUKS has keyslots".to_owned()));
    }
    open(device, credentials, options)
}

/// The format called `name`.
pub(crate) fn find(name: &str) -> Result<Open, VolumeError> {
    let found = FORMATS.iter().find(|(known, _)| *known == name);
    found.map(|(_, open)| *open).ok_or_else(|| {
        let known: Vec<_> = formats().collect();
        VolumeError::Invalid(format!("unknown volume format {name:?}; known: {}", known.join(", ")))
    })
}

/// The format to try.
fn detected(
    device: &dyn BlockDevice,
    options: &OpenOptions<'_>,
) -> Result<&'static str, VolumeError> {
    let kind = detect(device)?.kind;
    let only_tcrypt = options.hidden || options.system || options.backup_header;
    match kind {
        Kind::Luks { .. } => Ok("luks"),
        Kind::BitLocker { .. } => Ok("bitlocker"),
        Kind::FileVault => Ok(format::filevault::FORMAT),
        _ if only_tcrypt => Ok("tcrypt"),
        kind => match kind.obstacle() {
            Some(obstacle) => Err(obstacle),
            None if kind.is_plain() => Err(VolumeError::NotThisFormat {
                format: "known",
                reason: format!("{kind}; specify the format to try it anyway"),
            }),
            None => Ok("tcrypt"),
        },
    }
}

impl Kind {
    /// Why contents of this kind cannot be opened here, if that depends only on the kind: the error is
    /// [`VolumeError::CannotOpen`].
    pub fn obstacle(&self) -> Option<VolumeError> {
        let (what, why, with) = match self {
            Self::EcryptfsFile => (
                self.to_string(),
                "the volume is the whole directory",
                "specify the directory: cryptbench volume dump DIRECTORY OUTPUT".to_owned(),
            ),
            Self::AppleEncrypted { .. } => (
                self.to_string(),
                "this program does not support the format",
                "on a Mac, `hdiutil attach` opens it, and `hdiutil convert IMAGE -format UDTO -o DISK` writes it unencrypted"
                    .to_owned(),
            ),
            Self::FileSystem { name } => {
                let command = unpacked_by(name)?;
                // The article depends on the pronunciation, as in "an xz file".
                let article = if name.starts_with(['x', 'A', 'E', 'l']) { "an" } else { "a" };
                (
                    format!("{article} {name}"),
                    "it contains a compressed or converted disk image",
                    format!("convert it first: {command}"),
                )
            }
            Self::PartitionTable { name } => (
                format!("a disk with a partition table ({name})"),
                "the volume is in one of its partitions",
                "specify the partition: --partition N, or --offset BYTES".to_owned(),
            ),
            _ => return None,
        };
        Some(VolumeError::CannotOpen { what, why: why.to_owned(), with })
    }
}

#[cfg(test)]
mod tests {
    use cryptbench_blockdev::MemoryDevice;

    use super::*;

    fn options() -> OpenOptions<'static> {
        let effort = Effort::new(cryptbench_kdf::tier().unwrap(), 1);
        OpenOptions::new(cryptbench_cipher::tier().unwrap(), effort)
    }

    fn refusal(options: &OpenOptions<'_>) -> VolumeError {
        let passphrase = crate::Secret::new(b"p".to_vec());
        let credentials = Credentials { passphrase, pim: Some(1), ..Credentials::default() };
        let zeros = Arc::new(MemoryDevice::new(vec![0; 512 << 10]));
        open(zeros, &credentials, options).unwrap_err()
    }

    #[test]
    fn what_is_not_encrypted_is_tried_only_on_request() {
        let error = refusal(&options());
        assert!(matches!(error, VolumeError::NotThisFormat { .. }), "{error}");
        let sha512 = OpenOptions { prf: Some("sha-512"), ..options() };
        for request in [
            OpenOptions { format: Some("veracrypt"), ..sha512 },
            OpenOptions { backup_header: true, ..sha512 },
        ] {
            let error = refusal(&request);
            assert!(matches!(error, VolumeError::NoKeyFits(_)), "{error}");
        }
    }

    #[test]
    fn an_unknown_format_lists_the_known_ones() {
        let error = refusal(&OpenOptions { format: Some("zip"), ..options() }).to_string();
        assert!(formats().all(|name| error.contains(name)), "{error}");
    }
}
