//! Walks a lower directory, and counts, lists or decrypts its contents.
//!
//! This process does not interpret the contents of files or names; it checks only the length and the form of names.
//! Both directories are held open, and names are single path components, so none of them leads elsewhere. Links are
//! not followed.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};
use cryptbench_os::files::{name_of_bytes, take_after};
use cryptbench_os::{Directory, Entry, FileType};
use cryptbench_text::shown;
use cryptbench_volume::VolumeError;

use super::info::Found;
use super::message::{Ask, Facts, Reply, reason};
use crate::exit::Refusal;
use crate::say;
use crate::volume::confined::Answers;

/// The name of a file until it is complete.
const UNFINISHED: &str = ".cryptbench.unfinished";

/// Maximum depth of nested directories. Two directories are held open at each level, and most users may have 1024
/// files open.
const MOST_DEPTH: usize = 400;

/// Maximum number of entries that cannot be opened with any key before the first entry that can.
const MOST_REFUSED: usize = 100;

/// The action to take for the entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Count them, without a key.
    Info,
    /// Search for the first entry that a key opens.
    Probe,
    /// Print names and sizes.
    List,
    /// Write everything into a directory; existing files are an error.
    Write,
    /// Like `Write`, but existing files are kept.
    GoOn,
}

/// One pass through a directory.
pub struct Walk<'a> {
    answers: &'a mut Answers,
    doing: Doing,
    stop: &'a AtomicBool,
    pub found: Found,
    /// Number of entries that could not be copied with all their properties.
    pub problems: u64,
    /// Whether anything was opened.
    pub has_opened: bool,
    /// Why some entries could not be opened during the search for the first entry that can be.
    pub refused: Vec<String>,
    /// Why a written file does not have the permissions or the times of its source.
    pub unlike: Option<io::Error>,
}

/// One name in a directory.
struct Place<'a> {
    lower: &'a Directory,
    name: &'a OsStr,
    /// The directory to write to, and the decrypted name.
    to: Option<&'a Directory>,
    plain: &'a OsStr,
    /// The decrypted path.
    path: &'a Path,
}

/// An error that concerns one name or file: it is reported, and the walk continues. Any other error stops the
/// command.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Here(String);

impl From<io::Error> for Here {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl<'a> Walk<'a> {
    pub fn new(answers: &'a mut Answers, doing: Doing, stop: &'a AtomicBool) -> Self {
        let (found, problems, has_opened) = (Found::default(), 0, false);
        let (refused, unlike) = (Vec::new(), None);
        Self { answers, doing, stop, found, problems, has_opened, refused, unlike }
    }

    /// Processes everything below `lower`, whose decrypted path is `path`. Unavailable entries are reported,
    /// counted and left out.
    pub fn below(
        &mut self,
        lower: &Directory,
        to: Option<&Directory>,
        path: &Path,
    ) -> anyhow::Result<()> {
        let mut names = lower.names().map_err(Here::from)?;
        names.sort();
        let mut taken = BTreeSet::new();
        for name in &names {
            if self.stop.load(Ordering::Relaxed) {
                bail!(VolumeError::Stopped);
            }
            let gives_up = self.has_opened || self.refused.len() > MOST_REFUSED;
            if self.doing == Doing::Probe && gives_up {
                return Ok(());
            }
            let mut path = path.join(name);
            if let Err(error) = self.one(lower, to, name, &mut path, &mut taken) {
                self.tell(&path, &error.downcast::<Here>()?.0);
            }
        }
        Ok(())
    }

    /// Notes why a new entry differs from its source in some respect.
    pub fn looks_alike(&mut self, done: io::Result<()>) {
        self.unlike = self.unlike.take().or(done.err());
    }

    fn tell(&mut self, path: &Path, why: &str) {
        match self.doing {
            Doing::Probe => return,
            Doing::Info => self.found.problem(path, why),
            _ => say::message(&format!("{}: {why}", shown(path))),
        }
        self.problems += 1;
    }

    /// Processes one name. Its decrypted form is added to `path`; `taken` contains all decrypted names in this
    /// directory.
    fn one(
        &mut self,
        lower: &Directory,
        to: Option<&Directory>,
        name: &OsStr,
        path: &mut PathBuf,
        taken: &mut BTreeSet<OsString>,
    ) -> anyhow::Result<()> {
        let Some(entry) = lower.entry(name).map_err(Here::from)? else { return Ok(()) };
        let plain = &self.plain(name, path)?;
        path.set_file_name(plain);
        if !taken.insert(plain.clone()) || plain == UNFINISHED && to.is_some() {
            bail!(Here("its name is already taken".to_owned()));
        }
        let place = &Place { lower, name, to, plain, path };
        match entry.kind {
            FileType::Directory => self.directory(place),
            FileType::RegularFile => self.file(place),
            FileType::Symlink => self.link(place),
            _ => {
                if !matches!(self.doing, Doing::Probe | Doing::Info) {
                    let path = shown(path);
                    say::message(&format!(
                        "{path}: left out, because it is neither a file nor a link"
                    ));
                }
                Ok(())
            }
        }
    }

    fn plain(&mut self, name: &OsStr, path: &Path) -> anyhow::Result<OsString> {
        let bytes = name.as_encoded_bytes();
        if self.doing != Doing::Info {
            let plain = name_of_bytes(self.ask(Ask::Name, bytes, &[])?);
            self.has_opened |= plain != *name;
            return Ok(plain);
        }
        match self.ask(Ask::KeyOf, bytes, &[]) {
            Ok(key) => self.found.name(&key),
            Err(error) => self.tell(path, &error.downcast::<Here>()?.0),
        }
        Ok(name.to_owned())
    }

    fn directory(&mut self, at: &Place<'_>) -> anyhow::Result<()> {
        self.found.directories += 1;
        if at.path.components().count() > MOST_DEPTH {
            bail!(Here(format!("nested in more than {MOST_DEPTH} directories")));
        }
        let lower = &at.lower.subdirectory(at.name).map_err(Here::from)?;
        let made = at.to.map(|to| match to.create_subdirectory(at.plain) {
            Err(error) if self.stays(&error) => to.subdirectory(at.plain),
            made => made,
        });
        let made = made.transpose().map_err(Here::from)?;
        if self.doing == Doing::List {
            say::print(&format!("{:>16}  {}/", "", shown(at.path)));
        }
        self.below(lower, made.as_ref(), at.path)?;
        if let Some(made) = made {
            self.looks_alike(made.take_after(lower));
        }
        Ok(())
    }

    /// Whether this error means that an existing file is kept.
    pub fn stays(&self, error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::AlreadyExists && self.doing == Doing::GoOn
    }

    fn file(&mut self, at: &Place<'_>) -> anyhow::Result<()> {
        let lower = at.lower.open_file(at.name).map_err(Here::from)?;
        let facts = Facts::hear(&self.ask(Ask::Header, &[], &[&lower])?);
        let facts = facts.context("the confined process returned no file information")?;
        self.has_opened = true;
        if let Some(to) = at.to {
            let is_done = |e: Entry| e.kind == FileType::RegularFile && e.len == facts.size;
            let there = to.entry(at.plain).map_err(Here::from)?;
            if self.doing == Doing::GoOn && there.is_some_and(is_done) {
                return Ok(());
            }
            return self.content(&lower, to, at);
        }
        match self.doing {
            Doing::Info => self.found.file(&facts),
            Doing::List => say::print(&format!("{:>16}  {}", facts.size, shown(at.path))),
            _ => {}
        }
        let (len, whole) = (lower.metadata().map_err(Here::from)?.len(), facts.whole);
        if len < whole {
            bail!(Here(format!("truncated: its lower file has only {len} of {whole} bytes")));
        }
        Ok(())
    }

    /// Writes a file that gets its final name only once it is complete, and a different name if the file cannot be
    /// completed.
    fn content(&mut self, lower: &File, to: &Directory, at: &Place<'_>) -> anyhow::Result<()> {
        to.refuse_taken(at.plain).map_err(Here::from)?;
        let unfinished = OsStr::new(UNFINISHED);
        if self.doing == Doing::GoOn {
            let _ = to.remove_file(unfinished);
        }
        let file = to.create_file(unfinished, 0o600).map_err(Here::from)?;
        let named = self.ask(Ask::Content, &[], &[lower, &file]).and_then(|problem| {
            self.looks_alike(take_after(&file, lower));
            let name = if problem.is_empty() { at.plain.to_owned() } else { partial(at.plain) };
            match to.rename_to_new(unfinished, &name) {
                // An earlier command has written the same content.
                Err(error) if !problem.is_empty() && self.stays(&error) => {}
                renamed => renamed.map_err(Here::from)?,
            }
            if !problem.is_empty() {
                let (why, kept) = (reason(&problem), shown(&at.path.with_file_name(name)));
                bail!(Here(format!("{why}; the readable part is in {kept}")));
            }
            Ok(())
        });
        if named.is_err() {
            let _ = to.remove_file(unfinished);
        }
        named
    }

    fn link(&mut self, at: &Place<'_>) -> anyhow::Result<()> {
        self.found.links += 1;
        if self.doing == Doing::Info {
            return Ok(());
        }
        let target = at.lower.link_target(at.name).map_err(Here::from)?;
        let target = self.ask(Ask::Target, target.as_encoded_bytes(), &[])?;
        let target = name_of_bytes(target);
        if self.doing == Doing::List {
            let (path, target) = (shown(at.path), shown(Path::new(&target)));
            say::print(&format!("{:>16}  {path} -> {target}", ""));
        }
        match at.to.map(|to| to.create_link(&target, at.plain)) {
            Some(Err(error)) if !self.stays(&error) => bail!(Here::from(error)),
            _ => Ok(()),
        }
    }

    fn ask(&mut self, asked: Ask, text: &[u8], files: &[&File]) -> anyhow::Result<Vec<u8>> {
        match self.answers.ask(asked, text, files, self.stop)? {
            Reply::Done(said) => Ok(said),
            Reply::Failed(why) => bail!(Here(why)),
            Reply::Unwritten(why) => bail!(Refusal::target(Path::new("the new file"), &why)),
            Reply::NoKey(why) => {
                if self.doing == Doing::Probe {
                    self.refused.push(why.clone());
                }
                bail!(Here(why))
            }
        }
    }
}

/// The temporary name of a directory or file until it is complete.
pub fn partial(name: &OsStr) -> OsString {
    let mut partial = name.to_owned();
    partial.push(".partial");
    partial
}
