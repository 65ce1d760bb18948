//! `cargo xtask test`: the packages, the tests, the tidiness, and what was skipped.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::{package, packages, tidy};

#[derive(clap::Args)]
pub struct Options {
    /// Install nothing
    #[arg(long)]
    offline: bool,
    /// Only tests whose name contains this
    filter: Option<String>,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    if !options.offline {
        packages::ensure(packages::FOR_TESTS);
        if let Err(why) = package::cargo_deb() {
            eprintln!("the Debian package will not be tried: {why:#}");
        }
    }
    tidy::run()?;
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    std::fs::create_dir_all(&target)?;
    let log_path = format!("{target}/test.log");
    let mut log = File::create(&log_path).with_context(|| format!("cannot write {log_path}"))?;
    // --show-output makes passing tests tell what they skipped.
    let mut cargo = Command::new(env!("CARGO"))
        .args(["test", "--workspace", "--no-fail-fast", "--all-features"])
        .args(&options.filter)
        .args(["--", "--show-output"])
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let mut skipped = Vec::new();
    let (mut passed, mut failed, mut ignored) = (0, 0, 0);
    for line in BufReader::new(cargo.stdout.take().expect("piped")).lines() {
        let line = line?;
        writeln!(log, "{line}")?;
        if let Some(why) = line.trim_start().strip_prefix("SKIPPED: ") {
            skipped.push(why.to_owned());
        }
        if let Some(counts) = line.strip_prefix("test result: ") {
            passed += count(counts, "passed");
            failed += count(counts, "failed");
            ignored += count(counts, "ignored");
        }
        let failure = line.starts_with("test ") && line.ends_with("FAILED");
        if failure || line.starts_with("test result:") || line.contains("panicked at") {
            println!("{line}");
        }
    }
    let status = cargo.wait()?;
    for why in &skipped {
        println!("SKIPPED: {why}");
    }
    println!("everything the tests said: {log_path}");
    println!("{passed} passed, {failed} failed, {} skipped", ignored + skipped.len());
    if !status.success() {
        bail!("tests failed: see {log_path}");
    }
    if passed == 0 {
        bail!("no test ran");
    }
    Ok(())
}

/// The number before `word` in `ok. 3 passed; 0 failed; ...`.
fn count(line: &str, word: &str) -> usize {
    let parts: Vec<_> = line.split_whitespace().collect();
    parts
        .windows(2)
        .find(|w| w[1].trim_end_matches(';') == word)
        .and_then(|w| w[0].parse().ok())
        .unwrap_or(0)
}
