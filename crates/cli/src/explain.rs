//! `cryptbench report RECORD --explain CELL`: everything about one cell.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use cryptbench_record::Record;

use crate::exit;
use crate::report::terminal_style;

/// Prints what the record, its results derived, has of the cell. A name that is none or several is told with the
/// choices, and is a fault of the command line.
pub fn explain(record: &Record, cell: &str) -> anyhow::Result<ExitCode> {
    let results = record.results.as_ref().expect("derived by the caller");
    let mut out = std::io::stdout().lock();
    let style = terminal_style(out.is_terminal());
    match cryptbench_report::terminal::explain(record, results, cell, style) {
        Ok(text) => {
            // A closed pipe (head, less) is the reader's choice, not an error.
            let _ = out.write_all(text.as_bytes());
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            eprintln!("cryptbench: {error}");
            Ok(ExitCode::from(exit::USAGE))
        }
    }
}
