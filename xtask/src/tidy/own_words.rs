//! Numbers become words once: the crates that write the report decide by values, not by parts of a text.

use std::path::Path;

use super::sources::without_tests;

/// The crates that turn a record into output.
const CRATES: &[&str] = &["crates/estimate/src", "crates/answer/src", "crates/view/src"];

/// Methods that look for a part of a text.
const PARSING: &[&str] = &[
    ".ends_with(",
    ".starts_with(",
    ".split_once(",
    ".rsplit_once(",
    ".strip_prefix(",
    ".strip_suffix(",
    ".contains(\"",
    ".find(\"",
    ".split(\"",
];

/// Files that may read text, each with its source.
const ELSEWHERE: &[(&str, &str)] = &[
    ("crates/answer/src/advice/risks.rs", "settings and ciphers of a record"),
    ("crates/answer/src/names.rs", "labels in the notes of a record"),
    ("crates/answer/src/open.rs", "a reason in a record, whose evidence is in parentheses"),
    ("crates/answer/src/quantity.rs", "the digits of a number"),
    ("crates/answer/src/wording.rs", "a flush of a record; names that contain commas"),
    ("crates/view/src/charts.rs", "characters that a file name cannot have"),
    ("crates/view/src/drawing/svg.rs", "the digits of a number"),
    ("crates/view/src/table/csv.rs", "fields that a spreadsheet would execute"),
    ("crates/view/src/table/markdown.rs", "characters that would be markup"),
];

/// Finds calls in `text`, a file of a crate, that look for a part of a text.
pub fn check(file: &Path, text: &str, faults: &mut Vec<String>) {
    let is_listed = || ELSEWHERE.iter().any(|(place, _)| file == Path::new(place));
    if !CRATES.iter().any(|of| file.starts_with(of)) || is_listed() {
        return;
    }
    for (number, line) in without_tests(text) {
        if let Some(call) = PARSING.iter().find(|call| line.contains(*call)) {
            let name = file.display();
            faults.push(format!(
                "{name}:{number}: {call} reads a text to decide: take the value from which it was made"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_only_where_it_is_foreign() {
        let faults = |file: &str, text: &str| {
            let mut faults = Vec::new();
            check(Path::new(file), text, &mut faults);
            faults.len()
        };
        let place = "crates/view/src/terminal/mod.rs";
        let line = "let shown = line.strip_suffix(\" arms by turns\");\n";
        assert_eq!(faults(place, line), 1);
        assert_eq!(faults(place, "names.contains(&name)"), 0);
        assert_eq!(faults(place, &format!("#[cfg(test)]\nmod tests {{\n{line}}}\n")), 0);
        assert_eq!(faults("crates/foreign/src/dd.rs", line), 0);
        assert_eq!(faults(ELSEWHERE[0].0, line), 0);
    }
}
