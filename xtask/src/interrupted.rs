//! Signals: resources are dropped before the command exits. `afterwards.rs` handles resources that a script
//! must remove, even after SIGKILL.

use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use cryptbench_os::signals::{Raised, raise};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Interval at which a signal is checked for while a program runs.
const POLL: Duration = Duration::from_millis(100);

/// Set by SIGINT, SIGTERM and SIGHUP, which then no longer end this process.
pub struct Interrupted(Arc<AtomicBool>);

impl Interrupted {
    /// Watches for signals from now on.
    pub fn watch() -> anyhow::Result<Self> {
        let raised = Raised::default();
        raise(&raised, &Arc::default())?;
        Ok(Self(raised.stop))
    }

    /// # Errors
    /// If a signal has arrived.
    pub fn go_on(&self) -> anyhow::Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => bail!("interrupted"),
            false => Ok(()),
        }
    }

    /// Runs a program that prints little, and interrupts it if a signal arrives, because not every signal
    /// reaches it directly.
    pub fn output(&self, command: &mut Command) -> anyhow::Result<Output> {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Ok(self.wait(child.with_context(|| format!("{command:?}"))?, None)?.0)
    }

    /// Like [`output`](Self::output), for a program that was started with pipes. Also interrupts it after the
    /// time `after`, and returns when that happened.
    pub fn wait(
        &self,
        child: Child,
        after: Option<Duration>,
    ) -> anyhow::Result<(Output, Option<Instant>)> {
        let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        let (running, has_ended) = channel::<()>();
        let due = after.map(|after| Instant::now() + after);
        std::thread::scope(|scope| {
            let watching = scope.spawn(move || {
                loop {
                    let left = due.map(|due| due.saturating_duration_since(Instant::now()));
                    let poll = left.map_or(POLL, |left| left.min(POLL));
                    if has_ended.recv_timeout(poll) != Err(RecvTimeoutError::Timeout) {
                        return None;
                    }
                    let now = Instant::now();
                    if self.go_on().is_err() || due.is_some_and(|due| now >= due) {
                        return pidfd_send_signal(&process, Signal::INT).ok().map(|()| now);
                    }
                }
            });
            let out = child.wait_with_output();
            drop(running);
            Ok((out?, watching.join().expect("it does not panic")))
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
        let interrupted = Interrupted(Arc::default());
        let sleeping = Command::new("sleep").arg("60").stdout(Stdio::piped()).spawn().unwrap();
        let (out, at) = interrupted.wait(sleeping, Some(Duration::from_millis(1))).unwrap();
        assert!(!out.status.success() && at.is_some());
        let done = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
        let (out, at) = interrupted.wait(done, Some(Duration::from_secs(60))).unwrap();
        assert!(out.status.success() && at.is_none(), "it ended by itself");
    }
}
