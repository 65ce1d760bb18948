//! Determines which files and lines belong to the program and not to its tests.

use std::path::{Component, Path, PathBuf};
use std::{fs, io};

/// Whether a path begins with `crates/NAME/src/`.
pub(crate) fn is_source(file: &Path) -> bool {
    let mut parts = file.components().map(Component::as_os_str);
    parts.next().is_some_and(|first| first == "crates")
        && parts.nth(1).is_some_and(|dir| dir == "src")
}

/// The files among `files` that are built into the program, with their texts. Paths begin at `root`.
pub(crate) fn of_the_program(root: &Path, files: &[PathBuf]) -> io::Result<Vec<(PathBuf, String)>> {
    let mut texts = Vec::new();
    for file in files.iter().filter(|file| is_source(file)) {
        texts.push((file.clone(), fs::read_to_string(root.join(file))?));
    }
    let tests: Vec<_> = texts.iter().flat_map(|(file, text)| test_modules(file, text)).collect();
    let is_test = |file: &Path| {
        tests.iter().any(|module| file.starts_with(module) || *file == module.with_extension("rs"))
    };
    texts.retain(|(file, _)| !is_test(file));
    Ok(texts)
}

/// The lines outside items that are compiled only for tests, with their numbers. A module of tests is the last
/// item of a file. Any other item ends, as rustfmt formats it, in its first line or in a line that only closes
/// it.
pub(crate) fn without_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut lines = (1..).zip(text.lines());
    std::iter::from_fn(move || {
        loop {
            let (number, line) = lines.next()?;
            let code = line.trim_start();
            if !code.starts_with("#[cfg(test)]") {
                return Some((number, line));
            }
            let indent = &line[..line.len() - code.len()];
            let begins = |(_, line): &(usize, &str)| !line.trim_start().starts_with(['#', '/']);
            let (_, first) = lines.by_ref().find(begins)?;
            if module(first).is_some_and(|rest| rest.ends_with('{')) {
                return None;
            }
            let closes = |line: &str| matches!(line.strip_prefix(indent), Some("}" | "};" | ");"));
            if !first.ends_with([';', '}', ',']) {
                lines.by_ref().find(|(_, line)| closes(line));
            }
        }
    })
}

/// The text after `mod` in a line that starts a module.
fn module(line: &str) -> Option<&str> {
    let (before, name) = line.split_once("mod ")?;
    (before.is_empty() || before.starts_with("pub")).then_some(name)
}

/// Modules in separate files that are compiled only for tests, without file extension.
fn test_modules(file: &Path, text: &str) -> Vec<PathBuf> {
    let directory = match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("mod" | "lib" | "main") | None => file.with_file_name(""),
        Some(_) => file.with_extension(""),
    };
    let mut found = Vec::new();
    let mut lines = text.lines().skip_while(|line| *line != "#[cfg(test)]");
    while lines.next().is_some() {
        let mut path = None;
        for line in lines.by_ref().take(2) {
            if let Some(named) =
                line.strip_prefix("#[path = \"").and_then(|l| l.strip_suffix(".rs\"]"))
            {
                path = Some(file.with_file_name(named));
            } else if let Some(name) = module(line).and_then(|l| l.strip_suffix(';')) {
                found.push(path.take().unwrap_or_else(|| directory.join(name)));
                break;
            } else {
                break;
            }
        }
        while lines.clone().next().is_some_and(|line| line != "#[cfg(test)]") {
            lines.next();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_tests_in_files_of_their_own_are_known() {
        let of = |file: &str, text: &str| test_modules(Path::new(file), text);
        let text = "mod a;\n#[cfg(test)]\nmod faults;\nmod b;\n#[cfg(test)]\nmod tests;\n";
        let names = ["crates/x/src/y/faults", "crates/x/src/y/tests"].map(PathBuf::from);
        assert_eq!(of("crates/x/src/y/mod.rs", text), names);
        assert_eq!(of("crates/x/src/y.rs", text), names);
        let text = "#[cfg(test)]\n#[path = \"y_tests.rs\"]\nmod tests;\n";
        assert_eq!(of("crates/x/src/y.rs", text), [PathBuf::from("crates/x/src/y_tests")]);
    }

    #[test]
    fn only_what_is_built_into_the_program_is_looked_through() {
        assert!(is_source(Path::new("crates/cli/src/report.rs")));
        for other in
            ["crates/cli/tests/saving.rs", "crates/stats/examples/coverage.rs", "xtask/src/main.rs"]
        {
            assert!(!is_source(Path::new(other)), "{other}");
        }
    }

    #[test]
    fn items_of_tests_are_not_looked_at() {
        let seen = |text| without_tests(text).map(|(_, line)| line).collect::<Vec<_>>();
        assert_eq!(seen("a\n#[cfg(test)]\npub(super) mod tests {\n    b\n}\n"), ["a"]);
        assert_eq!(seen("a\n#[cfg(test)]\nuse a;\nb\n"), ["a", "b"]);
        let text =
            "a\n#[cfg(test)]\nmod x;\nb\n#[cfg(test)]\nmod tests {\n    x;\n    {\n    }\n}\nc\n";
        assert_eq!(seen(text), ["a", "b"], "it is the last item");
        let inner = "impl X {\n    #[cfg(test)]\n    fn a() {\n        b;\n    }\n}\n";
        assert_eq!(seen(inner), ["impl X {", "}"]);
    }
}
