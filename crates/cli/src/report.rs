//! `cryptbench report` and `cryptbench schema`, and how results reach a person.

mod charts;
mod parquet;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use cryptbench_record::Record;
use cryptbench_report::Rows;
use cryptbench_report::terminal::Style;

use crate::args::{FormatArg, ReportArgs, TableArg};
use crate::exit::Refusal;

pub fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
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
            let page = output.clone().unwrap_or_else(|| beside(&args.record).join("report.html"));
            write_page(&record, &page)?;
            print_table(&record, &page);
        }
        (format, Some(file)) => write_whole(file, &rendered(&record, format, args.table)?)?,
        (format, None) => {
            let bytes = rendered(&record, format, args.table)?;
            if format == FormatArg::Parquet && std::io::IsTerminal::is_terminal(&std::io::stdout())
            {
                let reason = "not for a terminal; name a file with --output";
                return Err(Refusal::usage(Path::new("--format parquet"), reason).into());
            }
            let _ = std::io::stdout().lock().write_all(&bytes);
        }
    }
    if let Some(directory) = &args.charts {
        let written = charts::write(&record, directory)?;
        eprintln!("{written} charts in {}, {}", directory.display(), charts::FORMATS);
    }
    Ok(ExitCode::SUCCESS)
}

/// The JSON Schema of a record on standard output.
pub fn schema() -> anyhow::Result<ExitCode> {
    print_json(&cryptbench_record::json_schema())?;
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
        FormatArg::Html => cryptbench_report::html::page(record, results).into_bytes(),
        FormatArg::Json => (serde_json::to_string_pretty(record)? + "\n").into_bytes(),
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
    let mut out = std::io::stdout().lock();
    let style = terminal_style(std::io::IsTerminal::is_terminal(&out));
    let results = record.results.as_ref().expect("derived by the caller");
    let text = cryptbench_report::terminal::render(record, results, style);
    let _ = write!(out, "{text}\nreport  {}\n", page.display());
}

/// Writes the page so that the file is either absent, the old one, or complete.
pub fn write_page(record: &Record, path: &Path) -> anyhow::Result<()> {
    let results = record.results.as_ref().expect("derived by the caller");
    write_whole(path, cryptbench_report::html::page(record, results).as_bytes())
}

/// Writes a file that is either absent, the old one, or complete. What is no regular file, such as `/dev/stdout`, is
/// written to as it is.
fn write_whole(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let done = match fs::metadata(path) {
        Ok(found) if !found.is_file() => fs::write(path, bytes),
        _ => {
            let mut part = path.as_os_str().to_owned();
            part.push(".part");
            let done = fs::write(&part, bytes).and_then(|()| fs::rename(&part, path));
            if done.is_err() {
                let _ = fs::remove_file(&part);
            }
            done
        }
    };
    done.with_context(|| format!("cannot write {}", path.display()))
}

/// The record as JSON on standard output.
pub fn print_json(record: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(record)?;
    let _ = writeln!(std::io::stdout().lock(), "{text}");
    Ok(())
}

/// Width and colour for standard output: colour on a terminal only, and never with NO_COLOR
/// (no-color.org) or a dumb terminal.
pub fn terminal_style(is_terminal: bool) -> Style {
    let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    // Who sets COLUMNS means it (POSIX, 8.3); else the terminal tells.
    let asked = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let told = || rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    let width = asked.or_else(|| told().map(|w| usize::from(w.ws_col))).filter(|w| *w > 0);
    Style {
        width: width.unwrap_or(80).clamp(60, 200),
        colour: is_terminal && !set("NO_COLOR") && !dumb,
    }
}
