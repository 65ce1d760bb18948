//! Under sudo, writes the files of a run in a process with the privileges of the user who ran sudo. The files then
//! belong to that user, and links can lead only to locations that the user can access.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, ExitCode, Stdio};

use anyhow::anyhow;
use cryptbench_os::process::{in_own_group, this_program};
use cryptbench_os::user::{Asker, run_as};
use cryptbench_record::{Event, TrialLog};
use cryptbench_runner::RunError;
use cryptbench_text::chain;
use serde::{Deserialize, Serialize};

use super::{Files, Saved, Whole, unfit};
use crate::say::print_bytes;

/// The hidden command that starts the writing process.
pub const COMMAND: &str = "keep-run";

/// Maximum length of a reply in bytes: a path and a sentence. The user controls the process, so its replies are
/// limited.
const LONGEST_ANSWER: u64 = 64 << 10;

/// Root's requests.
#[derive(Serialize, Deserialize)]
enum Order {
    /// Where to store the run: in a directory, or in the user's directory of runs.
    Prepare(Option<OsString>),
    /// The directory of a run that is resumed.
    Resume(OsString),
    /// Start the log of the run with that name.
    Log(String),
    /// Add an event to the log.
    Append(Box<Event>),
    /// Save the record and the page.
    Save(Box<Whole>),
}

/// The process's replies.
#[derive(Serialize, Deserialize)]
enum Answer {
    Done,
    /// A location cannot be used.
    Unfit(OsString, String),
    /// Something else failed.
    Failed(String),
    SavedIn(OsString),
    SavedElsewhere(OsString, String),
    SavedNowhere(String),
}

/// Root's handle to the process.
pub struct Keeper {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    user: u32,
}

impl Keeper {
    /// Starts the process for `asker`, and makes it check the requested directory or choose one.
    pub fn prepare(asker: &Asker, asked: Option<&Path>) -> anyhow::Result<Self> {
        Self::begin(asker, &Order::Prepare(asked.map(Into::into)))
    }

    /// Like [`Self::prepare`], for the directory of a run that is resumed.
    pub fn resume(asker: &Asker, directory: &Path) -> anyhow::Result<Self> {
        Self::begin(asker, &Order::Resume(directory.into()))
    }

    fn begin(asker: &Asker, order: &Order) -> anyhow::Result<Self> {
        let mut command = this_program()?;
        command.arg(COMMAND).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C must reach only the run, which then makes this process save the results.
        let started = in_own_group(run_as(&mut command, asker)).spawn();
        let mut child = started.map_err(|e| {
            anyhow!("cannot start the process that writes files as user {}: {e}", asker.user)
        })?;
        let answers = BufReader::new(child.stdout.take().expect("it is piped"));
        let orders = child.stdin.take();
        let mut keeper = Self { child, orders, answers, user: asker.user };
        match keeper.ask(order)? {
            Answer::Done => Ok(keeper),
            Answer::Unfit(path, problem) => {
                let problem = format!(
                    "{problem} (for user {}, who ran sudo and will own these files)",
                    asker.user
                );
                Err(unfit(Path::new(&path), &problem).into())
            }
            other => Err(unexpected(other).into()),
        }
    }

    /// Begins the log of a run.
    pub fn log(&mut self, run: &str) -> io::Result<()> {
        self.done(&Order::Log(run.to_owned()))
    }

    /// Adds an event to the log.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        self.done(&Order::Append(Box::new(event.clone())))
    }

    /// Writes record and page.
    pub fn save(&mut self, run: &Whole) -> Saved {
        match self.ask(&Order::Save(Box::new(run.clone()))) {
            Ok(Answer::SavedIn(path)) => Saved::In(path.into()),
            Ok(Answer::SavedElsewhere(path, why)) => Saved::Elsewhere(path.into(), anyhow!(why)),
            Ok(Answer::SavedNowhere(why)) => Saved::Nowhere(anyhow!(why)),
            Ok(other) => Saved::Nowhere(unexpected(other).into()),
            Err(error) => Saved::Nowhere(error.into()),
        }
    }

    fn done(&mut self, order: &Order) -> io::Result<()> {
        match self.ask(order)? {
            Answer::Done => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    fn ask(&mut self, order: &Order) -> io::Result<Answer> {
        let user = self.user;
        let ended = move || {
            io::Error::other(format!("the process that writes files as user {user} has exited"))
        };
        let mut text = serde_json::to_vec(order)?;
        text.push(b'\n');
        let orders = self.orders.as_mut().expect("it is open until the end");
        orders.write_all(&text).map_err(|_| ended())?;
        let mut line = Vec::new();
        self.answers.by_ref().take(LONGEST_ANSWER).read_until(b'\n', &mut line)?;
        match line.last() {
            Some(b'\n') => Ok(serde_json::from_slice(&line)?),
            _ => Err(ended()),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // The process exits when its standard input is closed.
        self.orders = None;
        let _ = self.child.wait();
    }
}

fn unexpected(answer: Answer) -> io::Error {
    io::Error::other(match answer {
        Answer::Failed(why) | Answer::Unfit(_, why) => why,
        _ => "the process that writes files as the user sent an unexpected reply".to_owned(),
    })
}

/// The process itself: executes requests until no more arrive.
pub fn keep_run() -> anyhow::Result<ExitCode> {
    let mut kept = Kept::default();
    for order in io::stdin().lock().lines() {
        let answer = kept.carry_out(serde_json::from_str(&order?)?);
        let mut text = serde_json::to_vec(&answer)?;
        text.push(b'\n');
        print_bytes(&text);
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Default)]
struct Kept {
    files: Option<Files>,
    log: Option<TrialLog>,
}

impl Kept {
    fn carry_out(&mut self, order: Order) -> Answer {
        match order {
            Order::Prepare(asked) => self.begin(Files::prepare(asked.as_deref().map(Path::new))),
            Order::Resume(directory) => self.begin(Files::resume(Path::new(&directory))),
            Order::Log(run) => {
                let begun = self.files().and_then(|files| files.log(&run));
                done(begun.map(|log| self.log = Some(log)))
            }
            Order::Append(event) => {
                let log = self.log.as_mut().ok_or_else(|| ErrorKind::NotFound.into());
                done(log.and_then(|log| log.append(&event)))
            }
            Order::Save(run) => match self.files().map(|files| files.save(&run)) {
                Ok(Saved::In(path)) => Answer::SavedIn(path.into()),
                Ok(Saved::Elsewhere(path, why)) => {
                    Answer::SavedElsewhere(path.into(), chain(&*why))
                }
                Ok(Saved::Nowhere(why)) => Answer::SavedNowhere(chain(&*why)),
                Err(why) => Answer::Failed(why.to_string()),
            },
        }
    }

    fn begin(&mut self, files: anyhow::Result<Files>) -> Answer {
        match files {
            Ok(files) => {
                self.files = Some(files);
                Answer::Done
            }
            Err(error) => match error.downcast::<RunError>() {
                Ok(RunError::Target { path, problem }) => Answer::Unfit(path.into(), problem),
                Ok(other) => Answer::Failed(other.to_string()),
                Err(other) => Answer::Failed(chain(&*other)),
            },
        }
    }

    fn files(&self) -> io::Result<&Files> {
        self.files.as_ref().ok_or_else(|| ErrorKind::NotFound.into())
    }
}

fn done(result: io::Result<()>) -> Answer {
    match result {
        Ok(()) => Answer::Done,
        Err(why) => Answer::Failed(why.to_string()),
    }
}

/// The directory in which the process would store the runs of `asker`; the directory is not created.
pub fn runs_of(asker: &Asker) -> Option<PathBuf> {
    Some(asker.home.as_ref()?.join(".local/share/cryptbench").join(OsStr::new("runs")))
}
