//! Past runs: the contents of the directory of runs.
#![expect(
    clippy::disallowed_methods,
    reason = "regular files of a run, looked at just before; for now"
)]

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use cryptbench_os::{Directory, FileType};
use cryptbench_record::{
    Arm, ArmRole, LOG, LONGEST_TITLE, Plan, Record, Results, StopReason, TITLE, TitleError,
    WorkloadStop, is_being_written, set_title, title,
};
use cryptbench_text::{chain, shown};
use serde::Serialize;

use crate::Choice;

/// Maximum length of the name of a run's directory.
const LONGEST_NAME: usize = 128;
/// Size in bytes of the largest file of a run that is read.
const LONGEST_FILE: u64 = 256 << 20;

const RECORD: &str = "record.json";

/// The files that a run and this page create in its directory; the record last, because a run without a record is
/// not listed.
const FILES: [&str; 4] = [TITLE, "report.html", LOG, RECORD];

/// The directory of runs, with cached summaries: each record is read once, not every time the list is shown.
pub(crate) struct Runs {
    directory: PathBuf,
    /// The names of a plan's choices.
    names: fn(&Plan) -> Vec<String>,
    known: Mutex<HashMap<String, Known>>,
}

/// Detects whether a record or its title has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub modified: SystemTime,
    pub len: u64,
    /// Detects whether the title, if any, has changed.
    pub titled: Option<(SystemTime, u64)>,
}

/// A run's summary, valid while its record has this stamp.
struct Known {
    stamp: Stamp,
    run: Run,
}

/// A run in the list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Run {
    /// Name of its directory.
    pub name: String,
    /// The user's title.
    pub title: Option<String>,
    /// The summary, if the record could be read.
    pub summary: Option<Summary>,
    /// Why the record could not be read.
    pub problem: Option<String>,
}

/// Why a run was not renamed or deleted.
#[derive(Debug)]
pub(crate) enum NotChanged {
    /// The run does not exist.
    Unknown,
    /// It is in progress.
    Running,
    /// The title is invalid; the text gives the reason.
    Unfit(String),
    /// The operating system refuses; the text is its message.
    Failed(String),
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    started: String,
    elapsed_s: f64,
    partial: bool,
    cancelled: bool,
    time_ran_out: bool,
    profile: String,
    workloads: usize,
    /// The choices apart from plain storage.
    arms: Vec<String>,
    /// The set that the program chose. Runs of different sets are compared by one choice at a time.
    set: Option<String>,
    /// All choices.
    choices: Vec<Choice>,
    directory: String,
    device: Option<String>,
    emulated: bool,
    /// The answer in a sentence or two; for an older record, its first sentence. Empty without results.
    headline: String,
}

impl Runs {
    pub(crate) fn new(directory: PathBuf, names: fn(&Plan) -> Vec<String>) -> Self {
        Self { directory, names, known: Mutex::default() }
    }

    /// The directory of the run `name`, if it exists. A name contains only letters, digits and `-_.`, so it cannot
    /// refer to another location.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        let directory = self.directory.join(name);
        (is_name(name) && file(&directory.join(RECORD)).is_some()).then_some(directory)
    }

    /// Gives the run `name` a title; an empty one removes it.
    pub(crate) fn rename(&self, name: &str, title: &str) -> Result<(), NotChanged> {
        let (_, run) = self.hold(name)?;
        set_title(&run, title).map_err(|error| match error {
            TitleError::Unfit => NotChanged::Unfit(format!(
                "A title must be one line of at most {LONGEST_TITLE} characters, without control characters."
            )),
            TitleError::Io(_) => NotChanged::Failed(format!("{}.", chain(&error))),
        })
    }

    /// Deletes the files that the run `name` created, and its directory. Returns the names of any other files in the
    /// directory; these files and the directory remain.
    pub(crate) fn delete(&self, name: &str) -> Result<Vec<String>, NotChanged> {
        let failed = |e: io::Error| NotChanged::Failed(format!("Cannot delete everything: {e}."));
        let (parent, run) = self.hold(name)?;
        for file in FILES {
            match run.remove_file(OsStr::new(file)) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(failed(e)),
                _ => {}
            }
        }
        match parent.remove_directory(OsStr::new(name)) {
            Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => {
                let names = run.names().map_err(failed)?;
                Ok(names.iter().map(|name| name.to_string_lossy().into_owned()).collect())
            }
            done => done.map(|()| Vec::new()).map_err(failed),
        }
    }

    /// The directory of runs and that of the run `name`. Both are held open, so that a link that replaces a directory
    /// does not redirect anything.
    fn hold(&self, name: &str) -> Result<(Directory, Directory), NotChanged> {
        if !is_name(name) {
            return Err(NotChanged::Unknown);
        }
        let parent = Directory::open(&self.directory).map_err(|_| NotChanged::Unknown)?;
        let run = parent.subdirectory(OsStr::new(name)).map_err(|_| NotChanged::Unknown)?;
        // Checked before the record, which a run has only at its end.
        if is_being_written(&run) {
            return Err(NotChanged::Running);
        }
        match run.entry(OsStr::new(RECORD)) {
            Ok(Some(entry)) if entry.kind == FileType::RegularFile => Ok((parent, run)),
            _ => Err(NotChanged::Unknown),
        }
    }

    /// All runs, newest first.
    pub(crate) fn list(&self) -> Vec<Run> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut runs: Vec<Run> = names
            .filter_map(|name| {
                let directory = self.find(&name)?;
                let stamp = stamp(&directory)?;
                Some(match known.get(&name) {
                    Some(k) if k.stamp == stamp => k.run.clone(),
                    _ => {
                        let run = read(&name, &directory, self.names);
                        known.insert(name, Known { stamp, run: run.clone() });
                        run
                    }
                })
            })
            .collect();
        known.retain(|name, _| runs.iter().any(|run| run.name == *name));
        let started = |run: &Run| run.summary.as_ref().map(|s| s.started.clone());
        runs.sort_by_key(|run| std::cmp::Reverse((started(run), run.name.clone())));
        runs
    }
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=LONGEST_NAME).contains(&name.len())
        && name.chars().all(fits)
        && !name.starts_with(['.', '-'])
}

/// Metadata of a run's file, if it exists. Ignores links, which would lead out of the run, and empty files,
/// which belong to a run that is still being saved.
fn file(path: &Path) -> Option<fs::Metadata> {
    fs::symlink_metadata(path).ok().filter(|found| found.is_file() && found.len() > 0)
}

/// The stamp of the record and the title in a run's directory.
pub(crate) fn stamp(directory: &Path) -> Option<Stamp> {
    let of = |name| {
        let found = file(&directory.join(name))?;
        Some((found.modified().ok()?, found.len()))
    };
    let (modified, len) = of(RECORD)?;
    Some(Stamp { modified, len, titled: of(TITLE) })
}

/// The contents of a run's file.
pub(crate) fn bytes(path: &Path) -> Option<Vec<u8>> {
    file(path).filter(|found| found.len() <= LONGEST_FILE)?;
    fs::read(path).ok()
}

fn read(name: &str, directory: &Path, names: fn(&Plan) -> Vec<String>) -> Run {
    let path = directory.join(RECORD);
    let found = match file(&path) {
        Some(found) if found.len() <= LONGEST_FILE => {
            cryptbench_record::read(&path).map_err(|e| chain(&e))
        }
        _ => Err(format!("{} is too long for this page.", shown(&path))),
    };
    let (summary, problem) = match found {
        Ok(record) => (Some(summary(&record, &names(&record.plan))), None),
        Err(problem) => (None, Some(problem)),
    };
    Run { name: name.to_owned(), title: title(directory), summary, problem }
}

/// The summary of a record whose choices have these names.
fn summary(record: &Record, names: &[String]) -> Summary {
    let device = record.target.device.as_ref();
    let is_plain = |arm: &Arm| matches!(arm.role, ArmRole::Plain | ArmRole::PlainAgain);
    let named = || record.plan.arms.iter().zip(names);
    let interrupted = |stop: &WorkloadStop| stop.reason == StopReason::Interrupted;
    Summary {
        started: record.started.clone(),
        elapsed_s: record.elapsed_s,
        partial: record.partial,
        time_ran_out: record.time_ran_out(),
        cancelled: record.stops.iter().any(interrupted),
        profile: record.plan.profile.clone(),
        workloads: record.plan.workloads.len(),
        arms: named().filter(|(arm, _)| !is_plain(arm)).map(|(_, name)| name.clone()).collect(),
        set: record.plan.arm_set().map(ToOwned::to_owned),
        choices: named()
            .map(|(arm, name)| Choice { name: arm.id.clone(), label: name.clone() })
            .collect(),
        directory: record.target.directory.clone(),
        device: device.map(|d| d.model.as_deref().unwrap_or(&d.name).trim().to_owned()),
        emulated: record.target.emulated.is_some(),
        headline: record.results.as_ref().map(headline).unwrap_or_default(),
    }
}

fn headline(results: &Results) -> String {
    match results.headline.is_empty() {
        true => results.sentences.first().cloned().unwrap_or_default(),
        false => results.headline.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(plan: &Plan) -> Vec<String> {
        plan.arms.iter().map(|arm| arm.label.clone()).collect()
    }

    #[test]
    fn only_names_of_runs_lead_somewhere() {
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path().join("runs");
        for place in ["runs/20260101-000000-abcdef", "runs/.hidden", "outside", "runs/empty"] {
            fs::create_dir_all(dir.path().join(place)).unwrap();
            if !place.ends_with("empty") {
                fs::write(dir.path().join(place).join(RECORD), "{}").unwrap();
            }
        }
        let runs = Runs::new(runs, labels);
        assert!(runs.find("20260101-000000-abcdef").is_some());
        let long = "a".repeat(200);
        for name in ["", ".", "..", "../outside", "empty", ".hidden", "-x", "a/b", "a\0b", &long] {
            assert_eq!(runs.find(name), None, "{name:?}");
        }
        // Directories without a valid record are listed with the reason, and do not hide others.
        let list = runs.list();
        assert_eq!(list.len(), 1);
        assert!(list[0].summary.is_none() && list[0].problem.is_some());
    }

    #[test]
    fn a_run_is_listed_with_its_headline_and_an_older_one_with_its_first_sentence() {
        let sentences = vec!["It costs 5 %.".to_owned(), "Noise is 1 %.".to_owned()];
        let older = Results { sentences, ..Results::default() };
        assert_eq!(headline(&older), "It costs 5 %.");
        let both = vec!["Large reads run at 95 %.".to_owned(), "That is the floor.".to_owned()];
        let newer = Results { headline: both, ..older };
        assert_eq!(headline(&newer), "Large reads run at 95 %. That is the floor.");
        assert_eq!(headline(&Results::default()), "");
    }

    #[test]
    fn a_run_is_renamed_and_deleted_with_its_own_files_alone() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("one");
        fs::create_dir_all(&run).unwrap();
        let runs = Runs::new(dir.path().to_owned(), labels);
        assert!(matches!(runs.rename("one", "x"), Err(NotChanged::Unknown)), "no record");
        for file in FILES {
            fs::write(run.join(file), "{}").unwrap();
        }
        fs::remove_file(run.join(TITLE)).unwrap();
        let before = stamp(&run);
        runs.rename("one", "my <b>run</b>").unwrap();
        assert_eq!(runs.list()[0].title.as_deref(), Some("my <b>run</b>"));
        assert_ne!(stamp(&run), before, "what was rendered has another title");
        assert_eq!(fs::read(run.join(RECORD)).unwrap(), b"{}");
        assert!(matches!(runs.rename("one", "a\nb"), Err(NotChanged::Unfit(_))));
        fs::write(run.join("notes.txt"), "mine").unwrap();
        assert_eq!(runs.delete("one").unwrap(), ["notes.txt"]);
        assert_eq!(fs::read_dir(&run).unwrap().count(), 1);
        assert!(runs.list().is_empty());
        fs::write(run.join(RECORD), "{}").unwrap();
        fs::remove_file(run.join("notes.txt")).unwrap();
        assert_eq!(runs.delete("one").unwrap(), [""; 0]);
        assert!(!run.exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn neither_a_run_in_progress_nor_what_a_link_leads_to_is_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let [all, outside] = ["runs", "outside"].map(|name| dir.path().join(name));
        for place in [all.join("busy"), outside.clone()] {
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join(RECORD), "{}").unwrap();
        }
        std::os::unix::fs::symlink(&outside, all.join("link")).unwrap();
        let runs = Runs::new(all.clone(), labels);
        let log = cryptbench_record::TrialLog::create(&Directory::open(&all.join("busy")).unwrap())
            .unwrap();
        assert!(matches!(runs.delete("busy"), Err(NotChanged::Running)));
        assert!(matches!(runs.rename("busy", "x"), Err(NotChanged::Running)));
        for name in ["link", "../outside", "..", ".", "", "gone", "busy/"] {
            assert!(matches!(runs.delete(name), Err(NotChanged::Unknown)), "{name:?}");
        }
        assert!(outside.join(RECORD).exists() && all.join("busy").join(RECORD).exists());
        drop(log);
        runs.delete("busy").unwrap();
        assert!(!all.join("busy").exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_run_that_is_being_saved_and_links_are_no_files_of_a_run() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("runs/one");
        fs::create_dir_all(&run).unwrap();
        let runs = Runs::new(dir.path().join("runs"), labels);
        let record = run.join(RECORD);
        // The name is first reserved by an empty file.
        fs::write(&record, "").unwrap();
        assert!(runs.list().is_empty() && runs.find("one").is_none() && stamp(&run).is_none());
        fs::write(&record, "{}").unwrap();
        assert_eq!(runs.list().len(), 1);
        assert_eq!(bytes(&record).unwrap(), b"{}");
        // Links of an unpacked archive, for example.
        let secret = dir.path().join("secret");
        fs::write(&secret, "{}").unwrap();
        fs::remove_file(&record).unwrap();
        std::os::unix::fs::symlink(&secret, &record).unwrap();
        assert_eq!((bytes(&record), stamp(&run)), (None, None));
        assert!(runs.find("one").is_none() && runs.list().is_empty());
    }
}
