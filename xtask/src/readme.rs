//! `cargo xtask readme`: the transcript of README.md and the record that it shows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

/// The record that the transcript shows, which a test renders again.
const FIXTURE: &str = "crates/cli/tests/fixtures/readme.json";

const README: &str = "README.md";

/// Where the transcript begins: its first line and the command.
const OPENING: &str = "```console\n$ cargo run --release -- run\n";

/// What stands for the home of whoever measured.
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

/// Makes `record` the fixture: without what is derived, without samples, and of nobody's home.
fn keep(record: &Path) -> anyhow::Result<()> {
    let mut record = cryptbench_record::read(record)?;
    record.results = None;
    for trial in &mut record.trials {
        trial.samples = None;
    }
    HOME.clone_into(&mut record.target.directory);
    // A line for each trial, so that a change of the fixture can be read.
    let text = serde_json::to_string(&record)?.replace(r#",{"sequence":"#, ",\n{\"sequence\":");
    fs::create_dir_all(Path::new(FIXTURE).parent().expect("in a directory"))?;
    fs::write(FIXTURE, text + "\n").with_context(|| format!("cannot write {FIXTURE}"))
}

/// What the program prints for the fixture, with the paths of whoever runs it.
fn rendered() -> anyhow::Result<String> {
    let scratch = tempfile::tempdir()?;
    let page = scratch.path().join("report.html");
    let done = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "cryptbench", "--", "report", FIXTURE, "--output"])
        .arg(&page)
        .env("COLUMNS", "80")
        .output()?;
    if !done.status.success() {
        bail!("cryptbench report: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    let printed = String::from_utf8(done.stdout)?;
    let lines: Vec<&str> = printed.lines().collect();
    let Some((_, report)) = lines.split_last().filter(|(l, _)| l.starts_with("report  ")) else {
        bail!("cryptbench report did not end with the path of its page");
    };
    let run = cryptbench_record::read(Path::new(FIXTURE))?.run_id;
    let run = format!("{HOME}/.local/share/cryptbench/runs/{run}");
    Ok(format!("{}\nrecord  {run}/record.json\nreport  {run}/report.html", report.join("\n")))
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
