//! `cargo xtask readme`: the transcript in README.md and the record that it shows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

/// The record behind the transcript, which a test renders again.
const FIXTURE: &str = "crates/cli/tests/fixtures/readme.json";

const README: &str = "README.md";

/// The beginning of the transcript: its first line and the command.
const OPENING: &str = "```console\n$ cargo run --release -- run\n";

/// Replaces the home directory of the user who measured.
const HOME: &str = "/home/me";

#[derive(clap::Args)]
pub struct Options {
    /// A record.json, or the directory of a run [default: the record that the README shows already]
    record: Option<PathBuf>,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(record) = &options.record {
        keep(record)?;
    }
    let readme = fs::read_to_string(README)?;
    let made = with_transcript(&readme, &rendered()?)?;
    fs::write(README, made).with_context(|| format!("cannot write {README}"))?;
    println!("{README} shows {FIXTURE}");
    Ok(())
}

/// Turns `record` into the fixture: without derived results, samples, and the home directory.
fn keep(record: &Path) -> anyhow::Result<()> {
    let mut record = cryptbench_record::read(record)?;
    record.results = None;
    for trial in &mut record.trials {
        trial.samples = None;
    }
    HOME.clone_into(&mut record.target.directory);
    // One line per trial, so that changes of the fixture are readable.
    let text = serde_json::to_string(&record)?.replace(r#",{"sequence":"#, ",\n{\"sequence\":");
    fs::create_dir_all(Path::new(FIXTURE).parent().expect("in a directory"))?;
    fs::write(FIXTURE, text + "\n").with_context(|| format!("cannot write {FIXTURE}"))
}

/// The program's output for the fixture, with generic paths.
fn rendered() -> anyhow::Result<String> {
    let scratch = tempfile::tempdir()?;
    // Short enough for the last lines to take as many as those of `last`.
    let (record, page) = (scratch.path().join("last.json"), scratch.path().join("report.html"));
    fs::copy(FIXTURE, &record)?;
    let manifest = fs::canonicalize("Cargo.toml")?;
    let done = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "cryptbench", "--manifest-path"])
        .arg(manifest)
        .args(["--", "report", "last.json", "--output"])
        .arg(&page)
        .current_dir(scratch.path())
        .env("COLUMNS", "80")
        .output()?;
    if !done.status.success() {
        bail!("cryptbench report: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    let printed = String::from_utf8(done.stdout)?;
    let lines: Vec<&str> = printed.lines().collect();
    let Some(more) = lines.iter().rposition(|l| l.starts_with("More ")) else {
        bail!("cryptbench report did not end with where more is");
    };
    let last = lines[more].replace("last.json", "last");
    let run = cryptbench_record::read(Path::new(FIXTURE))?.run_id;
    let page = format!("       ~/.local/share/cryptbench/runs/{run}/report.html");
    Ok(format!("{}\n{last}\n{page}", lines[..more].join("\n")))
}

fn with_transcript(readme: &str, transcript: &str) -> anyhow::Result<String> {
    let Some((before, rest)) = readme.split_once(OPENING) else {
        bail!("{README} has no block that begins with {OPENING:?}");
    };
    let Some((_, after)) = rest.split_once("\n```\n") else { bail!("the block has no end") };
    Ok(format!("{before}{OPENING}{transcript}\n```\n{after}"))
}

#[cfg(test)]
mod tests {
    use super::{OPENING, with_transcript};

    #[test]
    fn the_block_alone_is_replaced() {
        let readme = format!("a\n\n{OPENING}old\nlines\n```\n\nb\n```sh\nc\n```\n");
        let made = with_transcript(&readme, "new").unwrap();
        assert_eq!(made, format!("a\n\n{OPENING}new\n```\n\nb\n```sh\nc\n```\n"));
        assert_eq!(with_transcript(&made, "new").unwrap(), made);
        assert!(with_transcript("a", "new").is_err());
    }
}
