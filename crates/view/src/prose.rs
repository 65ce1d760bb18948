//! Text in columns, which everything that this program prints on a terminal uses.

use cryptbench_text::clean;

/// Wraps `text` to lines of `width` columns. The first line starts with `first`, the others with `next`. Words
/// longer than a line are broken. Control characters in text from other sources become spaces, so that they
/// cannot control the terminal.
pub fn wrap(text: &str, first: &str, next: &str, width: usize) -> String {
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(next)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(&clean(text), options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_indented_and_nothing_in_them_steers_the_terminal() {
        assert_eq!(wrap("one two\x1b three", "- ", "  ", 9), "- one two\n  three");
        assert_eq!(wrap("one-two-three", "", "", 5), "one-t\nwo-th\nree");
    }
}
