//! SIGINT, SIGTERM and SIGHUP.

use std::io;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

pub(crate) fn when_asked_to_end(mut tell: impl FnMut() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let watch = move || signals.forever().for_each(|_| tell());
    std::thread::Builder::new().name("signals".to_owned()).spawn(watch)?;
    Ok(())
}
