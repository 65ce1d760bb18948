//! Signals: a flag that long work checks, so that everything is taken down before the program ends.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use anyhow::Context as _;

/// Set while a passphrase is read: nothing has been set up then, and reading continues after a signal,
/// which must end the program as usual. (Ctrl-C reaches the prompt as a character.)
pub static PROMPTING: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// The signals that end a command in good order.
pub struct Signal {
    /// Raised by a signal.
    pub stop: Arc<AtomicBool>,
    number: Arc<AtomicUsize>,
}

impl Signal {
    /// Watches from now on.
    pub fn watch() -> anyhow::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
        let stop = Arc::new(AtomicBool::new(false));
        let number = Arc::new(AtomicUsize::new(0));
        for signal in [SIGHUP, SIGTERM] {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&PROMPTING))
                .context("cannot watch for signals")?;
        }
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            signal_hook::flag::register_usize(signal, Arc::clone(&number), signal as usize)
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
                .context("cannot watch for signals")?;
        }
        // A file size limit then fails the write with an error instead of killing the program.
        signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))
            .context("cannot watch for signals")?;
        Ok(Self { stop, number })
    }

    /// The signal that came, if any.
    pub fn number(&self) -> Option<u8> {
        match self.number.load(Ordering::Relaxed) {
            0 => None,
            n => Some(n as u8),
        }
    }
}
