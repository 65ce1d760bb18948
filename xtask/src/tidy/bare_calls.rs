//! New files, strangers' files and words for people each go through one place: the bare calls are refused elsewhere.

use std::collections::{BTreeSet, HashSet};
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Makes, replaces or names a file.
    Create,
    /// Opens a file by its path.
    Open,
    /// Writes to standard output or standard error.
    Say,
}

impl Kind {
    fn instead(self) -> &'static str {
        match self {
            Self::Create => {
                "new files are made by cryptbench_os (write_whole, NewFile, Directory::create_file)"
            }
            Self::Open => {
                "files are opened by cryptbench_os (read_file, read_text, read_beginning, Directory::open_file)"
            }
            Self::Say => "what is said goes through crates/cli/src/say.rs",
        }
    }
}

const CALLS: &[(&str, Kind)] = &[
    ("fs::write(", Kind::Create),
    ("File::create(", Kind::Create),
    ("File::create_new(", Kind::Create),
    (".create(true)", Kind::Create),
    (".create_new(true)", Kind::Create),
    ("fs::rename(", Kind::Create),
    ("fs::copy(", Kind::Create),
    ("fs::hard_link(", Kind::Create),
    ("files::create_own(", Kind::Create),
    ("fs::read(", Kind::Open),
    ("fs::read_to_string(", Kind::Open),
    ("File::open(", Kind::Open),
    ("File::options()", Kind::Open),
    ("OpenOptions::new()", Kind::Open),
    ("Opening::to_", Kind::Open),
    // `eprintln!` and `eprint!` end in these.
    ("println!(", Kind::Say),
    ("print!(", Kind::Say),
    ("io::stdout()", Kind::Say),
    ("io::stderr()", Kind::Say),
];

/// What the kernel makes up, and nobody can put something else there.
const OF_THE_KERNEL: &[&str] =
    &["\"/proc/", "\"/sys/", "\"/dev/null\"", "\"/dev/fuse\"", "\"/etc/os-release\""];

/// Where bare calls may stand, each with its reason. An entry that nothing needs any more is a fault, too.
const HOMES: &[(&str, Kind, &str)] = &[
    ("crates/cli/src/say.rs", Kind::Say, "the one place"),
    ("crates/cli/src/volume/dump.rs", Kind::Say, "plaintext, as bytes"),
    ("crates/cli/src/volume/mount.rs", Kind::Say, "words to the process that waits for it"),
    ("crates/cli/src/volume/mount.rs", Kind::Open, "the mount itself, and /dev/null"),
    ("crates/cli/src/volume/header.rs", Kind::Open, "a backup, checked once it is open"),
    ("crates/cli/src/volume/secrets.rs", Kind::Open, "a passphrase may come through a pipe"),
    ("crates/cli/src/volume/target.rs", Kind::Open, "the one place that opens a volume"),
    ("crates/kdf/src/memory.rs", Kind::Open, "files of /proc and of cgroups"),
    ("crates/cli/src/doctor/linux/disturbances.rs", Kind::Open, "files of /proc and /sys"),
    ("crates/cli/src/doctor/distribution.rs", Kind::Open, "/etc/os-release"),
    (
        "crates/blockdev/src/linux/file.rs",
        Kind::Open,
        "volumes and targets, checked by those who name them",
    ),
    ("crates/blockdev/src/other.rs", Kind::Open, "the same on other systems"),
    ("crates/export/src/fuse", Kind::Open, "files of /sys"),
    ("crates/os/src/linux", Kind::Open, "files of /proc and /sys; what callers check"),
    ("crates/os/src/linux/files.rs", Kind::Create, "the one place that makes files by their paths"),
    ("crates/os/src/other", Kind::Create, "the one place that makes files on other systems"),
    ("crates/os/src/other", Kind::Open, "the one place that opens files on other systems"),
    ("crates/runner/src/plan/storage", Kind::Open, "targets, with checks of their own"),
    ("crates/runner/src/prepare/emulated.rs", Kind::Open, "the device that the run serves itself"),
    ("crates/runner/src/prepare/volumes.rs", Kind::Create, "containers of a run, for now"),
    ("crates/runner/src/measure", Kind::Create, "files of a run in an arm"),
    ("crates/runner/src/measure", Kind::Open, "files of a run in an arm"),
    ("crates/runner/src/verify", Kind::Create, "files of a run in an arm"),
    ("crates/runner/src/verify", Kind::Open, "files of a run in an arm"),
    (
        "crates/serve/src/runs.rs",
        Kind::Open,
        "regular files of a run, looked at just before; for now",
    ),
    ("crates/system/src/adapter", Kind::Create, "files of a run, for now"),
    ("crates/system/src/adapter", Kind::Open, "files of a run, for now"),
    ("crates/system/src/kind/mapped.rs", Kind::Create, "a file of /sys"),
    ("crates/system/src/kind/mapped.rs", Kind::Open, "a device of a run"),
    ("crates/system/src/machine.rs", Kind::Open, "files of /proc and /lib/modules"),
    ("crates/system/src/prepared.rs", Kind::Open, "/dev/null"),
    ("crates/system/src/provision", Kind::Open, "files of /proc and /sys, devices"),
    ("crates/system/src/resource/stuck.rs", Kind::Create, "a file of /sys"),
    ("crates/system/src/resource", Kind::Open, "files of a run, and of /proc and /sys; for now"),
];

/// Looks through the sources of all crates.
pub fn check(files: &[PathBuf], faults: &mut Vec<String>) -> io::Result<()> {
    let mut texts = Vec::new();
    for file in files.iter().filter(|file| is_source(file)) {
        texts.push((file.as_path(), fs::read_to_string(file)?));
    }
    let tests: HashSet<PathBuf> =
        texts.iter().flat_map(|(file, text)| test_modules(file, text)).collect();
    let mut needed = BTreeSet::new();
    for (file, text) in &texts {
        let is_test = tests
            .iter()
            .any(|module| file.starts_with(module) || **file == module.with_extension("rs"));
        if !is_test {
            faults.extend(bare_calls(file, text, &mut needed));
        }
    }
    let idle = (0..HOMES.len()).filter(|home| !needed.contains(home));
    faults.extend(idle.map(|home| {
        let (place, kind, _) = HOMES[home];
        format!("xtask/src/tidy/bare_calls.rs: {place} needs no exception ({kind:?}) any more")
    }));
    Ok(())
}

/// `crates/NAME/src/`.
pub(super) fn is_source(file: &Path) -> bool {
    let mut parts = file.components().map(Component::as_os_str);
    parts.next().is_some_and(|first| first == "crates")
        && parts.nth(1).is_some_and(|dir| dir == "src")
}

/// The bare calls of a file outside of its tests. Exceptions that it needs are entered in `needed`.
fn bare_calls(file: &Path, text: &str, needed: &mut BTreeSet<usize>) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in without_tests(text) {
        let code = line.trim_start();
        if code.starts_with("//") {
            continue;
        }
        let Some((call, kind)) = CALLS.iter().find(|(call, _)| code.contains(call)) else {
            continue;
        };
        if *kind != Kind::Say && OF_THE_KERNEL.iter().any(|path| code.contains(path)) {
            continue;
        }
        let home = HOMES.iter().position(|(place, of, _)| of == kind && file.starts_with(place));
        match home {
            Some(home) => {
                needed.insert(home);
            }
            None => faults.push(format!("{}:{number}: {call}: {}", file.display(), kind.instead())),
        }
    }
    faults
}

/// The lines with their numbers up to the module of tests, which is the last item of a file.
pub(super) fn without_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut lines = text.lines().zip(1..).peekable();
    std::iter::from_fn(move || {
        let (line, number) = lines.next()?;
        let next = lines.peek().map_or("", |(next, _)| next);
        let is_module = module(next).is_some_and(|rest| rest.ends_with('{'));
        (!(line == "#[cfg(test)]" && is_module)).then_some((number, line))
    })
}

/// What follows `mod` in a line that begins a module.
fn module(line: &str) -> Option<&str> {
    let (before, name) = line.split_once("mod ")?;
    (before.is_empty() || before.starts_with("pub")).then_some(name)
}

/// Modules in files of their own that are compiled for tests only, without their ending.
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

    fn found(place: &str, text: &str) -> usize {
        bare_calls(Path::new(place), text, &mut BTreeSet::new()).len()
    }

    #[test]
    fn every_bare_call_is_found() {
        for (call, _) in CALLS {
            let text = format!("//! Opens.\nfn f() {{\n    let x = std::{call}y);\n}}\n");
            assert_eq!(found("crates/record/src/io.rs", &text), 1, "{call}");
        }
        let said = bare_calls(
            Path::new("crates/cli/src/report.rs"),
            "//! Opens.\nfn f() {\n    eprintln!(\"{name}\");\n}\n",
            &mut BTreeSet::new(),
        );
        assert!(said[0].starts_with("crates/cli/src/report.rs:3: println!(: "), "{said:?}");
    }

    #[test]
    fn comments_tests_homes_and_files_of_the_kernel_are_let_alone() {
        let text = "// fs::write(path)\nlet a = fs::read_to_string(\"/proc/mounts\");\n#[cfg(test)]\nmod tests {\n    fs::write(a, b);\n}\n";
        assert_eq!(found("crates/record/src/io.rs", text), 0);
        let text = "    let out = io::stdout();\n";
        assert_eq!(
            (found("crates/cli/src/say.rs", text), found("crates/cli/src/run.rs", text)),
            (0, 1)
        );
        // What is allowed to print is not allowed to write.
        assert_eq!(found("crates/cli/src/say.rs", "    fs::write(a, b);\n"), 1);
        let shared = "#[cfg(test)]\npub(super) mod tests {\n    eprintln!(a);\n}\n";
        assert_eq!(found("crates/cipher/src/mode.rs", shared), 0);
        // A test that is only mentioned ends nothing.
        assert_eq!(found("crates/record/src/io.rs", "#[cfg(test)]\nuse a;\nfs::write(a, b);\n"), 1);
    }

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
}
