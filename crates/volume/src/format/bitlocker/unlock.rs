//! Unlocks the data key with credentials: first a protector, then the volume master key.

use cryptbench_blockdev::LockedBytes;
use cryptbench_cipher::Tier;
use cryptbench_kdf::{BITLOCKER_ITERATIONS, Effort, bitlocker};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

use super::damaged;
use super::metadata::{Integrity, Metadata, Version};
use super::method::Method;
use super::protector::{Opener, Protector};
use super::recovery::RecoveryPassword;
use super::startup::StartupKey;
use crate::{Credentials, VolumeError};

/// Maximum number of protectors for which a password is stretched; each takes a third of a second. Windows creates two.
const MOST_STRETCHED: usize = 32;

/// The key of the data.
pub(super) struct Unlocked {
    pub method: Method,
    /// The cipher's key.
    pub key: LockedBytes,
    /// The credential that opened it.
    pub opened_with: String,
    /// Warning for the user about that credential.
    pub warning: Option<&'static str>,
}

/// Warning if the clear key opened the volume because the credentials match no protector.
const SUSPENDED: &str = "the credentials match no protector; the volume was opened with the clear key in its \
                         metadata, because its protection is suspended: anyone can open it";

/// Opens a protector and uses it to unlock the full volume encryption key. The protector is opened with
/// `credentials` or, if the protection is suspended, with the clear key.
///
/// # Errors
/// [`VolumeError::NoKeyFits`]; [`VolumeError::Damaged`] if the metadata changed since it was sealed;
/// [`VolumeError::Invalid`] for credentials that BitLocker does not support; [`VolumeError::Stopped`].
pub(super) fn unlock(
    metadata: &Metadata,
    credentials: &Credentials,
    tier: Tier,
    effort: Effort<'_>,
) -> Result<Unlocked, VolumeError> {
    let given = Given::new(credentials)?;
    let mut attempt = Attempt { metadata, tier, effort, stretched: 0, master: None };
    let mut opened = attempt.with(&given)?;
    let mut warning = None;
    if opened.is_none() {
        opened = attempt.with_clear_key()?;
        warning = given.anything().then_some(SUSPENDED);
    }
    let (Some(opened_with), Some(master)) = (opened, attempt.master) else {
        return Err(VolumeError::NoKeyFits(reason(metadata, &given)));
    };
    check_integrity(metadata, &master, tier)?;
    let sealed = metadata
        .data_key
        .as_ref()
        .ok_or_else(|| damaged("the full volume encryption key is missing"))?;
    let key = sealed.open(&master, tier)?;
    let key = key.ok_or_else(|| {
        damaged("the volume master key does not decrypt the full volume encryption key")
    })?;
    let method = Method::of_number(key.number).ok_or_else(|| unknown(key.number))?;
    if key.bytes.len() != method.stored_bytes() {
        return Err(damaged(format!("a {}-byte key for {method}", key.bytes.len())));
    }
    Ok(Unlocked { method, key: method.key_of_stored(&key.bytes), opened_with, warning })
}

/// An error for an unknown cipher.
pub(super) fn unknown(number: u16) -> VolumeError {
    VolumeError::Unsupported {
        what: format!("BitLocker with the encryption method {number:#06x}"),
        hint: Some("Windows can open it".to_owned()),
    }
}

/// Checks that the metadata has not changed since it was sealed.
fn check_integrity(metadata: &Metadata, master: &[u8], tier: Tier) -> Result<(), VolumeError> {
    let stored = match (&metadata.integrity, metadata.version) {
        (Integrity::Sealed(sealed), _) => sealed.open(master, tier)?.map(|key| key.bytes),
        // Without a sealed digest, the parts that the key does not protect may have been modified unnoticed.
        (_, Version::Seven) => return Err(damaged("the metadata has no sealed digest")),
        (_, Version::Vista) => return Ok(()),
    };
    match stored {
        Some(digest) if *digest == metadata.digest => Ok(()),
        _ => Err(damaged("the metadata was changed without the key")),
    }
}

/// The user's credentials, in the form that protectors use.
struct Given {
    password: Option<Zeroizing<[u8; 32]>>,
    recovery: Option<RecoveryPassword>,
    startup: Option<StartupKey>,
}

impl Given {
    fn new(credentials: &Credentials) -> Result<Self, VolumeError> {
        let invalid = |reason: &str| Err(VolumeError::Invalid(reason.to_owned()));
        if credentials.pim.is_some_and(|pim| pim != 0) {
            return invalid("BitLocker has no PIM");
        }
        if !credentials.keyfiles.is_empty() {
            return invalid(
                "BitLocker does not use key files; for a startup key use --startup-key",
            );
        }
        let passphrase = credentials.passphrase.bytes();
        let recovery = match &credentials.recovery_password {
            Some(typed) => Some(RecoveryPassword::parse(typed.bytes())?),
            // Windows asks for a password and a recovery password in the same prompt, so users may type either here.
            None => RecoveryPassword::parse(passphrase).ok(),
        };
        let password = match std::str::from_utf8(passphrase) {
            Ok("") => None,
            Ok(password) => Some(password_hash(password)),
            Err(_) => return invalid("a BitLocker password must be UTF-8 text"),
        };
        let startup = credentials.startup_key.as_ref();
        let startup = startup.map(|file| StartupKey::parse(file.bytes())).transpose()?;
        Ok(Self { password, recovery, startup })
    }
}

impl Given {
    fn anything(&self) -> bool {
        self.password.is_some() || self.recovery.is_some() || self.startup.is_some()
    }
}

/// The hash of a password, from which keys are stretched: SHA-256 applied twice to the password in UTF-16.
pub(super) fn password_hash(password: &str) -> Zeroizing<[u8; 32]> {
    let utf16 =
        Zeroizing::new(password.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    let once = hash(&utf16);
    hash(&*once)
}

/// The hash of a recovery password: SHA-256 of its bytes.
pub(super) fn recovery_hash(password: &RecoveryPassword) -> Zeroizing<[u8; 32]> {
    hash(password.bytes())
}

fn hash(bytes: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut digest = Sha256::digest(bytes);
    let mut hash = Zeroizing::new([0; 32]);
    hash.copy_from_slice(&digest);
    digest.as_mut_slice().zeroize();
    hash
}

/// The search for a protector that the credentials open.
struct Attempt<'a> {
    metadata: &'a Metadata,
    tier: Tier,
    effort: Effort<'a>,
    /// Number of protectors for which a password was stretched.
    stretched: usize,
    master: Option<LockedBytes>,
}

impl<'a> Attempt<'a> {
    /// Tries the user's credentials, the cheapest first, and reports which one opened the volume.
    fn with(&mut self, given: &Given) -> Result<Option<String>, VolumeError> {
        if let Some(startup) = &given.startup {
            for protector in self.of(Opener::StartupKey) {
                if protector.id == startup.id && self.open(protector, &startup.key)? {
                    return Ok(Some(format!("startup key {}", protector.id)));
                }
            }
        }
        let recovery = given.recovery.as_ref().map(recovery_hash);
        for (opener, hash) in
            [(Opener::RecoveryPassword, &recovery), (Opener::Password, &given.password)]
        {
            let Some(hash) = hash else { continue };
            for protector in self.of(opener) {
                if self.stretched == MOST_STRETCHED {
                    break;
                }
                self.stretched += 1;
                let Some(salt) = &protector.salt else { continue };
                let key = bitlocker(hash, salt, self.effort)?;
                if self.open(protector, &*key)? {
                    let what = protector.describe();
                    return Ok(Some(format!("{what}, {BITLOCKER_ITERATIONS} times SHA-256")));
                }
            }
        }
        Ok(None)
    }

    fn with_clear_key(&mut self) -> Result<Option<String>, VolumeError> {
        for protector in self.of(Opener::ClearKey) {
            let Some(key) = &protector.clear else { continue };
            if self.open(protector, key)? {
                return Ok(Some("the clear key in the metadata".to_owned()));
            }
        }
        Ok(None)
    }

    /// The usable protectors of one kind.
    fn of(&self, opener: Opener) -> Vec<&'a Protector> {
        let fits =
            |protector: &&Protector| protector.opener == opener && protector.problem.is_none();
        self.metadata.protectors.iter().filter(fits).collect()
    }

    /// Whether `key` opens the protector; keeps the master key if so.
    fn open(&mut self, protector: &Protector, key: &[u8]) -> Result<bool, VolumeError> {
        let Some(master) = &protector.master else { return Ok(false) };
        let Some(opened) = master.open(key, self.tier)? else { return Ok(false) };
        if opened.bytes.len() != 32 {
            return Err(damaged(format!(
                "the volume master key has an invalid length: {} bytes",
                opened.bytes.len()
            )));
        }
        self.master = Some(opened.bytes);
        Ok(true)
    }
}

/// Why no protector opened: the given credentials, and those that the volume accepts.
fn reason(metadata: &Metadata, given: &Given) -> String {
    let has: Vec<String> = metadata
        .protectors
        .iter()
        .map(|protector| match &protector.problem {
            Some(problem) => format!("{} (unusable: {problem})", protector.describe()),
            None => protector.describe(),
        })
        .collect();
    let has = if has.is_empty() { "nothing".to_owned() } else { has.join(", ") };
    let mut tried = Vec::new();
    for (there, what) in [
        (given.startup.is_some(), "startup key"),
        (given.recovery.is_some(), "recovery password"),
        (given.password.is_some(), "password"),
    ] {
        if there {
            tried.push(what);
        }
    }
    let tried = if tried.is_empty() { "no credentials".to_owned() } else { tried.join(", ") };
    format!("tried: {tried}; the volume is protected by: {has}")
}

#[cfg(test)]
mod tests {
    use cryptbench_blockdev::MemoryDevice;

    use super::super::guid::Guid;
    use super::super::metadata;
    use super::super::sealed::{Key, Sealed};
    use super::*;
    use crate::Secret;
    use crate::format::bitlocker::{CreateOptions, create};

    #[test]
    fn a_clear_key_beside_a_password_that_fits_nothing_is_told() {
        let tier = cryptbench_cipher::tier().unwrap();
        let effort = Effort::new(cryptbench_kdf::tier().unwrap(), 2);
        let typed = |text: &str| Credentials {
            passphrase: Secret::new(text.into()),
            ..Credentials::default()
        };
        let device = MemoryDevice::new(vec![0; 16 << 20]);
        create(&device, &typed("the password"), &CreateOptions::new(tier, effort)).unwrap();
        let (_, boot) = metadata::boot(&device).unwrap();
        let mut metadata = metadata::read(&device, &boot).unwrap();
        let warning = |metadata: &Metadata, credentials: &Credentials| {
            unlock(metadata, credentials, tier, effort).map(|unlocked| unlocked.warning)
        };
        assert!(warning(&metadata, &typed("another one")).is_err());
        // As Windows does to suspend the protection: the volume master key is sealed with a clear key.
        let mut attempt = Attempt { metadata: &metadata, tier, effort, stretched: 0, master: None };
        attempt.with(&Given::new(&typed("the password")).unwrap()).unwrap().unwrap();
        let (master, clear) = (attempt.master.unwrap(), LockedBytes::copy_of(&[7; 32]));
        let key = Key { number: 0x2003, bytes: master };
        metadata.protectors.push(Protector {
            id: Guid([1; 16]),
            modified: 0,
            number: 0,
            opener: Opener::ClearKey,
            name: None,
            salt: None,
            master: Some(Sealed::seal(&key, [3; 12], &clear, tier).unwrap()),
            clear: Some(clear),
            problem: None,
        });
        assert_eq!(warning(&metadata, &typed("another one")).unwrap(), Some(SUSPENDED));
        assert_eq!(warning(&metadata, &typed("the password")).unwrap(), None);
        assert_eq!(warning(&metadata, &Credentials::default()).unwrap(), None);
    }
}
