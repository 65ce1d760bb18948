//! The tables as Apache Parquet; in the program only where it was asked for when it was built.

use cryptbench_record::{Record, Results};
use cryptbench_report::Rows;

/// The file's bytes.
#[cfg(feature = "parquet")]
pub fn render(record: &Record, results: &Results, rows: Rows) -> anyhow::Result<Vec<u8>> {
    Ok(cryptbench_report::parquet::render(record, results, rows)?)
}

/// Says how to get it.
///
/// # Errors
/// Always: a refusal of the command line.
#[cfg(not(feature = "parquet"))]
pub fn render(_record: &Record, _results: &Results, _rows: Rows) -> anyhow::Result<Vec<u8>> {
    let option = std::path::Path::new("--format parquet");
    let how = "this cryptbench was built without it; `cargo install --path crates/cli --features parquet`, or take \
               --format csv";
    Err(crate::exit::Refusal::usage(option, how).into())
}
