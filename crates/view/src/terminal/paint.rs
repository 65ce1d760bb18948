//! Colour, applied after the layout so that it cannot disturb it.

use anstyle::{AnsiColor, Style};

/// Emphasises the marks of costs and gains and the title line.
pub(super) fn paint(text: &str, colour: bool) -> String {
    if !colour {
        return text.to_owned();
    }
    let wrap = |style: Style, text: &str| format!("{style}{text}{style:#}");
    let costs = wrap(AnsiColor::Red.on_default().bold(), "▼");
    let gains = wrap(AnsiColor::Cyan.on_default().bold(), "▲");
    let painted = text.replace('▼', &costs).replace('▲', &gains);
    match painted.split_once('\n') {
        Some((title, rest)) if title.starts_with("cryptbench ") => {
            format!("{}\n{rest}", wrap(Style::new().bold(), title))
        }
        _ => painted,
    }
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
    use super::paint;

    #[test]
    fn colour_is_only_put_on_when_asked_for() {
        assert_eq!(paint("a ▼\nb", false), "a ▼\nb");
        let painted = paint("cryptbench 1\nx ▼", true);
        assert!(painted.starts_with("\u{1b}[1mcryptbench 1\u{1b}[0m\n"), "{painted:?}");
        assert!(painted.contains("\u{1b}[31m▼\u{1b}[0m"), "{painted:?}");
    }
}
