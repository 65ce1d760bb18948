//! Where the record of a run goes: a directory that holds none yet, and another place if that fails at the end, since
//! a run that took hours is not lost for want of a file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::bail;
use cryptbench_record::Record;
use cryptbench_runner::RunError;
use cryptbench_system::provision::data_directory;

/// The files of a run.
const RECORD: &str = "record.json";
const PAGE: &str = "report.html";

/// Where the record goes; known to be writable before anything is measured.
pub struct Output {
    parent: PathBuf,
    /// The run gets a directory of its own in `parent`.
    own_directory: bool,
}

/// What became of a record.
pub enum Saved {
    /// It is where it was to be.
    In(PathBuf),
    /// It is somewhere else, for this reason.
    Elsewhere(PathBuf, anyhow::Error),
    /// It is nowhere, for this reason.
    Nowhere(anyhow::Error),
}

impl Output {
    /// Checks the directory `asked`, or chooses one.
    pub fn prepare(asked: Option<&Path>) -> anyhow::Result<Self> {
        let Some(asked) = asked else {
            let Some(data) = data_directory() else {
                bail!(unfit(
                    Path::new("record"),
                    "no data directory can be written; name one with --output"
                ));
            };
            let parent = data.join("runs");
            fs::create_dir_all(&parent).map_err(|e| unfit(&parent, &e.to_string()))?;
            return Ok(Self { parent, own_directory: true });
        };
        fs::create_dir_all(asked).map_err(|e| unfit(asked, &e.to_string()))?;
        for name in [RECORD, PAGE] {
            if asked.join(name).exists() {
                bail!(taken(asked, name));
            }
        }
        if rustix::fs::access(asked, rustix::fs::Access::WRITE_OK).is_err() {
            bail!(unfit(asked, "cannot be written; name another directory with --output"));
        }
        Ok(Self { parent: asked.to_owned(), own_directory: false })
    }

    /// Writes record and page. What somebody put there since [`prepare`](Self::prepare) is kept, and the record goes
    /// to the user's data directory instead, as it does after any other failure.
    pub fn save(&self, record: &Record) -> Saved {
        let directory = match self.own_directory {
            true => self.parent.join(&record.run_id),
            false => self.parent.clone(),
        };
        let error = match write(&directory, record) {
            Ok(()) => return Saved::In(directory),
            Err(error) => error,
        };
        let others = data_directory().into_iter().chain([std::env::temp_dir().join("cryptbench")]);
        for other in others.map(|data| data.join("runs").join(&record.run_id)) {
            if other != directory && write(&other, record).is_ok() {
                return Saved::Elsewhere(other, error);
            }
        }
        Saved::Nowhere(error)
    }
}

/// Writes both files into `directory`, over nothing.
fn write(directory: &Path, record: &Record) -> anyhow::Result<()> {
    fs::create_dir_all(directory).map_err(|e| unfit(directory, &e.to_string()))?;
    let file = Name::take(directory, RECORD)?;
    let page = Name::take(directory, PAGE)?;
    cryptbench_record::write(record, &file.path)?;
    file.keep();
    crate::report::write_page(record, &page.path)?;
    page.keep();
    Ok(())
}

/// The name of a file, taken by an empty one, which only one of several processes can do. Dropped, it is free again:
/// an empty file may not pass for a record.
struct Name {
    path: PathBuf,
    kept: bool,
}

impl Name {
    fn take(directory: &Path, name: &str) -> anyhow::Result<Self> {
        let path = directory.join(name);
        File::create_new(&path).map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => taken(directory, name),
            _ => unfit(&path, &e.to_string()),
        })?;
        Ok(Self { path, kept: false })
    }

    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn taken(directory: &Path, name: &str) -> RunError {
    let problem = format!("holds a {name} already; name another directory with --output");
    unfit(directory, &problem)
}

fn unfit(path: &Path, problem: &str) -> RunError {
    RunError::Target { path: path.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_already_is_refused_before_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let asked = dir.path().join("out");
        assert!(Output::prepare(Some(&asked)).is_ok());
        fs::write(asked.join(PAGE), "mine").unwrap();
        let Err(error) = Output::prepare(Some(&asked)) else { panic!("taken") };
        assert!(error.to_string().contains("report.html already"), "{error}");
        // One that came in between, too, and the other name is given back.
        let first = Name::take(&asked, RECORD).unwrap();
        assert!(Name::take(&asked, RECORD).is_err());
        assert!(Name::take(&asked, PAGE).is_err());
        drop(first);
        assert!(!asked.join(RECORD).exists());
        assert_eq!(fs::read(asked.join(PAGE)).unwrap(), b"mine");
    }
}
