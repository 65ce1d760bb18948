//! What can go wrong while a system is set up or taken down.

use std::io;
use std::path::PathBuf;

/// Why a system, a target or a left-over could not be handled.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// No system of that name.
    #[error("there is no system {name:?}; registered are: {known}")]
    UnknownSystem {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The system cannot run here.
    #[error("{name} is not available here: {reason}; {remedy}")]
    Unavailable {
        /// The system.
        name: String,
        /// Why.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// The chosen systems have no such cipher or data unit.
    #[error("no chosen system offers {what}; {hint}")]
    NothingSelected {
        /// The cipher or data unit.
        what: String,
        /// What is offered.
        hint: String,
    },
    /// The target cannot carry a scratch file.
    #[error("{path}: {problem}")]
    Target {
        /// The directory or file that the user named.
        path: PathBuf,
        /// What is wrong and what to do.
        problem: String,
    },
    /// The operating system refused an act.
    #[error("cannot {act} {path}")]
    Io {
        /// What was tried, as a verb.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program of the system failed.
    #[error("{program}: {reason}")]
    Program {
        /// Its name.
        program: &'static str,
        /// What it said.
        reason: String,
    },
    /// Something that is to be taken down is still in use.
    #[error("{path} is in use; close what is open there and try again")]
    Busy {
        /// What.
        path: PathBuf,
    },
    /// What was stored before is not there any more, or is less.
    #[error("{path}: {problem}")]
    Lost {
        /// Where it should be.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The run was to end before all was set up.
    #[error("interrupted")]
    Stopped,
    /// What a system made of its own could not be filled.
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
    /// Wraps an error of the operating system with what was tried and on what.
    pub(crate) fn io(
        act: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { act, path, source }
    }
}
