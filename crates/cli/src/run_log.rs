//! The log of a run in its directory, and going on with a run that was cut short.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::parser::ValueSource;
use clap::{CommandFactory as _, Parser as _};
use cryptbench_os::{Directory, user};
use cryptbench_record::{LOG, Line, Record, TrialLog, fold_to_resume, read_log};
use cryptbench_runner::{Event, Observer};

use crate::args::{Args, Command, RunArgs};
use crate::exit::Refusal;
use crate::output::Output;
use crate::progress::Progress;
use crate::say::message;

/// Options that a resumed run takes: of output, and the user's word that something may be overwritten, which no file
/// can give.
const WITH_RESUME: &[&str] = &["resume", "json", "quiet", "progress", "destroy", "yes_erase"];

/// Shows a run and keeps its log. The log begins with the first trial: a run that measured nothing leaves none.
pub struct Logged<'a> {
    progress: &'a mut Progress,
    output: &'a Output,
    log: State,
}

enum State {
    /// Lines that wait for the first trial, and the run whose they are.
    Waiting(String, Vec<Line>),
    Open(TrialLog),
    /// It cannot be written, which was said.
    Failed,
}

impl<'a> Logged<'a> {
    pub fn new(progress: &'a mut Progress, output: &'a Output) -> Self {
        Self { progress, output, log: State::Waiting(String::new(), Vec::new()) }
    }

    fn open(&self, run: &str, waiting: &[Line]) -> std::io::Result<TrialLog> {
        let mut log = self.output.log(run)?;
        waiting.iter().try_for_each(|line| log.append(line))?;
        Ok(log)
    }
}

impl Observer for Logged<'_> {
    fn event(&mut self, event: Event<'_>) {
        self.progress.event(event);
    }

    fn log(&mut self, line: &Line) {
        if let State::Waiting(run, waiting) = &mut self.log {
            waiting.push(line.clone());
            if let Line::Start(record) = line {
                run.clone_from(&record.run_id);
                waiting.push(command());
            }
            if !matches!(line, Line::Trial(_)) {
                return;
            }
        }
        let done = match &mut self.log {
            State::Waiting(run, waiting) => {
                let (run, waiting) = (std::mem::take(run), std::mem::take(waiting));
                self.open(&run, &waiting).map(|log| self.log = State::Open(log))
            }
            State::Open(log) => log.append(line),
            State::Failed => Ok(()),
        };
        if let Err(error) = done {
            message(&format!(
                "the log of trials cannot be written ({error}): the run goes on, and would be lost if it were killed"
            ));
            self.log = State::Failed;
        }
    }
}

/// How this program was called.
fn command() -> Line {
    let text = |word: std::ffi::OsString| word.to_string_lossy().into_owned();
    Line::Command {
        arguments: std::env::args_os().skip(1).map(text).collect(),
        directory: std::env::current_dir().map_or_else(|_| String::new(), |d| text(d.into())),
    }
}

/// A run that goes on.
pub struct Resumed {
    /// What it was asked for.
    pub args: RunArgs,
    /// What it has measured.
    pub earlier: Record,
}

/// Reads what the run in `directory` was, and takes its place: its arguments, and the directory that they begin at.
///
/// # Errors
/// [`Refusal`] if the directory holds no such run, or one that is another user's.
pub fn resume(directory: &Path, given: &RunArgs) -> anyhow::Result<Resumed> {
    refuse_other_options()?;
    let refuse = |reason: &str| Refusal::input(directory, reason);
    let log = directory.join(LOG);
    if fs::symlink_metadata(&log).is_err() {
        bail!(refuse(
            "holds no log of a run that was cut short; a run that came to its end has none"
        ));
    }
    let held = Directory::open(directory)
        .and_then(|held| Ok((held.owner_and_mode()?, held.entry(OsStr::new(LOG))?)));
    let ((owner, mode), found) = held.map_err(|e| refuse(&e.to_string()))?;
    let user = user::effective();
    let is_ours = found.is_some_and(|log| log.owner == user);
    if owner != user || !is_ours || mode & 0o002 != 0 {
        bail!(refuse("is not this user's alone: a log says what to run"));
    }
    let lines = read_log(directory)?;
    let earlier = fold_to_resume(&lines).ok_or_else(|| refuse("its log has no beginning"))?;
    let command = lines.iter().find_map(|line| match line {
        Line::Command { arguments, directory } => Some((arguments, directory)),
        _ => None,
    });
    let Some((arguments, began_in)) = command else {
        bail!(refuse("its log does not say how the run was asked for"));
    };
    let words = std::iter::once("cryptbench").chain(arguments.iter().map(String::as_str));
    let Ok(Args { command: Command::Run(mut args) }) = Args::try_parse_from(words) else {
        bail!(refuse("its log is of something that cannot be resumed"));
    };
    if args.study.is_some() {
        bail!(refuse("a study has a run for each of its profiles: start it anew"));
    }
    std::env::set_current_dir(began_in)
        .map_err(|e| Refusal::target(Path::new(began_in), &e.to_string()))?;
    (args.json, args.quiet, args.progress) = (given.json, given.quiet, given.progress);
    (args.destroy, args.yes_erase) = (given.destroy.clone(), given.yes_erase.clone());
    args.seed = Some(earlier.plan.seed);
    if args.size.is_none() && earlier.target.kind.is_none() {
        args.size = Some(earlier.target.scratch.size_bytes).filter(|size| *size > 0);
    }
    Ok(Resumed { args: *args, earlier })
}

/// All else is what it was.
fn refuse_other_options() -> anyhow::Result<()> {
    let matches = Args::command().get_matches();
    let Some(run) = matches.subcommand_matches("run") else { return Ok(()) };
    let command = Args::command();
    let options = command.find_subcommand("run").into_iter().flat_map(clap::Command::get_arguments);
    for option in options {
        let id = option.get_id().as_str();
        let is_given = run.try_contains_id(id).is_ok()
            && run.value_source(id) == Some(ValueSource::CommandLine);
        if is_given && !WITH_RESUME.contains(&id) {
            let name = option.get_long().map_or_else(|| id.to_owned(), |long| format!("--{long}"));
            let reason = format!("a resumed run is what it was: leave out {name}");
            bail!(Refusal::usage(Path::new("--resume"), &reason));
        }
    }
    Ok(())
}

/// The directory of the newest run among the user's, for `report last`.
pub fn newest() -> Option<PathBuf> {
    let runs = cryptbench_system::provision::data_directory()?.join("runs");
    let has = |run: &PathBuf| run.join("record.json").is_file() || run.join(LOG).is_file();
    let all = fs::read_dir(runs).ok()?.flatten().map(|entry| entry.path());
    // Names begin with the time at which a run began.
    all.filter(has).max()
}
