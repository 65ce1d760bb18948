//! The transcripts in README.md and docs/ are the output of the program for the tests' records.
//!
//! A block after `<!-- generated: cargo xtask readme NAME -->` shows one command on the record NAME.json, or on
//! readme.json if there is no name. If `CRYPTBENCH_WRITE` is set in the environment, as `cargo xtask readme` does,
//! the blocks are rewritten.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::{Sandbox, text};

const OPENING: &str = "<!-- generated: cargo xtask readme";
const CONSOLE: &str = "```console\n$ ";
const END: &str = "\n```\n<!-- end of generated -->";

/// Maximum number of lines of a screen, and of a screen with a ranking.
const SCREEN: usize = 24;
const RANKED: usize = 35;

/// Answers `run` with the output for an existing record.
const SHIM: &str = r#"#!/bin/sh
if [ "$1" = run ]; then
    quiet=
    for word; do [ "$word" != --quiet ] || quiet=--quiet; done
    exec "$CRYPTBENCH" report last $quiet
fi
exec "$CRYPTBENCH" "$@"
"#;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn record_of(name: &str) -> PathBuf {
    let name = if name.is_empty() { "readme" } else { name };
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{name}.json"))
}

/// Returns `page` with the current output of its commands.
fn with_transcripts(page: &str) -> String {
    let mut made = String::new();
    let mut rest = page;
    while let Some((before, block)) = rest.split_once(OPENING) {
        let (name, block) = block.split_once(" -->\n").expect("the end of the mark");
        let block = block.strip_prefix(CONSOLE).expect("a console block with a command");
        let (command, shown) = block.split_once('\n').expect("lines");
        let (_, after) = format!("\n{shown}")
            .split_once(END)
            .map(|(shown, after)| (shown.to_owned(), after.to_owned()))
            .expect("the end of the block");
        let printed = printed(command, &record_of(name.trim()));
        made += &format!("{before}{OPENING}{name} -->\n{CONSOLE}{command}\n{printed}{END}");
        rest = &rest[rest.len() - after.len()..];
    }
    made + rest
}

/// The output of `command` in a terminal of 80 columns if the newest run is that of `record`.
fn printed(command: &str, record: &Path) -> String {
    let sandbox = Sandbox::new();
    sandbox.keep_run(record);
    let done = sandbox.shell(SHIM, &command.replace("cargo run --release --", "cryptbench"));
    assert!(done.status.success(), "{command}: {}", text(&done.stderr));
    text(&done.stdout).trim_end().to_owned()
}

#[test]
fn every_transcript_is_what_the_program_prints_for_that_record() {
    let mut seen = 0;
    for document in crate::readme::documents() {
        let page = fs::read_to_string(&document).unwrap();
        let blocks = page.matches(OPENING).count();
        if blocks == 0 {
            continue;
        }
        seen += blocks;
        let made = with_transcripts(&page);
        if std::env::var_os("CRYPTBENCH_WRITE").is_some() {
            fs::write(&document, made).unwrap();
            continue;
        }
        for (i, (shown, printed)) in page.lines().zip(made.lines()).enumerate() {
            let at = format!("{}:{}", document.display(), i + 1);
            assert_eq!(shown, printed, "{at}: `cargo xtask readme` writes it anew");
        }
        assert_eq!(page, made, "{}", document.display());
    }
    assert!(seen >= 5, "only {seen} transcripts were found");
}

#[test]
fn no_transcript_is_longer_than_a_screen_or_wider_than_80_columns() {
    for document in crate::readme::documents() {
        let page = fs::read_to_string(&document).unwrap();
        for block in page.split(OPENING).skip(1) {
            let block = block.split_once(CONSOLE).unwrap().1.split("\n```").next().unwrap();
            let (command, shown) = block.split_once('\n').unwrap();
            let limit = if command.contains("systems all") { RANKED } else { SCREEN };
            let lines: Vec<&str> = shown.lines().collect();
            assert!(lines.len() <= limit, "{command}: {} lines", lines.len());
            // The path of the page is never wrapped, and neither are Markdown tables.
            let wide = |l: &&&str| textwrap::core::display_width(l) > 80;
            let free = |l: &&&str| l.ends_with("report.html") || l.starts_with('|');
            let over: Vec<_> = lines.iter().filter(wide).filter(|l| !free(l)).collect();
            assert!(over.is_empty(), "{command}: {over:?}");
        }
    }
}

#[test]
fn the_records_of_transcripts_are_this_schema_and_have_their_trials() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let files = fs::read_dir(fixtures).unwrap().flatten().map(|e| e.path());
    for file in files.filter(|path| path.is_file()) {
        let record = cryptbench_record::read(&file).unwrap();
        assert!(!record.trials.is_empty(), "{}", file.display());
        assert!(record.results.is_none(), "derived anew, so that a stale result cannot be shown");
        assert!(record.trials.iter().all(|t| t.measured.samples.is_none()));
        let bytes = fs::metadata(&file).unwrap().len();
        assert!(bytes < 7 << 18, "{bytes} bytes are too many for {}", file.display());
    }
}
