//! Ctrl-C, Ctrl-Break, the closing of the console, and the end of the session.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT};
use windows_sys::core::BOOL;

use super::call;
use crate::signals::Raised;

/// The number of Ctrl-C's signal on Linux, with which a shell reports how a program exited.
const INTERRUPTED: usize = 2;

/// Wakes the thread that reports.
static ASKED: OnceLock<Sender<()>> = OnceLock::new();

/// For any event except the two key combinations, Windows terminates the process when this handler returns, and after
/// five seconds at the latest.
const LAST: Duration = Duration::from_secs(10);

extern "system" fn asked(event: u32) -> BOOL {
    if let Some(tell) = ASKED.get() {
        let _ = tell.send(());
    }
    if !matches!(event, CTRL_C_EVENT | CTRL_BREAK_EVENT) {
        std::thread::sleep(LAST);
    }
    1
}

pub(crate) fn when_asked_to_end(mut tell: impl FnMut() + Send + 'static) -> io::Result<()> {
    let (sender, told) = channel();
    ASKED.set(sender).map_err(|_| io::Error::from(io::ErrorKind::AlreadyExists))?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || told.iter().for_each(|()| tell()))?;
    call::on_console_event(asked)
}

pub(crate) fn raise(raised: &Raised, _prompting: &Arc<AtomicBool>) -> io::Result<()> {
    let raised = raised.clone();
    when_asked_to_end(move || {
        raised.number.store(INTERRUPTED, Ordering::Relaxed);
        raised.stop.store(true, Ordering::Relaxed);
    })
}
