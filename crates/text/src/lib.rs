//! Makes strings from other sources safe to print on a terminal and in an HTML page.
//!
//! A volume header, a record, another program's result or a file name can contain escape sequences that change the
//! title of a terminal, clear the screen, or imitate a line of this program. This crate replaces such characters with
//! their code point in Rust's notation: `\u{1b}`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod chain;
pub mod names;
mod shell;
mod sizes;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

pub use chain::chain;
pub use shell::{quoted, quoted_path};
pub use sizes::{human, human_both};

/// The prefix of each message on standard error.
pub const SPEAKER: &str = "cryptbench: ";

/// `text` as one line, without characters that control a terminal or reorder text.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Like [`printable`], for text with several lines: keeps line breaks and tabs.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// A path as one line of a message: [`printable`], with bytes that are not UTF-8 replaced.
///
/// Every file name in a message is formatted with this function: after a line break in the name, an attacker
/// could choose the text of a whole line.
pub fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}

/// `text` with a space instead of each control character, for text that will be wrapped.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A JSON text in which such characters in strings are escaped as JSON escapes (RFC 8259, section 7), so that
/// its meaning does not change.
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    // Outside strings these are white space; within strings JSON does not permit them.
    let stays = |c| matches!(c, '\n' | '\t' | '\r');
    replaced(json, stays, |out, c| {
        let _ = write!(out, "\\u{:04x}", u32::from(c));
    })
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    replaced(text, stays, |out, c| {
        let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
    })
}

fn replaced(
    text: &str,
    stays: impl Fn(char) -> bool,
    write: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    if !text.chars().any(|c| steers(c) && !stays(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if steers(c) && !stays(c) {
            write(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Whether a character controls a terminal or reorders text: control characters (C0, DEL, C1;
/// ECMA-48), line and paragraph separators, and characters that change the direction of text
/// (Unicode Standard Annex 9).
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}')
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_by_its_number() {
        let hostile = "a\x1b[2J\x1b]0;title\x07b\r\u{9b}31m\u{202e}c\u{2028}\x7f";
        let shown = printable(hostile);
        assert!(!shown.chars().any(steers), "{shown}");
        assert!(shown.starts_with("a\\u{1b}[2J\\u{1b}]0;title\\u{7}b\\u{d}"), "{shown}");
    }

    #[test]
    fn ordinary_text_is_borrowed_and_unchanged() {
        let text = "Größe 4 KiB, µs, 日本語, 50 % ±3";
        assert!(matches!(printable(text), Cow::Borrowed(t) if t == text));
    }

    #[test]
    fn only_lines_of_text_may_break_and_hold_tabs() {
        assert_eq!(printable("a\nb\t"), "a\\u{a}b\\u{9}");
        assert_eq!(printable_lines("a\nb\t\x1b"), "a\nb\t\\u{1b}");
        assert_eq!(shown(Path::new("a\nb\t\x1b")), "a\\u{a}b\\u{9}\\u{1b}");
    }

    #[test]
    fn json_means_the_same_after_it_was_escaped() {
        let json = "{\n  \"a\": \"x\u{9b}y\u{202e}\u{7f}\"\n}";
        let escaped = escaped_json(json);
        assert_eq!(escaped, "{\n  \"a\": \"x\\u009by\\u202e\\u007f\"\n}");
    }
}
