//! Why a volume cannot be created, opened or changed.

use std::io;

use thiserror::Error;

/// An error of this crate. Messages say what is wrong; callers add which file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// Wrong passphrase, key file or PIM; where a format cannot tell that from "no such volume", both.
    #[error("no key fits: {0}")]
    NoKeyFits(String),
    /// Not a volume of the format that was asked for.
    #[error("not a {format} volume: {reason}")]
    NotThisFormat {
        /// Name of the format.
        format: &'static str,
        /// What was found instead.
        reason: String,
    },
    /// A header that its own format forbids.
    #[error("damaged {format} header: {reason}")]
    Damaged {
        /// Name of the format.
        format: &'static str,
        /// What is wrong, with where.
        reason: String,
    },
    /// Recognised, but not supported.
    #[error("{what} is not supported{}", hint.as_deref().map(|h| format!("; {h}")).unwrap_or_default())]
    Unsupported {
        /// What was found.
        what: String,
        /// What the user can do.
        hint: Option<String>,
    },
    /// A request that makes no sense for this format.
    #[error("{0}")]
    Invalid(String),
    /// The caller's stop flag was set.
    #[error("stopped")]
    Stopped,
    /// A cipher refused its key or layout.
    #[error(transparent)]
    Cipher(#[from] cryptbench_cipher::CipherError),
    /// A key derivation refused its cost.
    #[error(transparent)]
    Kdf(cryptbench_kdf::KdfError),
    /// The system gave no random numbers.
    #[error("the system gives no random numbers for keys and salts")]
    Random(#[source] getrandom::Error),
    /// The device below.
    #[error("{doing} failed")]
    Io {
        /// What was being done, such as `reading the primary header`.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl VolumeError {
    /// Adds to an I/O error what was being done, for `map_err`.
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}

impl From<getrandom::Error> for VolumeError {
    fn from(error: getrandom::Error) -> Self {
        Self::Random(error)
    }
}

impl From<cryptbench_kdf::KdfError> for VolumeError {
    fn from(error: cryptbench_kdf::KdfError) -> Self {
        match error {
            cryptbench_kdf::KdfError::Stopped => Self::Stopped,
            other => Self::Kdf(other),
        }
    }
}
