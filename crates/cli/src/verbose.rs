//! `--verbose`: the program's actions, step by step, on standard error.
//!
//! Messages are sent through `tracing`, at the level `info` (`-v`) or `debug` (`-vv`). Messages must not contain
//! secrets: standard input of programs, passphrases and keys are never printed.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use cryptbench_text::printable;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use crate::exit::Refusal;
use crate::say;

/// The environment variable with the same effect, for use if another program starts this program.
const VARIABLE: &str = "CRYPTBENCH_LOG";

/// Fails if the variable does not contain a valid level.
pub fn begin(times: u8) -> anyhow::Result<()> {
    let option = match times {
        0 => LevelFilter::OFF,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let variable = std::env::var_os(VARIABLE).unwrap_or_default();
    let level = variable.to_str().and_then(level).ok_or_else(|| {
        Refusal::usage(Path::new(VARIABLE), "must be off, error, warn, info, debug or trace")
    })?;
    if option.max(level) == LevelFilter::OFF {
        return Ok(());
    }
    tracing_subscriber::fmt()
        .with_max_level(option.max(level))
        .with_level(false)
        .with_target(false)
        .with_ansi(false)
        .with_timer(Stamp)
        .with_writer(|| Said)
        .init();
    let version = env!("CARGO_PKG_VERSION");
    let kernel = cryptbench_os::machine::Machine::this().kernel;
    tracing::info!("cryptbench {version} for {}, kernel {kernel}", std::env::consts::ARCH);
    Ok(())
}

/// Whether messages are enabled.
pub fn is_on() -> bool {
    LevelFilter::current() > LevelFilter::OFF
}

fn level(variable: &str) -> Option<LevelFilter> {
    match variable {
        "" => Some(LevelFilter::OFF),
        some => some.parse().ok(),
    }
}

/// The time of day (UTC) and the process: several processes can take part in one command.
struct Stamp;

impl FormatTime for Stamp {
    fn format_time(&self, to: &mut Writer<'_>) -> fmt::Result {
        let now = UNIX_EPOCH.elapsed().unwrap_or_default();
        let (second, ms) = (now.as_secs() % 86_400, now.subsec_millis());
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(to, "{hour:02}:{minute:02}:{second:02}.{ms:03} [{}]", std::process::id())
    }
}

/// Each write is one event on a single line, so that a name in an event cannot forge another event.
struct Said;

impl io::Write for Said {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        say::note(&printable(String::from_utf8_lossy(event).trim_end()));
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_is_not_known_is_refused() {
        assert_eq!(level(""), Some(LevelFilter::OFF));
        assert_eq!(level("debug"), Some(LevelFilter::DEBUG));
        assert_eq!(level("loud"), None);
    }

    #[test]
    fn a_stamp_is_a_time_of_day_and_a_process() {
        let mut text = String::new();
        Stamp.format_time(&mut Writer::new(&mut text)).unwrap();
        let (time, process) = text.split_once(' ').unwrap();
        assert_eq!(time.len(), "00:00:00.000".len(), "{text}");
        assert_eq!(process, format!("[{}]", std::process::id()));
    }
}
