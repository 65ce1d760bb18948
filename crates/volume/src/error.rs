//! The reasons why a volume cannot be created, opened or changed.

use std::io;

use thiserror::Error;

/// An error of this crate. The message states the fault; callers add the file name.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// The passphrase, key file or PIM is wrong. Formats that cannot distinguish this from "no such volume"
    /// report both with this error.
    #[error("no key fits: {0}")]
    NoKeyFits(String),
    /// The device holds no volume of the requested format.
    #[error("not a {format} volume: {reason}")]
    NotThisFormat {
        /// Name of the format.
        format: &'static str,
        /// The content that was found instead.
        reason: String,
    },
    /// The header violates its own format.
    #[error("damaged {format} header: {reason}")]
    Damaged {
        /// Name of the format.
        format: &'static str,
        /// The defect, and its location.
        reason: String,
    },
    /// The volume was recognised but is not supported.
    #[error("{what} is not supported{}", hint.as_deref().map(|h| format!("; {h}")).unwrap_or_default())]
    Unsupported {
        /// The content that was found.
        what: String,
        /// What the user can do instead.
        hint: Option<String>,
    },
    /// A volume or a part of it was recognised, but this program cannot open it.
    #[error("{what} cannot be opened: {why}; {with}")]
    CannotOpen {
        /// Its full name in the header.
        what: String,
        /// Why not.
        why: String,
        /// A program that opens it.
        with: String,
    },
    /// A write would destroy something else on the device. Nothing was written.
    #[error("it contains {holds}; nothing was written ({remedy})")]
    Occupied {
        /// The existing content.
        holds: String,
        /// What the user can do instead.
        remedy: &'static str,
    },
    /// The request is not valid for this format.
    #[error("{0}")]
    Invalid(String),
    /// The caller's stop flag was set.
    #[error("stopped")]
    Stopped,
    /// The cipher rejected its key or layout.
    #[error(transparent)]
    Cipher(#[from] cryptbench_cipher::CipherError),
    /// The key derivation rejected its cost.
    #[error(transparent)]
    Kdf(cryptbench_kdf::KdfError),
    /// The operating system returned no random numbers.
    #[error("the system did not provide random numbers for keys and salts")]
    Random(#[source] getrandom::Error),
    /// An I/O operation on the underlying device failed.
    #[error("{doing} failed")]
    Io {
        /// The operation, such as `reading the primary header`.
        doing: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
}

impl VolumeError {
    /// Wraps an I/O error together with the operation that failed, for `map_err`.
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
