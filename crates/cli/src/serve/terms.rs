//! Expresses refusals in the page's terms: labels of fields in place of command-line options.

use cryptbench_answer::names::capitalised;

/// Options, and the labels of their fields on the page.
const FIELDS: [(&str, &str); 13] = [
    ("builtin-only", "AES-256 alone"),
    ("budget", "Time budget"),
    ("cipher", "Ciphers"),
    ("data-unit", "Sector sizes"),
    ("sector-size", "Sector sizes"),
    ("emulate", "Model"),
    ("profile", "Workload profile"),
    ("set", "Settings of systems"),
    ("size", "Scratch file"),
    ("split", "The pass-throughs of the default systems"),
    ("study", "A published study"),
    ("system", "Encryption systems"),
    ("systems", "Encryption systems"),
];

/// Labels of fields whose options' names say too little.
const SAID: [(&str, &str); 4] = [
    ("like", "Like an earlier run"),
    ("no-why", "Do not measure what explains costs"),
    ("pim", "PIM"),
    ("prf", "PRF"),
];

/// The label of an option's field on the page. Other options keep their name.
pub fn label(option: &str) -> String {
    match FIELDS.iter().chain(&SAID).find(|(name, _)| *name == option) {
        Some((_, label)) => (*label).to_owned(),
        None => capitalised(&option.replace('-', " ")),
    }
}

/// A message with labels of fields in place of options: `--budget` becomes “Time budget”. Commands in backquotes
/// are left unchanged, because they are for a terminal.
pub fn of_the_page(message: &str) -> String {
    let parts: Vec<&str> = message.split('`').collect();
    // A backquote that is never closed is an ordinary character.
    let quoted = |i: usize| i % 2 == 1 && i + 1 < parts.len();
    let mut out = String::with_capacity(message.len());
    for (i, part) in parts.iter().enumerate() {
        match part.strip_prefix("--") {
            Some(name) if quoted(i) && !name.is_empty() && name.chars().all(in_option) => {
                out.push_str(&format!("“{}”", label(name)));
            }
            _ if quoted(i) => out.push_str(&format!("`{part}`")),
            _ => {
                if i % 2 == 1 {
                    out.push('`');
                }
                out.push_str(&text_of_the_page(part));
            }
        }
    }
    out
}

fn in_option(c: char) -> bool {
    c.is_ascii_lowercase() || c == '-'
}

/// Like [`of_the_page`], for text without backquotes.
fn text_of_the_page(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find("--") {
        let (before, option) = rest.split_at(at);
        let name: &str = &option[2..];
        let end = name.find(|c| !in_option(c)).unwrap_or(name.len());
        let is_option = end > 1 && !before.ends_with(|c: char| c.is_alphanumeric() || c == '-');
        // Drops the quotes around the option.
        let before = before.strip_suffix('\'').filter(|_| is_option).unwrap_or(before);
        out.push_str(before);
        if !is_option {
            out.push_str("--");
            rest = name;
            continue;
        }
        out.push_str(&format!("“{}”", label(&name[..end])));
        rest = &name[end..];
        // `<TIME>` means nothing to a reader of the page.
        if let Some(value) = rest.strip_prefix(" <") {
            rest = value.find('>').map_or(rest, |close| &value[close + 1..]);
        }
        rest = rest.strip_prefix('\'').unwrap_or(rest);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_called_as_their_fields() {
        for (message, page) in [
            ("give --budget 30s, or fewer choices", "give “Time budget” 30s, or fewer choices"),
            ("'--study <A|B>' cannot be used", "“A published study” cannot be used"),
            ("a shorter `--trial`", "a shorter “Trial”"),
            ("--max-pairs is 0", "“Max pairs” is 0"),
            ("a -- b, x--y", "a -- b, x--y"),
            (
                "those of `cryptbench ciphers --list` and",
                "those of `cryptbench ciphers --list` and",
            ),
            ("`--profile ./FILE` reads a file", "`--profile ./FILE` reads a file"),
            ("a ` and --budget", "a ` and “Time budget”"),
        ] {
            assert_eq!(of_the_page(message), page);
        }
    }

    #[test]
    fn each_field_of_the_page_is_called_as_here() {
        let page = include_str!("../../../serve/assets/index.html");
        for (option, label) in FIELDS {
            let elsewhere = ["sector-size", "systems"].contains(&option);
            let has_field = page.contains(&format!("id=\"{option}\"")) || elsewhere;
            assert!(has_field && page.to_lowercase().contains(&label.to_lowercase()), "{option}");
        }
    }
}
