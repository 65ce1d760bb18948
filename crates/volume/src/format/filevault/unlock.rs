//! Unlocks the data key with credentials: first a user's key encryption key, then the volume key.

use cryptbench_blockdev::{BlockDevice, LockedBytes};
use cryptbench_cipher::Tier;
use cryptbench_kdf::{Derivation, Effort};
use sha2::{Digest, Sha256};
use zeroize::Zeroize as _;

use super::context::{Context, Opener, Sealed, User};
use super::group::Group;
use super::header::Header;
use super::uuid::Uuid;
use super::wrap::unwrap;
use super::{KEY, damaged, info, wipekey};
use crate::format::luks::{Budget, Limits};
use crate::{Credentials, VolumeError};

/// The PRF of every key here.
const PRF: &str = "sha-256";

/// Number of groups in a recovery password, and number of characters in each group.
const GROUPS: usize = 6;
const GROUP: usize = 4;

/// The key of the data.
pub(super) struct Unlocked {
    /// The keys for the data and for the tweaks.
    pub key: LockedBytes,
    /// The credential that opened it.
    pub opened_with: String,
    /// Only the decrypted data shows whether the key is right.
    pub unproved: bool,
}

/// The derivation parameters of each password in the metadata, and the lengths of the derived keys in bytes;
/// `None` if the metadata cannot be read.
pub fn derivations(device: &dyn BlockDevice) -> Option<Vec<(Derivation, usize)>> {
    let group = Group::read(device, info::tier()).ok()?;
    let prf = cryptbench_kdf::find(PRF).ok()?;
    let users = group.volume.family.context.map(|context| context.users).unwrap_or_default();
    let sealed = users.into_iter().filter_map(|user| user.sealed.ok());
    let derivation = |key: Sealed| Derivation::Pbkdf2 { prf, iterations: key.iterations };
    Some(sealed.map(|key| (derivation(key), KEY)).collect())
}

/// Converts a user's input to a recovery password in the form that macOS shows. The input may be in upper or
/// lower case, with or without hyphens or spaces between groups.
fn recovery_password(typed: &[u8]) -> Option<LockedBytes> {
    let mut text = LockedBytes::zeroed(GROUPS * (GROUP + 1) - 1);
    text.fill(b'-');
    let mut count = 0;
    for byte in typed.trim_ascii() {
        match byte {
            b'-' | b' ' if count % GROUP == 0 => {}
            byte if byte.is_ascii_alphanumeric() && count < GROUPS * GROUP => {
                text[count + count / GROUP] = byte.to_ascii_uppercase();
                count += 1;
            }
            _ => return None,
        }
    }
    (count == GROUPS * GROUP).then_some(text)
}

/// Whether this has the form of a recovery password.
pub fn is_recovery_password(typed: &[u8]) -> bool {
    recovery_password(typed).is_some()
}

/// The kind of a key file.
pub(super) enum KeyFile {
    None,
    /// The data key, with or without the tweak key.
    Key(LockedBytes),
    /// The keys of a Mac's system volume; a password opens them.
    Context(Context),
}

impl KeyFile {
    /// Identifies the kind of the only key file.
    pub(super) fn of(
        credentials: &Credentials,
        header: &Header,
        tier: Tier,
    ) -> Result<Self, VolumeError> {
        match credentials.keyfiles.as_slice() {
            [] => Ok(Self::None),
            [file] => match file.bytes() {
                key if key.len() == KEY || key.len() == 2 * KEY => {
                    Ok(Self::Key(LockedBytes::copy_of(key)))
                }
                bytes => wipekey::context(bytes, header, tier).map(Self::Context),
            },
            _ => Err(VolumeError::Invalid("FileVault uses exactly one key file".to_owned())),
        }
    }
}

/// Refuses options that FileVault does not support.
pub(super) fn check(credentials: &Credentials) -> Result<(), VolumeError> {
    let invalid = |reason: &str| Err(VolumeError::Invalid(reason.to_owned()));
    if credentials.pim.is_some_and(|pim| pim != 0) {
        return invalid("FileVault has no PIM");
    }
    if credentials.startup_key.is_some() {
        return invalid("FileVault has no startup keys");
    }
    Ok(())
}

/// The data key from a volume key: 16 bytes, or 32 with the tweak key.
///
/// # Errors
/// [`VolumeError::NoKeyFits`] if the key belongs to another volume.
pub(super) fn with_key(key: &[u8], family: Uuid) -> Result<Unlocked, VolumeError> {
    let (master, tweak) = key.split_at(KEY);
    let whole = with_tweak_key(master, family);
    if !tweak.is_empty() && whole[KEY..] != *tweak {
        let why = "the second half of the volume key does not match the first half and this volume";
        return Err(VolumeError::NoKeyFits(why.to_owned()));
    }
    let opened_with = "volume key".to_owned();
    Ok(Unlocked { key: whole, opened_with, unproved: tweak.is_empty() })
}

/// The volume key with the tweak key, which is derived from it and from the family.
fn with_tweak_key(master: &[u8], family: Uuid) -> LockedBytes {
    let mut digest = Sha256::new_with_prefix(master).chain_update(family.0).finalize();
    let mut key = LockedBytes::zeroed(2 * KEY);
    key[..KEY].copy_from_slice(master);
    key[KEY..].copy_from_slice(&digest[..KEY]);
    digest.as_mut_slice().zeroize();
    key
}

/// Unlocks a user's key with the password or recovery password, and the volume key with that key.
///
/// # Errors
/// [`VolumeError::NoKeyFits`]; [`VolumeError::Damaged`] if a key opens but contains no volume key;
/// [`VolumeError::Unsupported`] if the derivations cost too much; [`VolumeError::Invalid`];
/// [`VolumeError::Stopped`].
pub(super) fn with_password(
    context: &Context,
    family: Uuid,
    credentials: &Credentials,
    tier: Tier,
    effort: Effort<'_>,
) -> Result<Unlocked, VolumeError> {
    let prf = cryptbench_kdf::find(PRF)?;
    let budget = Budget::new(Limits::default());
    for (user, sealed, password) in attempts(context, credentials)? {
        budget.spend(&Derivation::Pbkdf2 { prf, iterations: sealed.iterations }, KEY)?;
        let mut derived = LockedBytes::zeroed(KEY);
        prf.pbkdf2(&password, &sealed.salt, sealed.iterations, &mut derived, effort)?;
        let Some(kek) = unwrap(&derived, &sealed.wrapped, tier)? else { continue };
        for wrapped in &context.keys {
            if let Some(master) = unwrap(&kek, wrapped, tier)? {
                let key = with_tweak_key(&master, family);
                let what = user.describe();
                let opened_with = format!("{what}, pbkdf2 {PRF}, {} iterations", sealed.iterations);
                return Ok(Unlocked { key, opened_with, unproved: false });
            }
        }
        return Err(damaged(format!(
            "the key of the {} does not decrypt a volume key",
            user.describe()
        )));
    }
    Err(VolumeError::NoKeyFits(reason(context)))
}

/// Pairs of a user and a password to try, pairs of matching kinds first.
fn attempts<'a>(
    context: &'a Context,
    credentials: &Credentials,
) -> Result<Vec<(&'a User, &'a Sealed, LockedBytes)>, VolumeError> {
    let typed = credentials.passphrase.bytes();
    let recovery = match &credentials.recovery_password {
        Some(text) => Some(recovery_password(text.bytes()).ok_or_else(|| {
            let what = "a FileVault recovery password has six groups of four letters and digits";
            VolumeError::Invalid(what.to_owned())
        })?),
        // macOS asks for a password and a recovery password in the same prompt, so users may type either here.
        None => recovery_password(typed),
    };
    let mut all = Vec::new();
    for user in &context.users {
        let Ok(sealed) = &user.sealed else { continue };
        let is_recovery = user.opener == Opener::RecoveryPassword;
        if !typed.is_empty() {
            all.push((is_recovery, user, sealed, LockedBytes::copy_of(typed)));
        }
        if let Some(text) = recovery.as_ref().filter(|text| ***text != *typed) {
            all.push((!is_recovery, user, sealed, LockedBytes::copy_of(text)));
        }
    }
    all.sort_by_key(|(later, ..)| *later);
    Ok(all.into_iter().map(|(_, user, sealed, password)| (user, sealed, password)).collect())
}

/// Why nothing opened: the credentials that the volume accepts.
fn reason(context: &Context) -> String {
    let all: Vec<String> = context
        .users
        .iter()
        .map(|user| match &user.sealed {
            Err(why) if user.opener != Opener::Other => {
                format!("{} (unusable: {why})", user.describe())
            }
            _ => user.describe(),
        })
        .collect();
    let all = if all.is_empty() { "nothing".to_owned() } else { all.join(", ") };
    format!("the volume is protected by: {all}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_passwords_are_read_as_people_write_them() {
        let shown = b"35AJ-AC98-TI1H-N4M3-HDUQ-UQFG";
        for typed in [
            &shown[..],
            b" 35aj-ac98-ti1h-n4m3-hduq-uqfg\n",
            b"35AJAC98TI1HN4M3HDUQUQFG",
            b"35AJ AC98 TI1H N4M3 HDUQ UQFG",
        ] {
            assert_eq!(&*recovery_password(typed).unwrap(), shown);
        }
        for typed in
            [&b"35AJ-AC98"[..], b"35A-JAC98TI1HN4M3HDUQUQFG", b"", &[shown, &b"X"[..]].concat()]
        {
            assert!(!is_recovery_password(typed));
        }
    }
}
