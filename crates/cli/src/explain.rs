//! `cryptbench report RECORD --explain CELL`: everything about one cell.

use std::process::ExitCode;

use cryptbench_record::Record;

use crate::{exit, say};

/// Prints everything that the record, with its results derived, has about the cell. A name that fits no cell or
/// several is an error of the command line, which lists the choices.
pub fn explain(record: &Record, cell: &str) -> anyhow::Result<ExitCode> {
    let results = record.results.as_ref().expect("derived by the caller");
    let style = say::terminal_style(say::stdout_is_terminal());
    match cryptbench_view::terminal::explain(record, results, cell, style) {
        Ok(text) => {
            say::print_styled(&text, style);
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            say::message_lines(&error.to_string());
            Ok(ExitCode::from(exit::USAGE))
        }
    }
}
