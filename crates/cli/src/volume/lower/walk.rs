//! A lower directory, gone through: what is in it, listed or written as its user sees it.
//!
//! This process reads no byte of a file and of a name, but for its length and kind. Both directories are held open, and
//! names are single components of a path: none leads elsewhere, and no link is followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;
use cryptbench_os::files::{name_of_bytes, take_after};
use cryptbench_os::{Directory, FileType};
use cryptbench_text::shown;
use cryptbench_volume::VolumeError;

use super::message::{Question, Reply};
use crate::exit::Refusal;
use crate::say;
use crate::volume::confined::Answers;

/// What a file is called until it is whole.
const UNFINISHED: &str = ".cryptbench.unfinished";

/// What its name ends in where it never becomes whole.
const PARTIAL: &str = ".partial";

/// What to do with what is found.
pub enum Doing {
    /// Look for the first thing that a key opens, or does not.
    Probe,
    /// Print names and sizes.
    List,
    /// Write everything into a directory; what is there already stays if the flag is set, and is an error otherwise.
    Write { goes_on: bool },
}

/// One pass through a directory.
pub struct Walk<'a> {
    answers: &'a mut Answers,
    pub doing: Doing,
    stop: &'a AtomicBool,
    /// How much cannot be had as it was.
    pub problems: u64,
    /// Something was opened.
    pub has_opened: bool,
    /// Why what was written has not all permissions and times of what it is from.
    pub unlike: Option<io::Error>,
}

/// What is wrong with one name or file.
enum Problem {
    /// It is told, and the rest goes on.
    Here(String),
    /// It ends the command.
    Everywhere(anyhow::Error),
}

impl From<anyhow::Error> for Problem {
    fn from(error: anyhow::Error) -> Self {
        Self::Everywhere(error)
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Here(error.to_string())
    }
}

impl<'a> Walk<'a> {
    pub fn new(answers: &'a mut Answers, doing: Doing, stop: &'a AtomicBool) -> Self {
        Self { answers, doing, stop, problems: 0, has_opened: false, unlike: None }
    }

    /// Everything below `lower`, which its user sees as `path`. What cannot be had is told, counted and left out.
    pub fn below(
        &mut self,
        lower: &Directory,
        to: Option<&Directory>,
        path: &Path,
    ) -> anyhow::Result<()> {
        let mut names = match lower.names() {
            Ok(names) => names,
            Err(error) => return self.tell(path, &error.to_string()),
        };
        names.sort();
        for name in names {
            if self.stop.load(Ordering::Relaxed) {
                bail!(VolumeError::Stopped);
            }
            if self.has_opened && matches!(self.doing, Doing::Probe) {
                return Ok(());
            }
            match self.one(lower, to, path, &name) {
                Ok(()) => {}
                Err(Problem::Here(why)) => self.tell(&path.join(&name), &why)?,
                Err(Problem::Everywhere(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Notes why something new is not like the old one in all.
    fn looks_alike(&mut self, done: io::Result<()>) {
        self.unlike = self.unlike.take().or(done.err());
    }

    fn tell(&mut self, path: &Path, why: &str) -> anyhow::Result<()> {
        if matches!(self.doing, Doing::Probe) {
            return Ok(());
        }
        self.problems += 1;
        say::message(&format!("{}: {why}", shown(path)));
        Ok(())
    }

    fn one(
        &mut self,
        lower: &Directory,
        to: Option<&Directory>,
        path: &Path,
        name: &OsStr,
    ) -> Result<(), Problem> {
        let Some(entry) = lower.entry(name)? else { return Ok(()) };
        let Reply::Name(plain) = self.ask(&Question::Name(bytes(name)), &[])? else {
            return Err(unexpected());
        };
        if plain != bytes(name) {
            self.has_opened = true;
        }
        let plain = name_of_bytes(plain);
        let path = path.join(&plain);
        let done = match entry.kind {
            FileType::Directory => self.directory((lower, name), to, &plain, &path),
            FileType::RegularFile => self.file((lower, name), to, &plain, &path),
            FileType::Symlink => self.link((lower, name), to, &plain, &path),
            _ if matches!(self.doing, Doing::Probe) => Ok(()),
            _ => {
                say::message(&format!(
                    "{}: left out, as it is neither file nor link",
                    shown(&path)
                ));
                Ok(())
            }
        };
        match done {
            Err(Problem::Here(why)) => Ok(self.tell(&path, &why)?),
            done => done,
        }
    }

    fn directory(
        &mut self,
        (above, name): (&Directory, &OsStr),
        to: Option<&Directory>,
        plain: &OsStr,
        path: &Path,
    ) -> Result<(), Problem> {
        let lower = &above.subdirectory(name)?;
        let made = match (to, &self.doing) {
            (Some(to), Doing::Write { goes_on }) => Some(match to.create_subdirectory(plain) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && *goes_on => {
                    to.subdirectory(plain)
                }
                made => made,
            }?),
            _ => None,
        };
        if matches!(self.doing, Doing::List) {
            say::print(&format!("{:>16}  {}/", "", shown(path)));
        }
        self.below(lower, made.as_ref(), path)?;
        if let Some(made) = made {
            self.looks_alike(made.take_after(lower));
        }
        Ok(())
    }

    fn file(
        &mut self,
        (above, name): (&Directory, &OsStr),
        to: Option<&Directory>,
        plain: &OsStr,
        path: &Path,
    ) -> Result<(), Problem> {
        let lower = above.open_file(name)?;
        let facts = match self.ask(&Question::Header, &[&lower])? {
            Reply::Header(facts) => facts,
            _ => return Err(unexpected()),
        };
        self.has_opened = true;
        match (&self.doing, to) {
            (Doing::List, _) => {
                say::print(&format!("{:>16}  {}", facts.size, shown(path)));
                let len = lower.metadata()?.len();
                if len < facts.whole {
                    let why = format!(
                        "it is cut short: its lower file has {len} bytes of {}",
                        facts.whole
                    );
                    return Err(Problem::Here(why));
                }
                Ok(())
            }
            (Doing::Write { goes_on }, Some(to)) => {
                let there = to.entry(plain)?;
                let is_done = |e: cryptbench_os::Entry| {
                    e.kind == FileType::RegularFile && e.len == facts.size
                };
                if *goes_on && there.is_some_and(is_done) {
                    return Ok(());
                }
                self.content(&lower, to, plain, path)
            }
            _ => Ok(()),
        }
    }

    /// Writes a file that gets its name only once it is whole, and another one if it never is.
    fn content(
        &mut self,
        lower: &File,
        to: &Directory,
        plain: &OsStr,
        path: &Path,
    ) -> Result<(), Problem> {
        to.refuse_taken(plain)?;
        let unfinished = OsStr::new(UNFINISHED);
        if matches!(self.doing, Doing::Write { goes_on: true }) {
            let _ = to.remove_file(unfinished);
        }
        let file = to.create_file(unfinished, 0o600)?;
        let done = self.ask(&Question::Content, &[lower, &file]);
        let named = match done {
            Ok(Reply::Content(problem)) => {
                self.looks_alike(take_after(&file, lower));
                let mut name = plain.to_owned();
                if problem.is_some() {
                    name.push(PARTIAL);
                }
                to.rename_to_new(unfinished, &name).map_err(Problem::from).and(match problem {
                    None => Ok(()),
                    Some(why) => {
                        let kept = path.with_file_name(name);
                        Err(Problem::Here(format!("{why}; what is there is in {}", shown(&kept))))
                    }
                })
            }
            Ok(Reply::Unwritten(why)) => {
                Err(Problem::Everywhere(Refusal::target(path, &why).into()))
            }
            Ok(_) => Err(unexpected()),
            Err(problem) => Err(problem),
        };
        if named.is_err() {
            let _ = to.remove_file(unfinished);
        }
        named
    }

    fn link(
        &mut self,
        (above, name): (&Directory, &OsStr),
        to: Option<&Directory>,
        plain: &OsStr,
        path: &Path,
    ) -> Result<(), Problem> {
        let target = Question::Target(bytes(&above.link_target(name)?));
        let Reply::Target(target) = self.ask(&target, &[])? else { return Err(unexpected()) };
        let target = name_of_bytes(target);
        match (&self.doing, to) {
            (Doing::List, _) => {
                let (path, target) = (shown(path), shown(Path::new(&target)));
                say::print(&format!("{:>16}  {path} -> {target}", ""));
            }
            (Doing::Write { goes_on }, Some(to)) => match to.create_link(&target, plain) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && *goes_on => {}
                made => made?,
            },
            _ => {}
        }
        Ok(())
    }

    fn ask(&mut self, question: &Question, files: &[&File]) -> Result<Reply, Problem> {
        match self.answers.ask(question, files, self.stop)? {
            Reply::Failed(why) => Err(Problem::Here(why)),
            Reply::NoKey(why) if matches!(self.doing, Doing::Probe) => {
                Err(Problem::Everywhere(VolumeError::NoKeyFits(why).into()))
            }
            Reply::NoKey(why) => Err(Problem::Here(why)),
            reply => Ok(reply),
        }
    }
}

fn bytes(name: &OsStr) -> Vec<u8> {
    name.as_encoded_bytes().to_vec()
}

fn unexpected() -> Problem {
    Problem::Everywhere(anyhow::anyhow!("the confined process gave another answer"))
}

/// The name beside a directory that is complete until it is.
pub fn partial(name: &OsStr) -> OsString {
    let mut partial = name.to_owned();
    partial.push(PARTIAL);
    partial
}
