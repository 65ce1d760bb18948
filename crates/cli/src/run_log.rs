//! The log of a run in its directory, and resuming an interrupted run.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

use anyhow::bail;
use clap::parser::ValueSource;
use clap::{CommandFactory as _, Parser as _};
use cryptbench_os::{Directory, user};
use cryptbench_record::{Event, LOG, Record, Sink, fold_to_resume, is_being_written, read_log};
use cryptbench_text::printable;

use crate::args::{Args, Command};
use crate::exit::Refusal;
use crate::last;
use crate::names;
use crate::output::{Output, RunLog};
use crate::progress::Progress;
use crate::run::args::{RunArgs, go_with_resume};
use crate::say::message;

/// Displays a run and writes its log. The log starts with the first trial, so a run without measurements leaves no
/// log.
pub struct Logged<'a> {
    progress: &'a mut Progress,
    output: &'a Output,
    log: State<'a>,
}

enum State<'a> {
    /// The run's name, and the events that are held back until its first trial.
    Waiting(String, Vec<Event>),
    Open(RunLog<'a>),
    /// The log cannot be written, and the user has been informed.
    Failed,
}

impl<'a> Logged<'a> {
    pub fn new(progress: &'a mut Progress, output: &'a Output) -> Self {
        Self { progress, output, log: State::Waiting(String::new(), Vec::new()) }
    }

    fn open(&self, run: &str, waiting: &[Event]) -> std::io::Result<RunLog<'a>> {
        let mut log = self.output.log(run)?;
        waiting.iter().try_for_each(|event| log.append(event))?;
        Ok(log)
    }
}

impl Sink for Logged<'_> {
    fn take(&mut self, event: &Event) {
        self.progress.take(event);
        if !event.is_kept() {
            return;
        }
        if let State::Waiting(run, waiting) = &mut self.log {
            waiting.push(event.clone());
            if let Event::Start(record) = event {
                run.clone_from(&record.run_id);
                waiting.push(command());
            }
            if !matches!(event, Event::Measured(_)) {
                return;
            }
        }
        let done = match &mut self.log {
            State::Waiting(run, waiting) => {
                let (run, waiting) = (std::mem::take(run), std::mem::take(waiting));
                self.open(&run, &waiting).map(|log| self.log = State::Open(log))
            }
            State::Open(log) => log.append(event),
            State::Failed => Ok(()),
        };
        if let Err(error) = done {
            message(&format!(
                "cannot write the log of trials ({error}): the run continues, but its results would be lost if it \
                 were killed"
            ));
            self.log = State::Failed;
        }
    }
}

/// The command line of this program.
fn command() -> Event {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let directory = std::env::current_dir().map_or_else(|_| OsString::new(), OsString::from);
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let is_text = |word: &OsString| word.to_str().is_some_and(|text| printable(text) == text);
    let all_text = words.iter().chain([&directory]).all(is_text);
    Event::Command {
        arguments: words.iter().map(text).collect(),
        directory: text(&directory),
        exact: (!all_text).then_some((words, directory)),
    }
}

/// A run that is resumed.
pub struct Resumed {
    /// Its arguments.
    pub args: RunArgs,
    /// Its measurements so far.
    pub earlier: Record,
}

/// Reads the arguments of the run in `directory`, and changes to the directory to which relative paths in them refer.
///
/// # Errors
/// [`Refusal`] if the directory does not contain such a run, or the run belongs to another user.
pub fn resume(directory: &Path, given: &RunArgs) -> anyhow::Result<Resumed> {
    refuse_other_options()?;
    let refuse = |reason: &str| Refusal::input(directory, reason);
    let log = directory.join(LOG);
    if fs::symlink_metadata(&log).is_err() {
        bail!(refuse("contains no log of an interrupted run; a finished run has none"));
    }
    let held = Directory::open(directory)
        .and_then(|held| Ok((held.owner_and_mode()?, held.entry(OsStr::new(LOG))?)));
    let ((owner, mode), found) = held.map_err(|e| refuse(&e.to_string()))?;
    // The user who ran sudo could run the same commands as root in any case.
    let asker = user::asker().map(|asker| asker.user);
    let is_ours = |owner: u32| owner == user::effective() || Some(owner) == asker;
    if !is_ours(owner) || !found.is_some_and(|log| is_ours(log.owner)) || mode & 0o002 != 0 {
        bail!(refuse(
            "can be changed by other users; refusing to run the command stored in its log"
        ));
    }
    if Directory::open(directory).is_ok_and(|held| is_being_written(&held)) {
        bail!(refuse("is the directory of a run that is still in progress"));
    }
    let events = read_log(directory)?;
    let earlier =
        fold_to_resume(&events).ok_or_else(|| refuse("the beginning of its log is missing"))?;
    let command = events.iter().find_map(|event| match event {
        Event::Command { exact: Some(exact), .. } => Some(exact.clone()),
        Event::Command { arguments, directory, .. } => {
            Some((arguments.iter().map(OsString::from).collect(), directory.into()))
        }
        _ => None,
    });
    let Some((arguments, began_in)) = command else {
        bail!(refuse("its log does not contain the command line of the run"));
    };
    let words = std::iter::once("cryptbench".into()).chain(arguments);
    let Ok(Args { command: Command::Run(mut args), .. }) = Args::try_parse_from(words) else {
        bail!(refuse("its log is from a command that cannot be resumed"));
    };
    if args.what.study.is_some() {
        bail!(refuse(
            "a study cannot be resumed, because it has one run per profile; start it again"
        ));
    }
    names::of_run(&mut args)?;
    // This run is now the newest, so `last` no longer refers to the record that provided the plan.
    if let Some(like) = args.what.like.as_mut().filter(|like| last::is_named(like)) {
        *like = std::path::absolute(directory)?;
    }
    std::env::set_current_dir(&began_in)
        .map_err(|e| Refusal::target(Path::new(&began_in), &e.to_string()))?;
    (args.shown, args.consent) = (given.shown.clone(), given.consent.clone());
    args.how.seed = Some(earlier.plan.seed);
    if args.how.size.is_none() && earlier.target.kind.is_none() {
        args.how.size = Some(earlier.target.scratch.size_bytes).filter(|size| *size > 0);
    }
    Ok(Resumed { args: *args, earlier })
}

/// Refuses all other options, because a resumed run keeps its plan.
fn refuse_other_options() -> anyhow::Result<()> {
    let matches = Args::command().get_matches();
    let Some(run) = matches.subcommand_matches("run") else { return Ok(()) };
    let accepted = go_with_resume();
    let command = Args::command();
    let options = command.find_subcommand("run").into_iter().flat_map(clap::Command::get_arguments);
    for option in options {
        let id = option.get_id().as_str();
        let is_given = run.try_contains_id(id).is_ok()
            && run.value_source(id) == Some(ValueSource::CommandLine);
        if is_given && !accepted.iter().any(|name| name == id) {
            let name = option.get_long().map_or_else(|| id.to_owned(), |long| format!("--{long}"));
            let reason =
                format!("cannot be combined with {name}, because a resumed run keeps its plan");
            bail!(Refusal::usage(Path::new("--resume"), &reason));
        }
    }
    Ok(())
}
