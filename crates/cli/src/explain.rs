//! `cryptbench report RECORD --explain CELL`: everything about one cell.

use std::process::ExitCode;

use cryptbench_answer::Report;

use crate::{exit, say};

/// Prints everything that is known about the cell. A name that matches no cell, or more than one, is a usage
/// error that lists the choices.
pub fn explain(report: &Report<'_>, cell: &str) -> ExitCode {
    let style = say::terminal_style(say::stdout_is_terminal());
    match cryptbench_view::terminal::explain(report, cell, style) {
        Ok(text) => {
            say::print_styled(&text, style);
            ExitCode::SUCCESS
        }
        Err(error) => {
            say::message_lines(&error.to_string());
            ExitCode::from(exit::USAGE)
        }
    }
}
