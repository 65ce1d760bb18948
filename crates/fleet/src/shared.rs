//! The directory that a fleet's machines share: each machine writes its own file, completely or not at all.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use cryptbench_os::{Directory, NewFile};
use cryptbench_record::{Node, Record};

use crate::{Failure, FleetError, file_stem};

/// A fleet's directory, held open.
#[derive(Debug)]
pub struct Shared {
    path: PathBuf,
    directory: Directory,
}

impl Shared {
    /// Opens the directory; creates it if it is missing.
    ///
    /// # Errors
    /// [`FleetError::Io`].
    pub fn open(path: &Path) -> Result<Self, FleetError> {
        let opened = fs::create_dir_all(path).and_then(|()| Directory::open(path));
        let directory = opened.map_err(FleetError::io("open", path))?;
        Ok(Self { path: path.to_owned(), directory })
    }

    /// The path of the record of `node`, whether or not it exists.
    pub fn record_of(&self, node: &Node) -> PathBuf {
        self.path.join(file_stem(node) + ".json")
    }

    /// Whether `node` has measured: it has an intact record of a completed run that contains a comparison.
    pub fn is_done(&self, node: &Node) -> bool {
        let compares = |record: &Record| {
            let plain = record.plan.arms.first().map(|arm| &arm.id);
            record.trials.iter().any(|t| t.block.is_some() && Some(&t.arm) != plain)
        };
        let there = cryptbench_record::read(&self.record_of(node));
        there.is_ok_and(|record| !record.partial && compares(&record))
    }

    /// Writes the record of `node`, replacing the record of an interrupted run, and removes the node's failure.
    ///
    /// # Errors
    /// [`FleetError::Io`].
    pub fn leave(&self, node: &Node, record: &str) -> Result<PathBuf, FleetError> {
        let path = self.record_of(node);
        self.write(&file_name(node, "json"), record).map_err(FleetError::io("write", &path))?;
        match self.directory.remove_file(&file_name(node, "failed.json")) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(FleetError::io("remove the failure beside", path)(error))
            }
            _ => Ok(path),
        }
    }

    /// Writes the reason why a machine has no record.
    ///
    /// # Errors
    /// [`FleetError::Io`].
    pub fn leave_failure(&self, failure: &Failure) -> Result<PathBuf, FleetError> {
        let name = file_name(&failure.node, "failed.json");
        let path = self.path.join(&name);
        let text = serde_json::to_string_pretty(failure).expect("a failure is plain data") + "\n";
        self.write(&name, &text).map_err(FleetError::io("write", &path))?;
        Ok(path)
    }

    /// The file is written under a temporary name in the same directory, synced, then renamed, so readers never see a
    /// partial file.
    fn write(&self, name: &OsString, text: &str) -> io::Result<()> {
        let mut new = NewFile::begin_in(self.directory.try_clone()?, name.clone(), 0o666)?;
        new.file().write_all(text.as_bytes())?;
        new.replace()
    }
}

fn file_name(node: &Node, extension: &str) -> OsString {
    format!("{}.{extension}", file_stem(node)).into()
}
