//! The run: a separate process, its messages, and how the server stops it.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead as _, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cryptbench_os::process::{Handle, ended_by, in_own_group};
use cryptbench_record::Event;
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::log::{Kind, Log};

/// Maximum length of a line accepted from a run.
const LONGEST_LINE: u64 = 4 << 20;
/// How long to wait for the rest of a run's output after it has exited; a process that it started may still
/// hold the pipe.
const REST: Duration = Duration::from_secs(2);

/// At most one run, and the log of the latest one.
pub(crate) struct Measurement {
    program: PathBuf,
    log: Log,
    process: Mutex<Process>,
    runs: watch::Sender<bool>,
}

/// The run's process.
#[derive(Default)]
struct Process {
    /// Set while the process exists. A handle instead of a PID, because PIDs are reused.
    handle: Option<Handle>,
    /// Whether the server is exiting, so that no further run starts.
    closed: bool,
}

/// A run's messages, shared by the two threads that follow it.
#[derive(Default)]
struct Told {
    /// The directories of the run's records; a study has several.
    directories: Vec<String>,
    /// Whether the run has exited. Later output comes from a process that it left behind, and is not logged.
    over: bool,
}

/// Why a run did not start.
#[derive(Debug)]
pub(crate) enum NotStarted {
    /// Another run is in progress.
    Busy,
    /// The server is exiting.
    Closed,
    /// The program cannot be started.
    Failed(std::io::Error),
}

impl Measurement {
    pub(crate) fn new(program: PathBuf) -> Self {
        let process = Mutex::default();
        Self { program, log: Log::new(), process, runs: watch::Sender::new(false) }
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        lock(&self.process)
    }

    /// Whether a run is in progress.
    pub(crate) fn is_running(&self) -> bool {
        *self.runs.borrow()
    }

    /// Waits until no run is in progress.
    pub(crate) async fn ended(&self) {
        let _ = self.runs.subscribe().wait_for(|running| !running).await;
    }

    /// Starts `run` with these arguments.
    #[expect(clippy::disallowed_methods, reason = "this program itself")]
    pub(crate) fn start(self: &Arc<Self>, arguments: &[OsString]) -> Result<(), NotStarted> {
        let mut process = self.process();
        if process.closed {
            return Err(NotStarted::Closed);
        }
        if process.handle.is_some() {
            return Err(NotStarted::Busy);
        }
        let mut run = Command::new(&self.program);
        // Nobody reads the output of `--json`. The option keeps the program from measuring data that it would only
        // print.
        run.args(["run", "--progress", "json", "--json"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        // Ctrl-C at the terminal reaches only the server, which then notifies the run.
        let mut child = in_own_group(&mut run).spawn().map_err(NotStarted::Failed)?;
        let Ok(handle) = Handle::open(child.id()) else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(NotStarted::Failed(std::io::Error::other("the kernel has no pidfd_open")));
        };
        self.log.clear();
        let words: Vec<_> = arguments.iter().map(|a| a.to_string_lossy()).collect();
        self.log.add(Kind::Kept, &json!({ "event": "started", "arguments": words }));
        process.handle = Some(handle);
        self.runs.send_replace(true);
        drop(process);
        let this = Arc::clone(self);
        std::thread::spawn(move || this.follow(child));
        Ok(())
    }

    /// Asks the run to exit cleanly; returns false if no run is in progress.
    pub(crate) fn cancel(&self) -> bool {
        self.interrupt(&self.process())
    }

    /// Like [`cancel`](Self::cancel), but also prevents further runs.
    pub(crate) fn close(&self) -> bool {
        let mut process = self.process();
        process.closed = true;
        self.interrupt(&process)
    }

    fn interrupt(&self, process: &Process) -> bool {
        let handle = process.handle.as_ref();
        let told = handle.is_some_and(|run| run.interrupt().is_ok());
        if told {
            self.log.add(Kind::Kept, &json!({ "event": "cancelling" }));
        }
        told
    }

    /// Processes the run's messages until it exits.
    fn follow(self: Arc<Self>, mut child: Child) {
        let told = Arc::new(Mutex::new(Told::default()));
        let (done, read) = channel::<()>();
        if let Some(stderr) = child.stderr.take() {
            let (this, told) = (Arc::clone(&self), Arc::clone(&told));
            std::thread::spawn(move || {
                this.listen(stderr, &told);
                drop(done);
            });
        }
        let status = child.wait();
        // The listener drops its sender when it finishes, which ends this wait.
        let _ = read.recv_timeout(REST);
        let mut told = lock(&told);
        told.over = true;
        let mut process = self.process();
        process.handle = None;
        self.runs.send_replace(false);
        // Added last, because a notified page immediately requests the answer. No other run can start before,
        // because the lock is held.
        self.log.add(Kind::Kept, &ending(status.ok(), &told.directories));
    }

    /// Always reads to the end of the pipe, because a run must never wait for the server.
    fn listen(&self, stderr: ChildStderr, told: &Mutex<Told>) {
        let mut reader = BufReader::new(stderr);
        let mut line = Vec::new();
        loop {
            line.clear();
            match reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            let mut told = lock(told);
            if told.over {
                continue;
            }
            // The whole object is passed on, because it has names that the event itself does not have.
            let object = serde_json::from_str(text).unwrap_or(Value::Null);
            let Ok(event) = Event::deserialize(&object) else {
                self.log.add(Kind::Words, &json!({ "event": "message", "text": text }));
                continue;
            };
            self.log.add(kind(&event), &object);
            if let Event::Saved { directory } = event {
                told.directories.push(directory);
            }
        }
    }
}

/// Locks a mutex, even if another thread has panicked while it held it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kind(event: &Event) -> Kind {
    match event {
        Event::Planned { .. } | Event::Saved { .. } | Event::Study { .. } => Kind::Kept,
        Event::Table { .. } => Kind::Passing("table"),
        Event::Begun { .. } => Kind::Passing("trial"),
        Event::Filling { .. } => Kind::Passing("filling"),
        Event::Preparing { .. } | Event::Checking { .. } => Kind::Passing("preparing"),
        Event::Estimate { workload, arm, .. } => {
            let mut curve = DefaultHasher::new();
            (workload, arm).hash(&mut curve);
            Kind::Point(curve.finish())
        }
        _ => Kind::Words,
    }
}

/// The event that describes how the run ended and lists its records.
fn ending(status: Option<ExitStatus>, directories: &[String]) -> Value {
    let runs: Vec<&str> = directories.iter().filter_map(|d| d.rsplit('/').next()).collect();
    json!({
        "event": "ended",
        "code": status.and_then(|s| s.code()),
        "signal": status.and_then(ended_by),
        "runs": runs,
        "directories": directories,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_ends_starts_nothing_more() {
        let measurement = Arc::new(Measurement::new("/bin/true".into()));
        assert!(!measurement.close(), "no run is told to end");
        assert!(matches!(measurement.start(&[]), Err(NotStarted::Closed)));
        assert!(!measurement.is_running());
    }
}
