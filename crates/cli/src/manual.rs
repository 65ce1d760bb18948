//! `cryptbench manual`: generates the manual pages from the definitions of the command line.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Command, CommandFactory as _};
use cryptbench_text::shown;

use crate::args::{Args, ManualArgs};
use crate::report::written;
use crate::say::print;

/// Section of the manual for user commands.
const SECTION: &str = "1";

pub fn manual(args: &ManualArgs) -> anyhow::Result<ExitCode> {
    let directory = &args.directory;
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", shown(directory)))?;
    let mut command = Args::command();
    // Propagates the version and fills in the names of subcommands.
    command.build();
    let written = pages(&command, "cryptbench", directory)?;
    print(&format!("{written} manual pages in {}", shown(directory)));
    Ok(ExitCode::SUCCESS)
}

/// Writes the pages of `command` and of all its visible subcommands; returns their number.
fn pages(command: &Command, name: &str, directory: &Path) -> anyhow::Result<usize> {
    let file = directory.join(format!("{name}.{SECTION}"));
    written(&file, cryptbench_os::write_whole(&file, &page(command, name)?))?;
    let mut written = 1;
    for below in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        written += pages(below, &format!("{name}-{}", below.get_name()), directory)?;
    }
    Ok(written)
}

fn page(command: &Command, name: &str) -> anyhow::Result<Vec<u8>> {
    // clap requires names that live as long as the program; there are only a few such names.
    let lasting: &'static str = Box::leak(name.to_owned().into_boxed_str());
    let version = env!("CARGO_PKG_VERSION");
    let man = clap_mangen::Man::new(command.clone().name(lasting).display_name(lasting))
        .title(name.to_uppercase())
        .section(SECTION)
        .source(format!("cryptbench {version}"))
        .manual("User Commands");
    let mut page = Vec::new();
    man.render(&mut page)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use clap::Parser as _;

    use super::*;

    #[test]
    fn the_definitions_hold_together() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_page_for_each_command() {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Args::command();
        command.build();
        let written = pages(&command, "cryptbench", dir.path()).unwrap();
        let names: BTreeSet<String> = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names.len(), written);
        for name in ["cryptbench.1", "cryptbench-run.1", "cryptbench-volume-key-change.1"] {
            assert!(names.contains(name), "{name} in {names:?}");
        }
        assert!(!names.contains("cryptbench-keep-run.1") && !names.contains("cryptbench-help.1"));
        let page = fs::read_to_string(dir.path().join("cryptbench-run.1")).unwrap();
        assert!(page.contains("\\-\\-budget") && page.contains(".SH SYNOPSIS"), "{page}");
    }

    fn repository() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// Markdown files of the root and of docs/.
    fn documents(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap().flatten().map(|e| e.path()) {
            if entry.is_dir() && entry.starts_with(repository().join("docs")) {
                documents(&entry, found);
            } else if entry.extension().is_some_and(|e| e == "md") {
                found.push(entry);
            }
        }
    }

    /// The commands of blocks that are marked `sh` or `console`, continued lines joined.
    fn shell_lines(markdown: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let mut fence: Option<&str> = None;
        let mut open = String::new();
        for line in markdown.lines() {
            if let Some(mark) = line.trim_start().strip_prefix("```") {
                fence = if fence.is_some() { None } else { Some(mark) };
                continue;
            }
            let line = match fence {
                Some("sh" | "bash" | "shell") => line,
                Some("console") => match line.strip_prefix("$ ") {
                    Some(command) => command,
                    None => continue,
                },
                _ => continue,
            };
            match line.trim_end().strip_suffix('\\') {
                Some(part) => open.push_str(part),
                None => lines.push(std::mem::take(&mut open) + line),
            }
        }
        lines
    }

    /// The words of a command up to a comment, a pipe or a redirection, without quotes.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut quote = None;
        for c in line.chars() {
            match (quote, c) {
                (Some(q), c) if c == q => quote = None,
                (Some(_), c) => word.get_or_insert_default().push(c),
                (None, '\'' | '"') => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (None, c) if c.is_whitespace() => words.extend(word.take()),
                (None, '#') if word.is_none() => break,
                (None, '|' | '>' | ';' | '&' | '<') => break,
                (None, c) => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        words
    }

    /// The arguments of `cryptbench` in a line, if it runs it.
    fn arguments(line: &str) -> Option<Vec<String>> {
        let words = words(line);
        let mut rest = &words[..];
        while let [first, more @ ..] = rest {
            match first.as_str() {
                "cryptbench" => return Some(more.to_vec()),
                "cargo" if more.first().is_some_and(|w| w == "run") => {
                    let at = more.iter().position(|w| w == "--")?;
                    return Some(more[at + 1..].to_vec());
                }
                "$" | "sudo" => rest = more,
                // A variable for the command.
                name if name.contains('=') => rest = more,
                _ => return None,
            }
        }
        None
    }

    #[test]
    fn every_command_in_the_documents_is_one_that_is_understood() {
        let mut found = Vec::new();
        documents(&repository(), &mut found);
        documents(&repository().join("docs"), &mut found);
        let mut faults = Vec::new();
        let mut seen = 0;
        for document in found {
            let markdown = fs::read_to_string(&document).unwrap();
            for line in shell_lines(&markdown) {
                let Some(arguments) = arguments(&line) else { continue };
                seen += 1;
                let asked = std::iter::once("cryptbench".to_owned()).chain(arguments);
                if let Err(error) = Args::try_parse_from(asked)
                    && error.use_stderr()
                {
                    faults.push(format!("{}: {line}\n{error}", document.display()));
                }
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        assert!(seen > 30, "only {seen} commands were found");
    }

    #[test]
    fn commands_are_told_from_what_stands_around_them() {
        let found = |line| arguments(line).map(|w| w.join(" "));
        assert_eq!(found("sudo cryptbench run a # b").as_deref(), Some("run a"));
        assert_eq!(found("X=1 cryptbench 'a b' > c").as_deref(), Some("a b"));
        assert_eq!(found("cargo run --release -- run").as_deref(), Some("run"));
        assert_eq!(found("cargo xtask test"), None);
        assert_eq!(found("mkdir cryptbench"), None);
        let markdown = "```sh\na \\\n  b\n```\n```console\n$ c\nout\n```\n```toml\nd\n```\n";
        assert_eq!(shell_lines(markdown), ["a   b", "c"]);
    }
}
