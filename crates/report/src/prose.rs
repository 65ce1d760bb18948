//! Text in columns, and large numbers: shared by everything that this program prints on a terminal.

use std::fmt::Display;

/// `text` in lines of `width` columns, of which the first begins with `first` and the others with `next`. Words longer
/// than a line are broken rather than overflow; control characters of foreign text become spaces, so that they cannot
/// control the terminal.
#[must_use]
pub fn wrap(text: &str, first: &str, next: &str, width: usize) -> String {
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(next)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(&clean(text), options)
}

/// `text` with a space in place of each control character.
#[must_use]
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A number without its decimals, and with a comma before every three digits.
#[must_use]
pub fn thousands(value: impl Display) -> String {
    // The precision has no effect on an integer.
    let plain = format!("{value:.0}");
    let (sign, number) = match plain.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", plain.as_str()),
    };
    let mut out = String::from(sign);
    for (i, c) in number.chars().enumerate() {
        if i > 0 && (number.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        assert_eq!([0, 999, 1000, 10_014_000].map(thousands), ["0", "999", "1,000", "10,014,000"]);
        assert_eq!([-1234.4, 0.6, 1e6].map(thousands), ["-1,234", "1", "1,000,000"]);
    }

    #[test]
    fn lines_are_indented_and_nothing_in_them_steers_the_terminal() {
        assert_eq!(wrap("one two\x1b three", "- ", "  ", 9), "- one two\n  three");
        assert_eq!(wrap("one-two-three", "", "", 5), "one-t\nwo-th\nree");
    }
}
