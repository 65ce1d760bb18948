//! All output of the program is printed by this module, so that untrusted text cannot control the terminal.
//!
//! File names, records, volume headers and messages from other programs may contain escape sequences. Text for people
//! is printed without control characters, except line breaks and tabs; if it is coloured, the sequences of this
//! program's styles are also allowed. Machine-readable formats are printed unchanged: the code that reads records,
//! results from other tools and the history has already made the strings printable. A closed pipe is the reader's
//! choice; after any other failed write to standard output, the program exits with an error ([`finish`]).
#![expect(clippy::disallowed_methods, reason = "the one place")]

use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use cryptbench_text::{SPEAKER, escaped_json, printable, printable_lines};
use cryptbench_view::terminal::Style;

/// The escape sequences of `view::terminal::paint`, `kdf::table` and clap's default styles.
const OWN: [&str; 7] =
    ["\x1b[0m", "\x1b[1m", "\x1b[4m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"];

/// The error because of which standard output is incomplete.
static UNPRINTED: OnceLock<io::Error> = OnceLock::new();

/// Prints text and a newline.
pub fn print(text: &str) {
    out(&[printable_lines(text).as_bytes(), b"\n"]);
}

/// Prints text that may contain the colours of `style`.
pub fn print_styled(text: &str, style: Style) {
    out(&[shown(text, style.colour).as_bytes()]);
}

/// Prints an object as JSON.
pub fn print_json(object: &impl serde::Serialize) -> anyhow::Result<()> {
    print_json_text(&serde_json::to_string_pretty(object)?);
    Ok(())
}

/// Prints text that is already JSON.
pub fn print_json_text(text: &str) {
    out(&[escaped_json(text).as_bytes(), b"\n"]);
}

/// Prints a machine-readable text format, with a newline at its end.
pub fn print_text(text: &str) {
    out(&[text.trim_end().as_bytes(), b"\n"]);
}

/// Writes a machine-readable format.
pub fn print_bytes(bytes: &[u8]) {
    out(&[bytes]);
}

fn out(parts: &[&[u8]]) {
    let mut stdout = io::stdout().lock();
    note_failure(parts.iter().try_for_each(|part| stdout.write_all(part)));
}

fn note_failure(done: io::Result<()>) {
    match done {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => drop(UNPRINTED.set(e)),
        _ => {}
    }
}

/// Finishes all output. If standard output is incomplete, reports this and turns success into failure.
pub fn finish(code: ExitCode) -> ExitCode {
    note_failure(io::stdout().lock().flush());
    let Some(error) = UNPRINTED.get() else { return code };
    message(&format!("cannot write to standard output: {error}"));
    if code == ExitCode::SUCCESS { ExitCode::from(crate::exit::FAILURE) } else { code }
}

/// Prints a message to standard error, after the program's name. The message is a single line, so that a name in it
/// cannot forge another message.
pub fn message(text: &str) {
    message_lines(&printable(text));
}

/// Like [`message`], for a text that quotes lines from a file and in which all names are
/// [shown](cryptbench_text::shown).
pub fn message_lines(text: &str) {
    // The terminal may have been closed, but the work must continue.
    let text = for_people(text);
    let _ = writeln!(io::stderr().lock(), "{SPEAKER}{}", printable_lines(&text));
}

/// Removes the operating system's error numbers, and any cause that repeats the error above it.
fn for_people(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" (os error ") {
        words += before;
        let number = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        rest = match number.strip_prefix(')') {
            Some(behind) => behind,
            None => {
                words += " (os error ";
                after
            }
        };
    }
    words + rest
}

/// Prints a message to standard error, without the program's name.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable_lines(text));
}

/// Writes an object as one line of JSON to standard error.
pub fn json_line(object: &serde_json::Value) -> io::Result<()> {
    let line = object.to_string();
    io::stderr().lock().write_all(format!("{}\n", escaped_json(&line)).as_bytes())
}

/// Prints clap's output: help and version to standard output, errors in the command line to standard error.
pub fn command_line(error: &clap::Error) -> ExitCode {
    let text = error.render();
    let shown = |terminal: bool| {
        let colour = coloured(terminal);
        shown(&if colour { text.ansi().to_string() } else { text.to_string() }, colour)
    };
    match error.use_stderr() {
        true => drop(io::stderr().lock().write_all(shown(stderr_is_terminal()).as_bytes())),
        false => out(&[shown(stdout_is_terminal()).as_bytes()]),
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

pub fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

pub fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Width and colour of standard output.
pub fn terminal_style(is_terminal: bool) -> Style {
    // COLUMNS has priority (POSIX, 8.3) over the terminal's width.
    let asked = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let told = || cryptbench_os::terminal::width().map(usize::from);
    let width = asked.or_else(told).filter(|w| *w > 0);
    Style { width: width.unwrap_or(80).clamp(60, 200), colour: coloured(is_terminal) }
}

/// Whether to use colour: only on a terminal, and never if NO_COLOR (no-color.org) is set or the terminal is dumb.
fn coloured(is_terminal: bool) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    is_terminal && !set("NO_COLOR") && !dumb && cryptbench_os::terminal::takes_colours()
}

fn shown(text: &str, colour: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b').filter(|_| colour) {
        out.push_str(&printable_lines(&rest[..at]));
        let own = OWN.iter().find(|own| rest[at..].starts_with(**own));
        out.push_str(&own.map_or_else(|| printable("\x1b"), |own| (*own).into()));
        rest = &rest[at + own.map_or(1, |own| own.len())..];
    }
    out.push_str(&printable_lines(rest));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_no_numbers() {
        let said = for_people("a: No such file (os error 2); do this (os error -5)");
        assert_eq!(said, "a: No such file; do this");
        for same in ["x: x: y", "told (os error of 1)", "a\nb: c"] {
            assert_eq!(for_people(same), same);
        }
    }

    #[test]
    fn only_our_own_colours_pass_and_only_where_there_are_colours() {
        let text =
            "\x1b[1mtitle\x1b[0m\n\x1b[31m▼\x1b[0m \x1b[2J\x1b]0;x\x07\x1b[8mhidden\u{9b}31m";
        let coloured = shown(text, true);
        assert!(
            coloured.starts_with("\x1b[1mtitle\x1b[0m\n\x1b[31m▼\x1b[0m \\u{1b}[2J"),
            "{coloured:?}"
        );
        assert_eq!(coloured.matches('\x1b').count(), 4, "{coloured:?}");
        assert!(!coloured.contains(['\x07', '\u{9b}']), "{coloured:?}");
        let plain = shown(text, false);
        assert!(!plain.contains(|c: char| c.is_control() && c != '\n'), "{plain:?}");
    }

    #[test]
    fn the_colours_of_every_report_and_of_clap_are_our_own() {
        let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/readme.json");
        let record = cryptbench_record::read(fixture.as_ref()).unwrap();
        let labelled = cryptbench_answer::Labelled::of(&record);
        let style = Style { width: 120, colour: true };
        let report = cryptbench_view::terminal::render(&labelled.report(), style);
        let usage = <crate::args::Args as clap::Parser>::try_parse_from(["cryptbench", "--nosuch"]);
        let error = usage.unwrap_err().render().ansi().to_string();
        let help = <crate::args::Args as clap::Parser>::try_parse_from(["cryptbench", "--help"]);
        let help = help.unwrap_err().render().ansi().to_string();
        for text in [report, error, help] {
            assert!(text.contains('\x1b'), "{text}");
            assert_eq!(shown(&text, true), text);
        }
    }
}
