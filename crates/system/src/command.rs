//! Runs programs of the system without a shell and captures their output. Apart from `disk_server.rs`, nothing else in
//! this crate spawns processes.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cryptbench_catalog::Remedy;
use cryptbench_text::shown;
use tracing::info;
use zeroize::Zeroizing;

use crate::SystemError;
use crate::machine::Machine;
use crate::provision::process;

/// A program that exceeds this limit is assumed to hang. Creating a file system on a large, slow disk can take
/// minutes.
const LIMIT: Duration = Duration::from_secs(900);

/// Interval at which the stop flag is polled.
const STOP_POLL: Duration = Duration::from_millis(50);

/// Maximum number of bytes of output that are kept; earlier output is discarded.
const KEPT: usize = 64 << 10;

/// Runs `program` with `arguments` and returns its standard output, trimmed.
///
/// # Errors
/// [`SystemError::Program`] if it is missing or fails, with the last line of its output.
pub(crate) fn run<I, S>(program: &'static str, arguments: I) -> Result<String, SystemError>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    Invocation::new(program).args(arguments).run(&Machine::this(), LIMIT)
}

/// A program to run. Its standard input is wiped. Other users can see its arguments and variables, which do not
/// contain secrets.
pub(crate) struct Invocation {
    program: &'static str,
    arguments: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    input: Option<Zeroizing<Vec<u8>>>,
    /// Whether the input is an in-memory file instead of a pipe.
    is_document: bool,
}

impl Invocation {
    pub(crate) fn new(program: &'static str) -> Self {
        Self {
            program,
            arguments: Vec::new(),
            variables: Vec::new(),
            input: None,
            is_document: false,
        }
    }

    /// Adds arguments.
    pub(crate) fn args<I, S>(mut self, arguments: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.arguments.extend(arguments.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Adds an environment variable to the few that a program receives.
    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Sets the standard input, passed through a pipe.
    pub(crate) fn input(mut self, input: Zeroizing<Vec<u8>>) -> Self {
        self.input = Some(input);
        self
    }

    /// Sets the standard input, passed as an in-memory file, so that the program can open /dev/stdin more than
    /// once.
    pub(crate) fn document(mut self, text: Zeroizing<Vec<u8>>) -> Self {
        self.is_document = true;
        self.input(text)
    }

    /// Runs the program, waits for its exit and returns its standard output, trimmed.
    ///
    /// # Errors
    /// [`SystemError::Program`] if it is missing, fails, or takes longer than `limit`.
    pub(crate) fn run(&self, machine: &Machine, limit: Duration) -> Result<String, SystemError> {
        self.run_printing(machine, limit, &AtomicBool::new(false)).map(|(out, _)| out)
    }

    /// Like [`run`](Self::run), but kills the program once `stop` is set.
    pub(crate) fn run_until(
        &self,
        stop: &AtomicBool,
        machine: &Machine,
        limit: Duration,
    ) -> Result<String, SystemError> {
        self.run_printing(machine, limit, stop).map(|(out, _)| out)
    }

    fn run_printing(
        &self,
        machine: &Machine,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<(String, String), SystemError> {
        let failed = |reason: String| SystemError::Program { program: self.program, reason };
        let pipe = || io::pipe().map_err(|e| failed(e.to_string()));
        let (out, to_out) = pipe()?;
        let (err, to_err) = pipe()?;
        let mut child = self.spawn(machine, to_out.into(), to_err.into())?;
        let (out, err) = (Tail::of(out), Tail::of(err));
        let limit = machine.limit(self.program, limit);
        let begun = Instant::now();
        let status = waited(&mut child, limit, stop).map_err(|e| failed(e.to_string()))?;
        if let Some(status) = status {
            info!("{} exited after {:.3} s: {status}", self.program, begun.elapsed().as_secs_f64());
        }
        match status {
            Some(status) if status.success() => Ok((out.text().trim().to_owned(), err.text())),
            Some(status) => Err(failed(why(&err.text(), status))),
            None => {
                process::kill_group(&mut child);
                match stop.load(Ordering::Relaxed) {
                    true => Err(SystemError::Stopped),
                    false => Err(failed(format!("it did not finish within {} s", limit.as_secs()))),
                }
            }
        }
    }

    /// Like [`run`](Self::run), but also returns standard error, because some programs print their version
    /// there.
    pub(crate) fn run_both(
        &self,
        machine: &Machine,
        limit: Duration,
    ) -> Result<String, SystemError> {
        self.run_printing(machine, limit, &AtomicBool::new(false))
            .map(|(out, err)| format!("{out}\n{err}").trim().to_owned())
    }

    /// Starts the program as a server.
    ///
    /// # Errors
    /// [`SystemError::Program`] if it is missing.
    pub(crate) fn start(&self, machine: &Machine) -> Result<Running, SystemError> {
        let failed =
            |e: io::Error| SystemError::Program { program: self.program, reason: e.to_string() };
        let (output, input) = io::pipe().map_err(failed)?;
        let second = input.try_clone().map_err(failed)?;
        let child = self.spawn(machine, input.into(), second.into())?;
        Ok(Running { program: self.program, child, output: Tail::of(output) })
    }

    /// The command line for display, without the standard input.
    fn shown(&self) -> String {
        let words = self.arguments.iter().map(|word| format!(" {}", shown(word.as_ref())));
        let input = match (&self.input, self.is_document) {
            (None, _) => "",
            (Some(_), false) => " < (a pipe)",
            (Some(_), true) => " < (a file in memory)",
        };
        format!("{}{}{input}", self.program, words.collect::<String>())
    }

    fn stdin(&self) -> io::Result<Stdio> {
        match &self.input {
            None => Ok(Stdio::null()),
            Some(_) if !self.is_document => Ok(Stdio::piped()),
            Some(text) => {
                let mut file = cryptbench_os::files::in_memory("document")?;
                file.write_all(text)?;
                file.rewind()?;
                Ok(file.into())
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "found by `program_in`")]
    fn spawn(&self, machine: &Machine, out: Stdio, err: Stdio) -> Result<Child, SystemError> {
        let failed = |reason: String| SystemError::Program { program: self.program, reason };
        let missing = || failed(format!("it is not installed; {}", Remedy::program(self.program)));
        let mut command = Command::new(machine.program(self.program).ok_or_else(missing)?);
        command
            // Many programs print this name at the start of their messages.
            .arg0(self.program)
            .args(&self.arguments)
            // A variable that the user has set must not affect the measurement.
            .env_clear()
            .env("PATH", &machine.path)
            .env("LC_ALL", "C")
            .envs(["HOME", "TMPDIR"].into_iter().filter_map(|v| Some((v, std::env::var_os(v)?))))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(self.stdin().map_err(|e| failed(e.to_string()))?)
            .stdout(out)
            .stderr(err)
            // An interrupt from the terminal is meant for this process, which cleans up.
            .process_group(0);
        info!("calls {}", self.shown());
        let mut child = command.spawn().map_err(|e| failed(e.to_string()))?;
        if let (Some(input), Some(mut pipe)) = (&self.input, child.stdin.take()) {
            // Smaller than any pipe buffer, so this never blocks. A program that does not read it exits and
            // prints the reason.
            let _ = pipe.write_all(input);
        }
        Ok(child)
    }
}

/// A program that serves for as long as the arm exists.
pub(crate) struct Running {
    program: &'static str,
    pub(crate) child: Child,
    output: Tail,
}

impl Running {
    /// Waits for the exit of a program that is not a server.
    ///
    /// # Errors
    /// [`SystemError::Program`] if it fails, or takes longer than `limit`.
    pub(crate) fn finish(mut self, limit: Duration) -> Result<(), SystemError> {
        let failed = |reason: String| SystemError::Program { program: self.program, reason };
        match process::wait_within(&mut self.child, limit) {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => Err(failed(why(&self.output.text(), status))),
            Ok(None) => {
                process::kill_group(&mut self.child);
                Err(failed(format!("it did not finish within {} s", limit.as_secs_f64())))
            }
            Err(e) => Err(failed(e.to_string())),
        }
    }

    /// The error for a program that failed for this reason.
    pub(crate) fn failed(&self, reason: &str) -> SystemError {
        let said = self.output.text();
        let last = last_line(&said).map(|line| format!("; its output: {line}")).unwrap_or_default();
        SystemError::Program { program: self.program, reason: format!("{reason}{last}") }
    }

    /// The error for a server program that exited too early.
    pub(crate) fn ended(&self, status: ExitStatus) -> SystemError {
        let reason = format!("it exited: {}", why(&self.output.text(), status));
        SystemError::Program { program: self.program, reason }
    }
}

/// Waits up to `limit` for `child` to exit, unless `stop` is set.
fn waited(child: &mut Child, limit: Duration, stop: &AtomicBool) -> io::Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match process::wait_within(child, left.min(STOP_POLL))? {
            None if !left.is_zero() && !stop.load(Ordering::Relaxed) => {}
            ended => return Ok(ended),
        }
    }
}

/// The end of a program's output. It is read as it arrives, so that the program never blocks.
struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Tail {
    fn of(mut pipe: PipeReader) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (end, ended) = channel();
        let to = Arc::clone(&kept);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = pipe.read(&mut buffer) {
                let mut kept = to.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..n]);
                let surplus = kept.len().saturating_sub(KEPT);
                kept.drain(..surplus);
            }
            let _ = end.send(());
        });
        Self { kept, ended }
    }

    /// The output of the program, complete if it has exited.
    fn text(&self) -> String {
        // A child of the program may keep the pipe open.
        let _ = self.ended.recv_timeout(Duration::from_secs(1));
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

/// The line that states why a program failed: the last line, or `Failed to ...` if advice follows it (ntfs-3g).
/// mount(8) prints a reference to dmesg(1) after that line.
fn last_line(said: &str) -> Option<&str> {
    let is_advice = |line: &str| line.starts_with("dmesg(1) may have more");
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty() && !is_advice(line));
    lines().rfind(|line| line.starts_with("Failed to ")).or_else(|| lines().next_back())
}

fn why(said: &str, status: ExitStatus) -> String {
    last_line(said).map_or_else(|| status.to_string(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_behind_the_reason_is_left_out() {
        let said = "Record 1 has no FILE magic\nFailed to mount '/dev/loop0': Input/output error\nNTFS is either \
                    inconsistent, or there is a hardware fault.\nPlease see the documentation\nfor more details.\n\n";
        assert_eq!(last_line(said), Some("Failed to mount '/dev/loop0': Input/output error"));
        let said = "mount: /mnt: unknown filesystem type 'vfat'.\n       dmesg(1) may have more information after failed mount \
                    system call.\n";
        assert_eq!(last_line(said), Some("mount: /mnt: unknown filesystem type 'vfat'."));
        assert_eq!(last_line("first\n last \n\n"), Some("last"));
        assert_eq!(last_line(" \n"), None);
    }

    #[test]
    fn output_failure_and_absence_are_told_apart() {
        assert_eq!(run("echo", ["two", "words"]).unwrap(), "two words");
        let failed = run("ls", ["/no/such/file"]).unwrap_err().to_string();
        assert!(failed.starts_with("ls: ") && failed.contains("/no/such/file"), "{failed}");
        insta::assert_snapshot!(run("no-such-program", [""; 0]).unwrap_err(), @"no-such-program: it is not installed; install no-such-program");
    }

    #[test]
    fn what_hangs_is_ended() {
        let limit = Duration::from_millis(50);
        let error = Invocation::new("sleep").args(["1000"]).run(&Machine::this(), limit);
        insta::assert_snapshot!(error.unwrap_err(), @"sleep: it did not finish within 0 s");
        let stopped = Invocation::new("sleep").args(["1000"]).run_until(
            &AtomicBool::new(true),
            &Machine::this(),
            LIMIT,
        );
        assert!(matches!(stopped, Err(SystemError::Stopped)), "{stopped:?}");
    }

    #[test]
    fn input_goes_through_a_pipe_and_the_environment_is_small() {
        let input = Zeroizing::new(b"a secret\n".to_vec());
        let run = |i: Invocation| i.run(&Machine::this(), LIMIT).unwrap();
        assert_eq!(run(Invocation::new("cat").input(input)), "a secret");
        let variables = run(Invocation::new("env").variable("ONE", "1"));
        assert!(variables.lines().any(|l| l == "ONE=1"), "{variables}");
        assert!(!variables.contains("CARGO"), "{variables}");
    }
}
