//! Checks that each word has one meaning: retired words must not be used again.

use std::path::Path;

/// A retired word, its replacement, and the texts in which it may still occur.
const RETIRED: &[(&str, &str, &[&str])] = &[
    ("contender", "arm", &[]),
    // The directory keeps the name from earlier versions.
    ("ledger", "journal", &["ledgers\"", "ledgers/", "ledgers`", "cryptbench/ledgers"]),
    ("Surface", "IoTarget", &["cryptbench_devices", "devices::"]),
    ("stamper", "verify header", &[]),
    ("crew", "worker pool", &[]),
    ("deed", "make", &[]),
    ("Resolved", "Plan", &[]),
];

/// Crates in which a word has another, established meaning.
const ELSEWHERE: &[(&str, &str)] = &[
    ("Surface", "crates/devices"),
    ("Surface", "crates/runner/src/prepare/emulated.rs"),
    ("Surface", "crates/view"),
];

/// Finds the retired words in `text`.
pub fn check(file: &Path, text: &str, faults: &mut Vec<String>) {
    if file.ends_with("tidy/words.rs") {
        return;
    }
    for (word, now, allowed) in RETIRED {
        if ELSEWHERE.iter().any(|(w, place)| w == word && file.starts_with(place)) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            if has(line, word) && !allowed.iter().any(|part| line.contains(part)) {
                let line = number + 1;
                faults.push(format!("{}:{line}: {word} is called {now} now", file.display()));
            }
        }
    }
}

/// Whether `line` contains `word` or its plural. Words that begin with a capital letter are names
/// of types.
fn has(line: &str, word: &str) -> bool {
    let is_type = word.starts_with(char::is_uppercase);
    let line = if is_type { line.to_owned() } else { line.to_lowercase() };
    let part = |c: char| c.is_alphanumeric() || (is_type && c == '_');
    line.match_indices(word).any(|(at, _)| {
        let after = line[at + word.len()..].trim_start_matches('s');
        !line[..at].ends_with(part) && !after.starts_with(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(file: &str, text: &str) -> usize {
        let mut faults = Vec::new();
        check(Path::new(file), text, &mut faults);
        faults.len()
    }

    #[test]
    fn a_retired_word_is_refused_in_every_guise() {
        let file = "crates/runner/src/run.rs";
        assert_eq!(faults(file, "// The contenders.\nstruct Contender;"), 2);
        assert_eq!(faults(file, "let my_ledger = 1;"), 1);
        assert_eq!(faults(file, "Path::new(\"ledgers\")"), 0);
        assert_eq!(faults(file, "fn f(s: &Surface) {} // the surface of a disk"), 1);
        assert_eq!(faults("crates/devices/src/model.rs", "enum Surface {}"), 0);
    }
}
