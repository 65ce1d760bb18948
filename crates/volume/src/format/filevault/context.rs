//! The encryption context: the users who can open a family of logical volumes, and the wrapped keys.

use super::plist::Plist;
use super::wrap::WRAPPED;
use crate::bytes::{array_at, u32_at};

/// Maximum number of users and keys that are examined; macOS writes one for each user of the Mac.
const MOST: usize = 256;

/// The kind of credential with which a user opens a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opener {
    /// A password, either of the volume or of a user of the Mac.
    Password,
    /// The recovery password that macOS shows once.
    RecoveryPassword,
    /// A credential that is not available on this machine, such as a key in iCloud.
    Other,
}

/// A key that is sealed under a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sealed {
    pub salt: [u8; 16],
    pub iterations: u32,
    pub wrapped: [u8; WRAPPED],
}

/// A user.
#[derive(Debug)]
pub(super) struct User {
    pub id: Option<String>,
    pub name: Option<String>,
    pub hint: Option<String>,
    pub opener: Opener,
    /// The key that unlocks the volume key, or why it cannot be used.
    pub sealed: Result<Sealed, String>,
}

impl User {
    /// The credential, in words.
    pub(super) fn describe(&self) -> String {
        let what = match self.opener {
            Opener::Password => "password",
            Opener::RecoveryPassword => "recovery password",
            Opener::Other => return "a key that is not a password".to_owned(),
        };
        match &self.name {
            Some(name) => format!("{what} of {name:?}"),
            None => what.to_owned(),
        }
    }
}

/// The content of the property list.
#[derive(Debug)]
pub(super) struct Context {
    pub users: Vec<User>,
    /// The volume keys, wrapped.
    pub keys: Vec<[u8; WRAPPED]>,
    /// The progress of encryption.
    pub conversion: Option<String>,
}

impl Context {
    pub(super) fn of(plist: &Plist) -> Self {
        let all = |name: &str| plist.get(name).into_iter().flat_map(Plist::items).take(MOST);
        let key = |key: &Plist| {
            let encrypts = key.get("BlockAlgorithm")?.text() == Some("AES-XTS");
            let bytes = key.get("KEKWrappedVolumeKeyStruct")?.bytes().filter(|_| encrypts)?;
            wrapped(&bytes, 0, 2)
        };
        let conversion = plist.get("ConversionInfo");
        Self {
            users: all("CryptoUsers").map(user).collect(),
            keys: all("WrappedVolumeKeys").filter_map(key).collect(),
            conversion: conversion.and_then(|info| info.text_of("ConversionStatus")),
        }
    }
}

/// Reads a wrapped key, which follows its type and length.
fn wrapped(bytes: &[u8], at: usize, kind: u32) -> Option<[u8; WRAPPED]> {
    let (found, len) = (u32_at(bytes, at)?, u32_at(bytes, at + 4)?);
    let fits = kind == found && len == WRAPPED as u32;
    array_at(bytes, at + 8).filter(|_| fits)
}

/// The last byte of a user's type for the recovery password (verified with property lists from macOS 10.10 and 10.13).
const RECOVERY: u64 = 5;

fn user(plist: &Plist) -> User {
    let sealed = plist.get("PassphraseWrappedKEKStruct").and_then(Plist::bytes);
    let kind = plist.get("UserType").and_then(Plist::number).unwrap_or(0);
    let opener = match &sealed {
        None => Opener::Other,
        Some(_) if kind & 0xff == RECOVERY => Opener::RecoveryPassword,
        Some(_) => Opener::Password,
    };
    let none = || Err("cryptbench does not support this kind of user".to_owned());
    User {
        id: plist.text_of("UserIdent"),
        name: plist.text_of("UserFullName"),
        hint: plist.text_of("PassphraseHint"),
        opener,
        sealed: sealed.map_or_else(none, |bytes| parse(&bytes)),
    }
}

/// Parses the structure with the key that is sealed under a password.
fn parse(bytes: &[u8]) -> Result<Sealed, String> {
    let cut = || format!("its sealed key is truncated: {} bytes", bytes.len());
    if (u32_at(bytes, 0), u32_at(bytes, 4)) != (Some(3), Some(16)) {
        return Err("the type of its salt is unknown".to_owned());
    }
    let iterations = u32_at(bytes, 168).ok_or_else(cut)?;
    if iterations == 0 {
        return Err("its key derivation has 0 iterations".to_owned());
    }
    Ok(Sealed {
        salt: array_at(bytes, 8).ok_or_else(cut)?,
        iterations,
        wrapped: wrapped(bytes, 24, 16).ok_or("the type of its key is unknown")?,
    })
}
