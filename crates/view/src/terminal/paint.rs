//! Colour, which is applied after the layout so that it cannot affect the layout.

use anstyle::{AnsiColor, Style};

/// Emphasises the marks for losses and gains.
pub(super) fn paint(text: &str, colour: bool) -> String {
    if !colour {
        return text.to_owned();
    }
    let wrap = |style: Style, text: &str| format!("{style}{text}{style:#}");
    let costs = wrap(AnsiColor::Red.on_default().bold(), "▼");
    let gains = wrap(AnsiColor::Cyan.on_default().bold(), "▲");
    text.replace('▼', &costs).replace('▲', &gains)
}

/// Each line of `text` in bold.
pub(super) fn bold(text: &str, colour: bool) -> String {
    if !colour {
        return text.to_owned();
    }
    let bold = Style::new().bold();
    text.lines().map(|line| format!("{bold}{line}{bold:#}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{bold, paint};

    #[test]
    fn colour_is_only_put_on_when_asked_for() {
        assert_eq!(paint("a ▼\nb", false), "a ▼\nb");
        assert_eq!(bold("a\nb", true), "\u{1b}[1ma\u{1b}[0m\n\u{1b}[1mb\u{1b}[0m");
        assert!(paint("x ▼", true).contains("▼\u{1b}[0m"));
    }
}
