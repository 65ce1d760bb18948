//! Signals: what a command has set up is taken down before it ends.

use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How often it is seen whether a signal came while a program runs.
const POLL: Duration = Duration::from_millis(100);

/// Set by SIGINT and SIGTERM, which no longer end this process by themselves.
pub struct Interrupted(Arc<AtomicBool>);

impl Interrupted {
    /// Watches from now on.
    pub fn watch() -> anyhow::Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
        }
        Ok(Self(flag))
    }

    /// # Errors
    /// If a signal came.
    pub fn go_on(&self) -> anyhow::Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => bail!("interrupted"),
            false => Ok(()),
        }
    }

    /// Runs a program that prints little, and interrupts it if a signal comes: not every one reaches it by itself.
    pub fn output(&self, command: &mut Command) -> anyhow::Result<Output> {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        self.wait(child.with_context(|| format!("{command:?}"))?)
    }

    /// As [`output`](Self::output), of a program that was started with pipes.
    pub fn wait(&self, child: Child) -> anyhow::Result<Output> {
        let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        let (running, has_ended) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while has_ended.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                    if self.go_on().is_err() {
                        let _ = pidfd_send_signal(&process, Signal::INT);
                        return;
                    }
                }
            });
            let out = child.wait_with_output();
            drop(running);
            Ok(out?)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_signal_ends_what_runs_and_nothing_is_begun_after_it() {
        let interrupted = Interrupted(Arc::default());
        let out = interrupted.output(Command::new("echo").arg("done")).unwrap();
        assert_eq!(String::from_utf8_lossy(&out.stdout), "done\n");
        let began = Instant::now();
        interrupted.0.store(true, Ordering::Relaxed);
        let out = interrupted.output(Command::new("sleep").arg("60")).unwrap();
        assert!(!out.status.success() && began.elapsed() < Duration::from_secs(30));
        assert!(interrupted.go_on().is_err());
    }
}
