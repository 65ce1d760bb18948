//! A signal sets a flag that long operations check, so that everything is cleaned up before the program exits.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use anyhow::Context as _;
use cryptbench_os::signals::{Raised, raise};

/// Set while a passphrase is being read. Nothing has been set up yet, and a signal would not interrupt the read, so a
/// signal must end the program as usual. (Ctrl-C reaches the prompt as a character.)
pub static PROMPTING: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// The signals after which a command cleans up and exits.
pub struct Signal {
    /// Raised by a signal.
    pub stop: Arc<AtomicBool>,
    number: Arc<AtomicUsize>,
}

impl Signal {
    /// Watches from now on.
    pub fn watch() -> anyhow::Result<Self> {
        let raised = Raised::default();
        raise(&raised, &PROMPTING).context("cannot watch for signals")?;
        Ok(Self { stop: raised.stop, number: raised.number })
    }

    /// The signal that arrived, if any.
    pub fn number(&self) -> Option<u8> {
        match self.number.load(Ordering::Relaxed) {
            0 => None,
            n => Some(n as u8),
        }
    }
}
