//! Errors that occur when a system is set up or removed.

use std::io;
use std::path::PathBuf;

use cryptbench_catalog::Remedy;
use cryptbench_text::names::Unknown;
use cryptbench_text::shown;

use crate::meant::UnknownSettings;

/// A property of systems that a user selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selected {
    /// The systems.
    System,
    /// Their ciphers.
    Cipher,
    /// Their data units.
    DataUnit,
    /// Their settings.
    Setting,
}

/// Why an operation on a system, a target or a leftover failed.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// No system has this name.
    #[error(transparent)]
    UnknownSystem(Unknown),
    /// No cipher has this name.
    #[error(transparent)]
    UnknownCipher(Unknown),
    /// No settings or values have these names.
    #[error("{0}")]
    UnknownSettings(UnknownSettings),
    /// The system cannot run here.
    #[error("{name} is not available here: {reason}; {remedy}")]
    Unavailable {
        /// The system.
        name: String,
        /// The reason.
        reason: String,
        /// The remedy.
        remedy: Remedy,
    },
    /// The selected systems do not support this cipher, data unit or setting.
    #[error("no chosen system offers {what}; {hint}")]
    NothingSelected {
        /// The selected property.
        of: Selected,
        /// The cipher, data unit or setting.
        what: String,
        /// The supported alternatives.
        hint: String,
    },
    /// The target does not support a scratch file.
    #[error("{}: {problem}", shown(path))]
    Target {
        /// The directory or file specified by the user.
        path: PathBuf,
        /// The problem and its remedy.
        problem: String,
    },
    /// An operating system call failed.
    #[error("cannot {act} {}", shown(path))]
    Io {
        /// The operation, as a verb.
        act: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A program of the system failed.
    #[error("{program}: {reason}")]
    Program {
        /// Its name.
        program: &'static str,
        /// Its reason.
        reason: String,
    },
    /// A resource cannot be removed because it is still in use.
    #[error("{} is in use; close the files open there and try again", shown(path))]
    Busy {
        /// The resource.
        path: PathBuf,
    },
    /// Stored data has disappeared or become shorter.
    #[error("{}: {problem}", shown(path))]
    Lost {
        /// Where it was expected.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// The run was stopped before everything was set up.
    #[error("interrupted")]
    Stopped,
    /// The storage of a system could not be filled before use.
    #[error("cannot fill the storage of a system")]
    Fill(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A container could not be opened.
    #[error(transparent)]
    Volume(#[from] cryptbench_volume::VolumeError),
    /// A volume could not be served.
    #[error(transparent)]
    Export(#[from] cryptbench_export::ExportError),
    /// A cipher could not be set up.
    #[error(transparent)]
    Cipher(#[from] cryptbench_cipher::CipherError),
}

impl SystemError {
    /// Adds the operation and the path to an error of the operating system.
    pub(crate) fn io(
        act: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { act, path, source }
    }
}
