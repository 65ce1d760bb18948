//! `cryptbench fleet collect`.

use std::path::Path;
use std::process::ExitCode;

use cryptbench_answer::quantity::thousands;
use cryptbench_fleet::Files;
use cryptbench_text::shown;

use super::reading;
use crate::say::{message, print};

/// Writes the dataset and prints its content.
pub fn collect(files: &Files, threads: usize, output: &Path) -> anyhow::Result<ExitCode> {
    let bar = reading(files);
    let found = cryptbench_fleet::collect(files, threads, output, || bar.inc(1))?;
    bar.finish_and_clear();
    for damaged in &found.damaged {
        message(&format!("{} is left out: {}", shown(&damaged.path), damaged.why));
    }
    let [cells, trials] = found.rows.map(thousands);
    print(&format!(
        "{} records: {cells} cells and {trials} trials in {} files under {}",
        thousands(found.records),
        thousands(found.files),
        shown(output)
    ));
    Ok(ExitCode::SUCCESS)
}
