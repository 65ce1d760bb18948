//! A function together with its cost: everything needed to derive a header key from a password and
//! a salt.

use crate::argon2::{Argon2Kind, Argon2Params, argon2};
use crate::effort::Effort;
use crate::error::KdfError;
use crate::registry::{Prf, others, prfs};

/// A function that derives header keys; chosen by the user who creates a volume.
#[derive(Debug, Clone, Copy)]
pub enum Function {
    /// PBKDF2 with a PRF from the registry.
    Pbkdf2(&'static Prf),
    /// Argon2id.
    Argon2id,
}

impl Function {
    /// Every function of VeraCrypt or TrueCrypt, in display order.
    pub fn all() -> impl Iterator<Item = Self> {
        prfs().iter().map(Self::Pbkdf2).chain([Self::Argon2id])
    }

    /// The function with this name. `name` is the name in the registry, in upper or lower case and with or without
    /// hyphens (`SHA512`), or a prefix of exactly one of the names of [`all`](Self::all) (`whirl`).
    ///
    /// # Errors
    /// [`KdfError::Unknown`], which lists the known names.
    pub fn find(name: &str) -> Result<Self, KdfError> {
        let bare = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
        let wanted = bare(name);
        let mut beginnings =
            Self::all().filter(|function| bare(function.name()).starts_with(&wanted));
        let every = || Self::all().chain(others().iter().map(Self::Pbkdf2));
        let exact = every().find(|function| bare(function.name()) == wanted);
        let only = || match (beginnings.next(), beginnings.next()) {
            (Some(function), None) => Some(function),
            _ => None,
        };
        exact.or_else(only).ok_or_else(|| KdfError::Unknown {
            name: name.to_owned(),
            known: every().map(Self::name).collect(),
        })
    }

    /// Name for users, such as `SHA-512` or `Argon2id`; PBKDF2's name is that of its hash.
    pub fn label(self) -> &'static str {
        match self {
            Self::Pbkdf2(prf) => prf.label,
            Self::Argon2id => "Argon2id",
        }
    }

    /// Name in lists and records: the PRF's name, or `argon2id`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pbkdf2(prf) => prf.name,
            Self::Argon2id => Argon2Kind::Id.as_str(),
        }
    }
}

/// A function with its cost.
#[derive(Debug, Clone, Copy)]
pub enum Derivation {
    /// PBKDF2.
    Pbkdf2 {
        /// Its PRF.
        prf: &'static Prf,
        /// Iterations, at least 1.
        iterations: u32,
    },
    /// Argon2.
    Argon2 {
        /// Its kind.
        kind: Argon2Kind,
        /// Its cost.
        params: Argon2Params,
    },
}

impl Derivation {
    /// Name in lists and records: the name of the PRF or of Argon2's variant.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pbkdf2 { prf, .. } => prf.name,
            Self::Argon2 { kind, .. } => kind.as_str(),
        }
    }

    /// Required memory in KiB; PBKDF2's memory is negligible and counts as 0.
    pub fn memory_kib(&self) -> u32 {
        match self {
            Self::Pbkdf2 { .. } => 0,
            Self::Argon2 { params, .. } => params.memory_kib,
        }
    }

    /// A measure that is proportional to the time: PBKDF2 iterations, or Argon2 KiB times passes.
    pub fn work(&self) -> u64 {
        match self {
            Self::Pbkdf2 { iterations, .. } => u64::from(*iterations),
            Self::Argon2 { params, .. } => u64::from(params.memory_kib) * u64::from(params.passes),
        }
    }

    /// Fills `out` with the key.
    ///
    /// # Errors
    /// As for [`Prf::pbkdf2`] and [`argon2()`].
    pub fn derive(
        &self,
        password: &[u8],
        salt: &[u8],
        out: &mut [u8],
        effort: Effort<'_>,
    ) -> Result<(), KdfError> {
        match *self {
            Self::Pbkdf2 { prf, iterations } => prf.pbkdf2(password, salt, iterations, out, effort),
            Self::Argon2 { kind, params } => argon2(kind, password, salt, params, out, effort),
        }
    }
}
