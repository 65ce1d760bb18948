//! `cryptbench report` and `cryptbench schema`, and how results reach a person.

mod charts;
mod parquet;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use cryptbench_os::terminal::STDOUT;
use cryptbench_record::Record;
use cryptbench_report::Rows;
use cryptbench_text::printable;

use crate::args::{FormatArg, ReportArgs, TableArg};
use crate::exit::Refusal;
use crate::run_log::newest;
use crate::say;

pub fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let mut args = args.clone();
    if args.record == Path::new("last") && !args.record.exists() {
        let reason = "no run of yours is kept; name a record.json, or the directory of a run";
        args.record = newest().ok_or_else(|| Refusal::input(Path::new("last"), reason))?;
    }
    let args = &args;
    let mut record = cryptbench_record::read(&args.record)?;
    record.results = Some(cryptbench_report::analyse(&record));
    if let Some(cell) = &args.explain {
        return crate::explain::explain(&record, cell);
    }
    if let Some(file) = &args.output {
        refuse_the_record(&args.record, file)?;
    }
    let format = if args.json { FormatArg::Json } else { args.format };
    match (format, &args.output) {
        (FormatArg::Html, output) => {
            let page = page(&record);
            let file = match output {
                Some(file) => {
                    written(file, cryptbench_os::write_named(file, page.as_bytes()))?;
                    file.clone()
                }
                // The record may be a stranger's, and so may be what lies beside it.
                None => {
                    let file = beside(&args.record).join("report.html");
                    written(&file, cryptbench_os::write_whole(&file, page.as_bytes()))?;
                    file
                }
            };
            // Whoever wants the page there takes it from there, and wants nothing else in it.
            if file != Path::new(STDOUT) {
                print_table(&record, &file);
            }
        }
        (format, Some(file)) => {
            let bytes = rendered(&record, format, args.table)?;
            written(file, cryptbench_os::write_named(file, &bytes))?;
        }
        (format, None) => {
            let bytes = rendered(&record, format, args.table)?;
            if format == FormatArg::Parquet && say::stdout_is_terminal() {
                let reason = "not for a terminal; name a file with --output";
                return Err(Refusal::usage(Path::new("--format parquet"), reason).into());
            }
            say::print_bytes(&bytes);
        }
    }
    if let Some(directory) = &args.charts {
        let written = charts::write(&record, directory)?;
        say::note(&format!("{written} charts in {}, {}", directory.display(), charts::FORMATS));
    }
    Ok(ExitCode::SUCCESS)
}

/// The JSON Schema of a record on standard output.
pub fn schema() -> anyhow::Result<ExitCode> {
    say::print_json(&cryptbench_record::json_schema())?;
    Ok(ExitCode::SUCCESS)
}

/// The record in a format other than the page.
fn rendered(record: &Record, format: FormatArg, table: TableArg) -> anyhow::Result<Vec<u8>> {
    let results = record.results.as_ref().expect("derived by the caller");
    let rows = match table {
        TableArg::Trials => Rows::Trials,
        TableArg::Cells => Rows::Cells,
    };
    Ok(match format {
        FormatArg::Html => page(record).into_bytes(),
        FormatArg::Json => cryptbench_record::to_json(record).into_bytes(),
        FormatArg::Csv => cryptbench_report::csv::render(record, results, rows).into_bytes(),
        FormatArg::Markdown => cryptbench_report::markdown::render(record, results).into_bytes(),
        FormatArg::Parquet => parquet::render(record, results, rows)?,
    })
}

/// The directory in which a record lies.
fn beside(record: &Path) -> PathBuf {
    match record.is_dir() {
        true => record.to_owned(),
        false => record.parent().unwrap_or(Path::new("")).to_owned(),
    }
}

/// A report is made again in a moment; the trials of a record are not.
fn refuse_the_record(record: &Path, output: &Path) -> anyhow::Result<()> {
    let file = if record.is_dir() { record.join("record.json") } else { record.to_owned() };
    match (file.canonicalize(), output.canonicalize()) {
        (Ok(a), Ok(b)) if a == b => {
            let reason = "it is the record itself; name another file with --output";
            Err(Refusal::usage(output, reason).into())
        }
        _ => Ok(()),
    }
}

fn print_table(record: &Record, page: &Path) {
    let style = say::terminal_style(say::stdout_is_terminal());
    let results = record.results.as_ref().expect("derived by the caller");
    let text = cryptbench_report::terminal::render(record, results, style);
    let page = page.display().to_string();
    say::print_styled(&format!("{text}\nreport  {}\n", printable(&page)), style);
}

/// The page of a record whose results are derived.
pub fn page(record: &Record) -> String {
    let results = record.results.as_ref().expect("derived by the caller");
    cryptbench_report::html::page(record, results)
}

/// What became of a file that was to be written. One that may not be replaced is a target that is not fit.
pub fn written(file: &Path, done: std::io::Result<()>) -> anyhow::Result<()> {
    match done {
        Err(e) if e.kind() == std::io::ErrorKind::InvalidInput => {
            Err(Refusal::target(file, &e.to_string()).into())
        }
        done => done.with_context(|| format!("cannot write {}", file.display())),
    }
}
