//! Which files and lines are the program's, and not its tests.

use std::path::{Component, Path, PathBuf};

/// Whether a path begins with `crates/NAME/src/`.
pub(super) fn is_source(file: &Path) -> bool {
    let mut parts = file.components().map(Component::as_os_str);
    parts.next().is_some_and(|first| first == "crates")
        && parts.nth(1).is_some_and(|dir| dir == "src")
}

/// The lines with their numbers, up to the module of tests, which is the last item of a file.
pub(super) fn without_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut lines = text.lines().zip(1..).peekable();
    std::iter::from_fn(move || {
        let (line, number) = lines.next()?;
        let next = lines.peek().map_or("", |(next, _)| next);
        let is_module = module(next).is_some_and(|rest| rest.ends_with('{'));
        (!(line == "#[cfg(test)]" && is_module)).then_some((number, line))
    })
}

/// The text after `mod` in a line that begins a module.
fn module(line: &str) -> Option<&str> {
    let (before, name) = line.split_once("mod ")?;
    (before.is_empty() || before.starts_with("pub")).then_some(name)
}

/// Modules in separate files that are compiled only for tests, without file extension.
pub(super) fn test_modules(file: &Path, text: &str) -> Vec<PathBuf> {
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
    fn only_a_module_of_tests_ends_what_is_looked_at() {
        let seen = |text| without_tests(text).count();
        assert_eq!(seen("a\n#[cfg(test)]\nmod tests {\n    b\n}\n"), 1);
        assert_eq!(seen("a\n#[cfg(test)]\npub(super) mod tests {\n    b\n}\n"), 1);
        assert_eq!(seen("a\n#[cfg(test)]\nuse a;\nb\n"), 4);
    }
}
