//! Where a run's record is stored: in a directory without a record or, if that fails at the end, in another
//! location, because the results of several hours must not be lost.

pub mod keeper;

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::bail;
use cryptbench_answer::Report;
use cryptbench_fleet::Shared;
use cryptbench_os::user::{self, Asker};
use cryptbench_os::{Directory, NewFile, Writers, dirs, renamed_by};
use cryptbench_record::{Event, LOG, Node, TrialLog};
use cryptbench_runner::RunError;
use cryptbench_system::provision::data_directory;
use keeper::Keeper;
use serde::{Deserialize, Serialize};

use crate::last;

/// The files of a run.
pub const RECORD: &str = "record.json";
const PAGE: &str = "report.html";

/// Maximum size in bytes of a page that is read to find out whose it is.
const LARGEST: u64 = 64 << 20;

/// The destination of the record, which is checked to be writable before anything is measured.
pub enum Output {
    /// This process writes it.
    Own(Files),
    /// The record is written by a process with the privileges of the user who ran sudo.
    Kept(RefCell<Keeper>),
    /// Only the record is written, to a fleet's directory; there is no page or log.
    Fleet(Shared, Node),
}

/// The files of a finished run.
#[derive(Clone, Serialize, Deserialize)]
pub struct Whole {
    /// The name of the run.
    id: String,
    /// Whether it was interrupted.
    partial: bool,
    /// The files, as text.
    record: String,
    page: String,
}

impl Whole {
    pub fn of(report: &Report<'_>) -> Self {
        Self {
            id: report.record.run_id.clone(),
            partial: report.record.partial,
            record: cryptbench_record::to_json(&report.document()),
            page: cryptbench_view::html::page(report),
        }
    }
}

/// The open log of a run.
pub enum RunLog<'a> {
    Own(TrialLog),
    Kept(&'a RefCell<Keeper>),
    /// A fleet's runs are restarted from the beginning instead of being resumed.
    None,
}

impl RunLog<'_> {
    /// Adds an event.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        match self {
            Self::Own(log) => log.append(event),
            Self::Kept(keeper) => keeper.borrow_mut().append(event),
            Self::None => Ok(()),
        }
    }
}

impl Output {
    /// Checks the requested directory, or chooses one.
    pub fn prepare(asked: Option<&Path>) -> anyhow::Result<Self> {
        match user::asker() {
            Some(asker) if !asked.is_some_and(|path| is_roots_own(path, &asker)) => {
                Ok(Self::Kept(RefCell::new(Keeper::prepare(&asker, asked)?)))
            }
            _ => Files::prepare(asked).map(Self::Own),
        }
    }

    /// The directory of a run that is resumed.
    pub fn resume(directory: &Path) -> anyhow::Result<Self> {
        match user::asker() {
            Some(asker) if !is_roots_own(directory, &asker) => {
                Ok(Self::Kept(RefCell::new(Keeper::resume(&asker, directory)?)))
            }
            _ => Files::resume(directory).map(Self::Own),
        }
    }

    /// The log of the run `run`: a new log, or the resumed run's log.
    pub fn log(&self, run: &str) -> io::Result<RunLog<'_>> {
        match self {
            Self::Own(files) => files.log(run).map(RunLog::Own),
            Self::Kept(keeper) => {
                keeper.borrow_mut().log(run)?;
                Ok(RunLog::Kept(keeper))
            }
            Self::Fleet(..) => Ok(RunLog::None),
        }
    }

    /// Writes the record and the page. Files that have appeared in the directory since [`prepare`](Self::prepare)
    /// are not replaced: the record is then written to the user's data directory, as after any other failure.
    pub fn save(&self, run: &Whole) -> Saved {
        match self {
            Self::Own(files) => files.save(run),
            Self::Kept(keeper) => keeper.borrow_mut().save(run),
            Self::Fleet(shared, node) => match shared.leave(node, &run.record) {
                Ok(path) => Saved::In(path),
                Err(error) => elsewhere(run, error.into()),
            },
        }
    }

    /// The identity of this machine in its fleet.
    pub fn node(&self) -> Option<&Node> {
        match self {
            Self::Fleet(_, node) => Some(node),
            _ => None,
        }
    }
}

/// Whether only root can control the file at `path`, which need not exist yet. If so, root writes its files itself.
fn is_roots_own(path: &Path, asker: &Asker) -> bool {
    let Ok(path) = std::path::absolute(path) else { return false };
    let Some(there) = path.ancestors().find(|way| fs::symlink_metadata(way).is_ok()) else {
        return false;
    };
    // Links are not followed, because they may have been created by another user.
    let is_real = there.canonicalize().is_ok_and(|real| real == there);
    let is_closed = matches!(renamed_by(there, 0, Writers::Owner), Ok(None));
    let is_shared = Directory::open(there).and_then(|held| held.owner_and_mode());
    let is_shared = !is_shared.is_ok_and(|(owner, mode)| owner != asker.user && mode & 0o022 == 0);
    is_real && is_closed && !is_shared
}

/// The directory that contains the runs of this user or, under sudo, of the user who ran sudo.
pub fn runs_directory() -> Option<PathBuf> {
    match user::asker() {
        Some(asker) => keeper::runs_of(&asker),
        None => Some(data_directory()?.join("runs")),
    }
}

/// The directory to which this process writes the record and the page.
pub struct Files {
    parent: Place,
    /// Whether the run gets a separate directory in `parent`.
    own_directory: bool,
    /// Whether the directory belongs to a resumed run, whose files are replaced.
    resumed: bool,
}

/// The result of saving a record.
pub enum Saved {
    /// The record was saved in the chosen directory.
    In(PathBuf),
    /// The record was saved in a different location, for this reason.
    Elsewhere(PathBuf, anyhow::Error),
    /// The record was not saved, for this reason.
    Nowhere(anyhow::Error),
}

impl Files {
    /// Checks the requested directory `asked`, or chooses one.
    pub fn prepare(asked: Option<&Path>) -> anyhow::Result<Self> {
        let Some(asked) = asked else {
            let Some(data) = data_directory() else {
                bail!(unfit(
                    Path::new("record"),
                    "no data directory is writable; specify a directory with --output"
                ));
            };
            let parent = Place::open(&data.join("runs"))?;
            return Ok(Self { parent, own_directory: true, resumed: false });
        };
        let place = Place::open(asked)?;
        for name in [RECORD, PAGE, LOG] {
            place.refuse_taken(name)?;
        }
        if !dirs::may_write(&place.directory.reached()) {
            bail!(unfit(asked, "is not writable; specify another directory with --output"));
        }
        Ok(Self { parent: place, own_directory: false, resumed: false })
    }

    /// The directory of a resumed run.
    pub fn resume(directory: &Path) -> anyhow::Result<Self> {
        if !directory.is_dir() {
            bail!(unfit(directory, "is not the directory of a run"));
        }
        Ok(Self { parent: Place::open(directory)?, own_directory: false, resumed: true })
    }

    /// The log of the run `run`: a new log, or the existing log that the run continues.
    pub fn log(&self, run: &str) -> io::Result<TrialLog> {
        if self.resumed {
            return TrialLog::resume(&self.parent.directory);
        }
        match self.own_directory {
            true => TrialLog::create(&self.parent.below(run).map_err(io::Error::other)?.directory),
            false => {
                last::remember(run, &self.parent.path);
                TrialLog::create(&self.parent.directory)
            }
        }
    }

    /// Removes the log of a run whose record has been saved. An interrupted run keeps its log, so that it can be
    /// resumed.
    fn end_log(&self, run: &Whole) {
        if run.partial {
            return;
        }
        let directory = match self.own_directory {
            true => self.parent.below(&run.id).map(|place| place.directory),
            false => self.parent.directory.try_clone().map_err(Into::into),
        };
        // If the log remains, it contains nothing that is not in the record.
        let _ = directory.map(|directory| directory.remove_file(OsStr::new(LOG)));
    }

    /// Writes the record and the page. Files that other users have created in the directory since
    /// [`prepare`](Self::prepare) are not replaced: the record is then written to the user's data directory, as after
    /// any other failure.
    pub fn save(&self, run: &Whole) -> Saved {
        let done = match self.own_directory {
            true => self.parent.below(&run.id).and_then(|place| place.write(run, false)),
            false => self.parent.write(run, self.resumed),
        };
        let error = match done {
            Ok(directory) => {
                self.end_log(run);
                if !self.own_directory {
                    last::remember(&run.id, &directory);
                }
                return Saved::In(directory);
            }
            Err(error) => error,
        };
        let saved = elsewhere(run, error);
        if let Saved::Elsewhere(..) = saved {
            self.end_log(run);
        }
        saved
    }
}

/// Writes the record and the page to another location that this user can write to, because writing to the requested
/// directory failed with `error`.
fn elsewhere(run: &Whole, error: anyhow::Error) -> Saved {
    let others: [fn(&str) -> anyhow::Result<Place>; 2] = [in_data_directory, in_temporary];
    for other in others {
        if let Ok(directory) = other(&run.id).and_then(|place| place.write(run, false)) {
            last::remember(&run.id, &directory);
            return Saved::Elsewhere(directory, error);
        }
    }
    Saved::Nowhere(error)
}

fn in_data_directory(run: &str) -> anyhow::Result<Place> {
    let data = data_directory().ok_or_else(|| unfit(Path::new("record"), "no data directory"))?;
    Place::open(&data.join("runs"))?.below(run)
}

/// Creates a new directory, because every user can write to its parent.
fn in_temporary(run: &str) -> anyhow::Result<Place> {
    let parent = std::env::temp_dir();
    let name = format!("cryptbench-{run}");
    let path = parent.join(&name);
    let made = Directory::open(&parent).and_then(|p| p.create_subdirectory(OsStr::new(&name)));
    let directory = made.map_err(|e| unfit(&path, &e.to_string()))?;
    Ok(Place { path, directory })
}

/// A directory that stays open from the check until the files are written, so that nothing is written to another
/// directory that gets the same name. Other users may be able to write to the directory, so links in it are not
/// followed.
struct Place {
    path: PathBuf,
    directory: Directory,
}

impl Place {
    /// The directory `path`, created if it is missing.
    fn open(path: &Path) -> anyhow::Result<Self> {
        let directory = fs::create_dir_all(path).and_then(|()| Directory::open(path));
        let directory = directory.map_err(|e| unfit(path, &e.to_string()))?;
        Ok(Self { path: path.to_owned(), directory })
    }

    /// A subdirectory, created if it is missing.
    fn below(&self, name: &str) -> anyhow::Result<Self> {
        let path = self.path.join(name);
        let name = OsStr::new(name);
        let directory = match self.directory.create_subdirectory(name) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => self.directory.subdirectory(name),
            made => made,
        };
        Ok(Self { directory: directory.map_err(|e| unfit(&path, &e.to_string()))?, path })
    }

    fn refuse_taken(&self, name: &str) -> anyhow::Result<()> {
        match self.directory.entry(OsStr::new(name)) {
            Ok(None) => Ok(()),
            Ok(Some(_)) => bail!(self.taken(name)),
            Err(e) => bail!(unfit(&self.path.join(name), &e.to_string())),
        }
    }

    /// Writes both files and returns their directory. Replaces existing files only if the run owns them (`own`), and a
    /// page that `cryptbench report` wrote during the run.
    fn write(&self, run: &Whole, own: bool) -> anyhow::Result<PathBuf> {
        let files = [(RECORD, &run.record), (PAGE, &run.page)];
        // Both files are complete before either gets its final name.
        let mut whole = Vec::new();
        for (name, text) in &files {
            let own = own || (*name == PAGE && self.has_page_of(&run.id));
            if !own {
                self.refuse_taken(name)?;
            }
            let new = self.new_file(name, text.as_bytes());
            let new = new.map_err(|e| unfit(&self.path.join(name), &e.to_string()))?;
            whole.push((*name, new, own));
        }
        for (name, file, own) in whole {
            let named = if own { file.replace() } else { file.appear() };
            named.map_err(|e| match e.kind() {
                ErrorKind::AlreadyExists => self.taken(name),
                _ => unfit(&self.path.join(name), &e.to_string()),
            })?;
        }
        Ok(self.path_now())
    }

    /// Whether the page in the directory is of the run `id`, which its last lines name.
    fn has_page_of(&self, id: &str) -> bool {
        let Ok(file) = self.directory.open_file(OsStr::new(PAGE)) else { return false };
        let (mut page, named) = (Vec::new(), cryptbench_view::html::run_named(id));
        file.take(LARGEST).read_to_end(&mut page).is_ok()
            && page.windows(named.len()).any(|part| part == named.as_bytes())
    }

    fn new_file(&self, name: &str, bytes: &[u8]) -> io::Result<NewFile> {
        let mut new = NewFile::begin_in(self.directory.try_clone()?, name.into(), 0o666)?;
        new.file().write_all(bytes)?;
        Ok(new)
    }

    /// The path that the user specified, unless the directory was moved in the meantime.
    fn path_now(&self) -> PathBuf {
        let named = Directory::open(&self.path).and_then(|directory| directory.identity());
        match (named, self.directory.identity()) {
            (Ok(named), Ok(ours)) if named == ours => self.path.clone(),
            _ => self.directory.path().unwrap_or_else(|_| self.path.clone()),
        }
    }

    fn taken(&self, name: &str) -> RunError {
        let problem = format!("already contains a {name}; specify another directory with --output");
        unfit(&self.path, &problem)
    }
}

fn unfit(path: &Path, problem: &str) -> RunError {
    RunError::Target { path: path.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Whole {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/readme.json");
        let record = cryptbench_record::read(&fixture).unwrap();
        Whole::of(&cryptbench_answer::Labelled::of(&record).report())
    }

    #[test]
    fn what_is_there_already_is_refused_before_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let asked = dir.path().join("out");
        let output = Files::prepare(Some(&asked)).unwrap();
        fs::write(asked.join(PAGE), "mine").unwrap();
        let Err(error) = Files::prepare(Some(&asked)) else { panic!("taken") };
        // Including one that appeared in between, and the record's name stays free.
        let later = output.parent.write(&run(), false).unwrap_err();
        let said = format!("{error}\n{later}").replace(&dir.path().display().to_string(), "DIR");
        insta::assert_snapshot!(said, @"
            DIR/out: already contains a report.html; specify another directory with --output
            DIR/out: already contains a report.html; specify another directory with --output
            ");
        assert_eq!(fs::read(asked.join(PAGE)).unwrap(), b"mine");
        assert_eq!(fs::read_dir(&asked).unwrap().count(), 1);
    }

    #[test]
    fn a_page_that_was_reported_during_the_run_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let output = Files::prepare(Some(dir.path())).unwrap();
        let run = run();
        let page = dir.path().join(PAGE);
        let of_other = run.page.replace(&run.id, "20240229-120000-1a2b");
        fs::write(&page, &of_other).unwrap();
        assert!(output.parent.write(&run, false).is_err(), "the page of another run");
        assert_eq!(fs::read_to_string(&page).unwrap(), of_other);
        fs::write(&page, format!("{}<!-- partial -->", run.page)).unwrap();
        let Saved::In(place) = output.save(&run) else { panic!("not saved") };
        assert_eq!(place, dir.path());
        assert!(dir.path().join(RECORD).is_file());
        assert_eq!(fs::read_to_string(&page).unwrap(), run.page);
    }

    #[test]
    fn a_directory_that_takes_the_place_of_the_checked_one_is_not_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let [asked, moved, theirs] = ["out", "moved", "theirs"].map(|name| dir.path().join(name));
        let output = Files::prepare(Some(&asked)).unwrap();
        fs::create_dir(&theirs).unwrap();
        fs::rename(&asked, &moved).unwrap();
        std::os::unix::fs::symlink(&theirs, &asked).unwrap();
        let Saved::In(place) = output.save(&run()) else { panic!("not saved") };
        assert_eq!(place, moved.canonicalize().unwrap());
        assert!(moved.join(RECORD).is_file() && moved.join(PAGE).is_file());
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
    }
}
