//! SIGINT, SIGTERM and SIGHUP, and SIGXFSZ.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag::{register, register_conditional_default, register_usize};
use signal_hook::iterator::Signals;

use crate::signals::Raised;

pub(crate) fn when_asked_to_end(mut tell: impl FnMut() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let watch = move || signals.forever().for_each(|_| tell());
    std::thread::Builder::new().name("signals".to_owned()).spawn(watch)?;
    Ok(())
}

pub(crate) fn raise(raised: &Raised, prompting: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in [SIGHUP, SIGTERM] {
        register_conditional_default(signal, Arc::clone(prompting))?;
    }
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        register_usize(signal, Arc::clone(&raised.number), signal as usize)?;
        register(signal, Arc::clone(&raised.stop))?;
    }
    register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    Ok(())
}
