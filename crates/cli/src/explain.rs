//! `cryptbench report RECORD --explain CELL`: everything about one cell.

use std::process::ExitCode;

use cryptbench_record::Record;

use crate::exit;
use crate::say;

/// Prints what the record, its results derived, has of the cell. A name that is none or several is told with the
/// choices, and is a fault of the command line.
pub fn explain(record: &Record, cell: &str) -> anyhow::Result<ExitCode> {
    let results = record.results.as_ref().expect("derived by the caller");
    let style = say::terminal_style(say::stdout_is_terminal());
    match cryptbench_report::terminal::explain(record, results, cell, style) {
        Ok(text) => {
            say::print_styled(&text, style);
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            say::message(&error.to_string());
            Ok(ExitCode::from(exit::USAGE))
        }
    }
}
