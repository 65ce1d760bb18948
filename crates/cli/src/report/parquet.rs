//! The tables as Apache Parquet; only in programs that were built with this feature.

use cryptbench_record::{Record, Results};
use cryptbench_report::Rows;

/// The file's bytes.
#[cfg(feature = "parquet")]
pub fn render(record: &Record, results: &Results, rows: Rows) -> anyhow::Result<Vec<u8>> {
    Ok(cryptbench_report::parquet::render(record, results, rows)?)
}

/// The refusal.
///
/// # Errors
/// Always.
#[cfg(not(feature = "parquet"))]
pub fn render(_record: &Record, _results: &Results, _rows: Rows) -> anyhow::Result<Vec<u8>> {
    Err(refused().into())
}

/// An error of the command line, which says how to get the feature.
#[cfg(any(test, not(feature = "parquet")))]
fn refused() -> crate::exit::Refusal {
    let option = std::path::Path::new("--format parquet");
    let how = "this cryptbench was built without it; `cargo install --path crates/cli --features parquet`, or take \
               --format csv";
    crate::exit::Refusal::usage(option, how)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests are built with all features; a program without this one has only this message.
    #[test]
    fn a_program_without_it_says_how_to_get_it() {
        let said = refused().to_string();
        for words in ["this cryptbench was built without it", "--features parquet", "--format csv"]
        {
            assert!(said.contains(words), "{said}");
        }
    }
}
