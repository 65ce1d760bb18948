//! Quotes words for commands that a shell reads.

use std::path::Path;

use crate::printable;

/// A word for a POSIX shell. Backslashes are outside the quotes, because fish treats them as escapes within
/// quotes.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./,:%+@=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let inside = |c: char| match c {
        '\'' | '\\' => format!(r"'\{c}'"),
        _ => c.to_string(),
    };
    format!("'{}'", word.chars().map(inside).collect::<String>())
}

/// A path as a word of a command in a message. Unprintable bytes are written as in POSIX.1-2024: `$'\xff'`.
pub fn quoted_path(path: &Path) -> String {
    match path.to_str() {
        Some(text) if printable(text) == text => quoted(text),
        _ => {
            let bytes = path.as_os_str().as_encoded_bytes().iter();
            format!("$'{}'", bytes.map(|b| b.escape_ascii().to_string()).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_commands_are_quoted() {
        let quoted = |path: &str| quoted_path(Path::new(path));
        assert_eq!(quoted("/dev/sda1"), "/dev/sda1");
        assert_eq!(quoted("/mnt/disk-1"), "/mnt/disk-1");
        assert_eq!(quoted("/mnt/my disk; rm"), "'/mnt/my disk; rm'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(r"a\b"), r"'a'\\'b'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a\nit's \u{9b}"), r"$'a\nit\'s \xc2\x9b'");
    }
}
