//! `cryptbench fleet collect`; only in programs that were built with Parquet.

use std::path::Path;
use std::process::ExitCode;

use cryptbench_fleet::Files;

/// Writes the dataset and says what is in it.
#[cfg(feature = "parquet")]
pub fn collect(files: &Files, threads: usize, output: &Path) -> anyhow::Result<ExitCode> {
    use crate::say::{message, print};
    use cryptbench_report::thousands;
    use cryptbench_text::shown;

    let bar = super::progress(files.paths().len());
    let found = cryptbench_fleet::collect(files, threads, output, || bar.inc(1))?;
    bar.finish_and_clear();
    for damaged in &found.damaged {
        message(&format!("{} is left out: {}", shown(&damaged.path), damaged.why));
    }
    let [cells, trials] = found.rows.map(thousands);
    print(&format!(
        "{} records: {cells} cells and {trials} trials in {} files below {}",
        thousands(found.records),
        thousands(found.files),
        shown(output)
    ));
    Ok(ExitCode::SUCCESS)
}

/// The refusal.
#[cfg(not(feature = "parquet"))]
pub fn collect(_files: &Files, _threads: usize, _output: &Path) -> anyhow::Result<ExitCode> {
    let how = "this cryptbench was built without Parquet; `cargo install --path crates/cli --features parquet`, or take \
               `fleet report --csv`";
    Err(crate::exit::Refusal::usage(Path::new("fleet collect"), how).into())
}
