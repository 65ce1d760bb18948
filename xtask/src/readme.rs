//! `cargo xtask readme`: writes the generated parts of README.md and docs/: the transcripts and the records
//! that they show, the options of `run`, the items of the studies, and the formats that `volume` opens.
//!
//! They are written by the tests that compare them with the program (`cli/tests/integration/transcripts.rs`,
//! `cli/src/run/options_page.rs`, `cli/src/scripts_page.rs`, `cli/src/studies/items_page.rs`,
//! `cli/src/volume/formats_page.rs`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

/// Records that transcripts show, by name.
const FIXTURES: &str = "crates/cli/tests/fixtures";

/// Replaces the home directory of the user who measured.
const HOME: &str = "/home/me";

#[derive(clap::Args)]
pub struct Options {
    /// A record.json, or the directory of a run, to be shown from now on [default: those that are shown already]
    record: Option<PathBuf>,
    /// The name of that record in a transcript
    #[arg(long = "as", value_name = "NAME", default_value = "readme", requires = "record")]
    name: String,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(record) = &options.record {
        keep(record, &Path::new(FIXTURES).join(format!("{}.json", options.name)))?;
    }
    let tests = [
        "transcripts::every_transcript_is_what_the_program_prints_for_that_record",
        "run::options_page::docs_have_the_options_as_they_are_defined",
        "studies::items_page::docs_have_every_item_of_the_studies",
        "scripts_page::docs_have_quiet_json_and_exit_codes_as_they_are_defined",
        "volume::formats_page::docs_have_the_formats_as_the_registries_do",
    ];
    let done = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "--package", "cryptbench", "--bin", "cryptbench"])
        .args(["--test", "integration", "--", "--exact"])
        .args(tests)
        .env("CRYPTBENCH_WRITE", "1")
        .status()
        .context("cannot start cargo")?;
    if !done.success() {
        bail!("the generated blocks cannot be written");
    }
    println!(
        "README.md and docs show the records in {FIXTURES}, the options of run, the items of the studies and the formats"
    );
    Ok(())
}

/// Turns `record` into a fixture: without derived results, samples, and the home directory.
fn keep(record: &Path, fixture: &Path) -> anyhow::Result<()> {
    let mut record = cryptbench_record::read(record)?;
    record.results = None;
    for trial in &mut record.trials {
        trial.measured.samples = None;
    }
    HOME.clone_into(&mut record.target.directory);
    // One trial per line, so that changes of the fixture are readable.
    let text = serde_json::to_string(&record)?.replace(r#",{"sequence":"#, ",\n{\"sequence\":");
    fs::write(fixture, text + "\n").with_context(|| format!("cannot write {}", fixture.display()))
}
