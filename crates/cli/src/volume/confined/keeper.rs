//! The keeper's side: starts the confined process, passes it open files, and stops it.

use std::fs::File;
use std::process::{Child, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use cryptbench_os::channel::Channel;
use cryptbench_os::process::{self, Handle};
use cryptbench_os::terminal::readable_within;
use cryptbench_volume::{Credentials, VolumeError};
use tracing::info;

use super::believed::{self, Asks, Opened};
use super::patience::Patience;
use super::{ON, ON_DISK, On, Order, What, relay};
use crate::exit::Said;
use crate::say;
use crate::volume::{cost, secrets};

/// How often to check for a signal.
const POLL: Duration = Duration::from_millis(50);

/// Interval between checks whether a step that takes milliseconds is done.
const TICK: Duration = Duration::from_millis(2);

/// How long a child may take to exit once it is no longer needed, or after a signal.
const FAREWELL: Duration = Duration::from_secs(2);

/// How long a child may take to finish its writes after a request to exit.
const HALF_DONE: Duration = Duration::from_secs(30);

/// How long a child may be idle while the kernel waits for the child.
const SILENCE: Duration = Duration::from_secs(60);

/// The child, from the keeper's side. Dropping it kills the child.
pub struct Confined {
    child: Child,
    channel: Option<Channel>,
    messages: Option<JoinHandle<()>>,
    /// Whether the child serves the volume. Until then it can be killed without loss.
    serves: bool,
}

/// Whether this system supports confined processes.
pub(super) fn can_start() -> bool {
    !matches!(Channel::to_child(), Err(e) if e.kind() == std::io::ErrorKind::Unsupported)
}

pub(super) fn ask(volume: &File, saved: Option<&File>, stop: &AtomicBool) -> anyhow::Result<Asks> {
    let order = Order { what: What::Ask, secrets: 0, header: false, other: saved.is_some() };
    let files: Vec<_> = [volume].into_iter().chain(saved).collect();
    let mut child = Confined::start(order, &files, Stdio::null())?;
    let said = child.hear(&mut Patience::default(), stop)?;
    Asks::believe(&said)
}

/// Makes a child execute this command, and prints the child's output.
pub(super) fn work(
    volume: &File,
    header: Option<&File>,
    other: Option<&File>,
    credentials: &[Credentials],
    patience: Patience,
    stop: &AtomicBool,
) -> anyhow::Result<ExitCode> {
    let order = Order {
        what: What::Work,
        secrets: credentials.len() as u8,
        header: header.is_some(),
        other: other.is_some(),
    };
    let all: Vec<_> = credentials.iter().collect();
    let (from, to) = process::pipe()?;
    let output = relay::output(from);
    let done = secrets::through_pipe(&all, |secrets| {
        let secrets = (!credentials.is_empty()).then_some(&secrets);
        let files = secrets.into_iter().chain([volume]).chain(header).chain(other);
        let files: Vec<_> = files.collect();
        let mut child = Confined::start(order, &files, to.into())?;
        child.finish(patience, stop)
    });
    let output = output
        .join()
        .map_err(|_| anyhow::anyhow!("cannot read the output of the confined process"))?;
    let text = output.context("cannot read the output of the confined process");
    done?;
    let text = text?;
    if !text.is_empty() {
        say::print(String::from_utf8_lossy(&text).trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

impl Confined {
    /// Starts a child that opens the volume with the credentials from `secrets`. The child reports that the volume is
    /// open.
    pub fn open(
        volume: &File,
        header: Option<&File>,
        secrets: &File,
        credentials: u8,
    ) -> anyhow::Result<Self> {
        let header_comes = header.is_some();
        let order =
            Order { what: What::Serve, secrets: credentials, header: header_comes, other: false };
        let files: Vec<_> = [secrets, volume].into_iter().chain(header).collect();
        Self::start(order, &files, Stdio::null())
    }

    pub(super) fn start(order: Order, files: &[&File], output: Stdio) -> anyhow::Result<Self> {
        let failed = "cannot start the confined process";
        process::pass_nothing_on().context(failed)?;
        let (channel, theirs) = Channel::to_child().context(failed)?;
        let (from, to) = process::pipe().context(failed)?;
        let kept = std::env::vars_os().filter(|(name, _)| is_passed_on(&name.to_string_lossy()));
        let child = program()?
            .arg(super::WORD)
            .args(std::env::args_os().skip(1))
            .env_clear()
            .envs(kept)
            .env("COLUMNS", say::terminal_style(false).width.to_string())
            .envs(say::stderr_is_terminal().then_some((cost::TO_TERMINAL, "1")))
            .current_dir("/")
            .stdin(theirs)
            .stdout(output)
            // From a terminal, the child could read later input.
            .stderr(to)
            .spawn()
            .context(failed)?;
        info!("confined process {} parses the header: {order:?}", child.id());
        let messages = Some(relay::messages(from));
        let confined = Self { child, channel: Some(channel), messages, serves: false };
        confined.tell(&order.say(), files)?;
        Ok(confined)
    }

    pub(super) fn tell(&self, message: &[u8], files: &[&File]) -> anyhow::Result<()> {
        let Some(channel) = &self.channel else { return Ok(()) };
        match channel.send(message, files) {
            // The child has exited; the next receive reports the reason.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            sent => sent.context("cannot send a message to the confined process"),
        }
    }

    /// Waits for a message, or a signal.
    pub(super) fn hear(
        &mut self,
        patience: &mut Patience,
        stop: &AtomicBool,
    ) -> anyhow::Result<Vec<u8>> {
        loop {
            patience.look();
            if stop.load(Ordering::Relaxed) {
                bail!(VolumeError::Stopped);
            }
            if self.says_something_within(POLL)? {
                let Some(channel) = &self.channel else { return Err(self.ended()) };
                // The files that come with this message are not needed.
                let (message, _) = channel.receive()?;
                return if message.is_empty() { Err(self.ended()) } else { Ok(message) };
            }
        }
    }

    /// Waits until the child has opened the volume. `read_only` comes from the user and the storage, and `most` is
    /// the size of the storage in bytes.
    pub fn opened(
        &mut self,
        read_only: bool,
        most: u64,
        stop: &AtomicBool,
    ) -> anyhow::Result<Opened> {
        let said = self.hear(&mut Patience::default(), stop)?;
        let opened = Opened::believe(&said, read_only, most)?;
        info!("the confined process has opened the volume: {opened:?}");
        Ok(opened)
    }

    /// Makes the child serve the volume on these files.
    pub fn serve_on(&mut self, on: On, files: &[&File], stop: &AtomicBool) -> anyhow::Result<()> {
        self.serves = true;
        let message = match on {
            On::Connection => ON,
            On::Disk => ON_DISK,
        };
        self.tell(message, files)?;
        let said = self.hear(&mut Patience::default(), stop)?;
        believed::believe_up(&said)
    }

    /// Runs `act`, a step of the setup for which the kernel waits for this child. The call cannot be interrupted.
    /// Therefore the child is killed if it remains idle, or if the call still blocks after a signal.
    pub fn watched<T: Send>(&self, stop: &AtomicBool, act: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            // Runs on another thread, because the kernel delivers signals to the main thread even while that thread is
            // blocked.
            let acting = scope.spawn(act);
            let mut silence = Silence::of(self.child.id());
            let mut signalled: Option<Instant> = None;
            while !acting.is_finished() {
                if stop.load(Ordering::Relaxed) {
                    signalled.get_or_insert_with(Instant::now);
                }
                if silence.lasts() || signalled.is_some_and(|at| at.elapsed() > FAREWELL) {
                    let _ = Handle::open(self.child.id()).and_then(|held| held.kill());
                    break;
                }
                std::thread::sleep(TICK);
            }
            acting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Whether the child sends a message or exits within that time.
    pub fn says_something_within(&self, patience: Duration) -> anyhow::Result<bool> {
        let Some(channel) = &self.channel else { return Ok(true) };
        Ok(readable_within(channel.readable(), patience)?)
    }

    /// Lets the child exit after it has flushed the volume.
    pub fn end(mut self) -> anyhow::Result<()> {
        self.channel = None;
        let mut silence = Silence::of(self.child.id());
        match self.wait(|| silence.lasts())?.success() {
            true => Ok(()),
            false => Err(self.ended()),
        }
    }

    /// Waits until the child has finished its work. A signal asks the child to exit, which the child does as soon as no
    /// operation is half done.
    fn finish(&mut self, mut patience: Patience, stop: &AtomicBool) -> anyhow::Result<()> {
        let mut asked: Option<Instant> = None;
        while self.child.try_wait()?.is_none() {
            patience.look();
            // The child has nothing to send: a readable channel means that the child has exited, or is compromised.
            if self.says_something_within(POLL)? {
                std::thread::sleep(Duration::from_millis(1));
            }
            match asked {
                None if stop.load(Ordering::Relaxed) => {
                    asked = Some(Instant::now());
                    process::terminate(&self.child)?;
                }
                Some(at) if at.elapsed() > HALF_DONE => self.child.kill()?,
                _ => {}
            }
        }
        match (self.wait(|| false)?.success(), asked.is_some()) {
            (true, _) => Ok(()),
            (false, true) => bail!(VolumeError::Stopped),
            (false, false) => Err(self.ended()),
        }
    }

    /// Waits until the child exits, or kills it once `is_late` returns true.
    fn wait(
        &mut self,
        mut is_late: impl FnMut() -> bool,
    ) -> anyhow::Result<std::process::ExitStatus> {
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if is_late() {
                self.child.kill()?;
                break self.child.wait()?;
            }
            std::thread::sleep(TICK);
        };
        // Before anything else, all remaining output of the child is printed.
        if let Some(messages) = self.messages.take() {
            let _ = messages.join();
        }
        Ok(status)
    }

    /// Why the child has exited. The child has reported the reason itself, unless it was killed. A child that reports
    /// its exit but continues to run is killed.
    fn ended(&mut self) -> anyhow::Error {
        let until = Instant::now() + FAREWELL;
        let status = match self.wait(|| Instant::now() > until) {
            Ok(status) => status,
            Err(e) => return e,
        };
        match status.code().and_then(|code| u8::try_from(code).ok()) {
            Some(code) if code != 0 => Said(code).into(),
            _ => anyhow::anyhow!("the confined process exited unexpectedly ({status})"),
        }
    }
}

/// How long a process has been idle.
struct Silence {
    process: u32,
    used: Option<f64>,
    since: Instant,
}

impl Silence {
    fn of(process: u32) -> Self {
        Self { process, used: None, since: Instant::now() }
    }

    fn lasts(&mut self) -> bool {
        let used = process::cpu_s(self.process);
        // A process that waits for its disk is not idle.
        if used != self.used || process::waits_for_disk(self.process) {
            (self.used, self.since) = (used, Instant::now());
        }
        self.since.elapsed() > SILENCE
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        self.channel = None;
        let until = Instant::now() + if self.serves { FAREWELL } else { Duration::ZERO };
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Whether an environment variable is passed to the child: only variables for this program and for the loader are,
/// because root's other variables may contain secrets.
fn is_passed_on(name: &str) -> bool {
    ["CRYPTBENCH_", "LD_", "RUST_BACKTRACE"].iter().any(|known| name.starts_with(known))
}

/// This program. A test build can use a different program.
#[expect(clippy::disallowed_methods, reason = "this program itself")]
fn program() -> anyhow::Result<std::process::Command> {
    #[cfg(debug_assertions)]
    if let Some(program) = std::env::var_os("CRYPTBENCH_TEST_CHILD") {
        return Ok(std::process::Command::new(program));
    }
    process::this_program().context("cannot start the confined process")
}
