//! `cryptbench report`, and how results reach a person.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use cryptbench_record::Record;
use cryptbench_report::terminal::Style;

use crate::args::ReportArgs;

pub fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let mut record = cryptbench_record::read(&args.record)?;
    record.results = Some(cryptbench_report::analyse(&record));
    if args.json {
        print_json(&record)?;
        return Ok(ExitCode::SUCCESS);
    }
    let page = args.output.clone().unwrap_or_else(|| {
        let beside = if args.record.is_dir() {
            &args.record
        } else {
            args.record.parent().unwrap_or(Path::new(""))
        };
        beside.join("report.html")
    });
    write_page(&record, &page)?;
    let mut out = std::io::stdout().lock();
    let style = terminal_style(std::io::IsTerminal::is_terminal(&out));
    let results = record.results.as_ref().expect("just derived");
    let text = cryptbench_report::terminal::render(&record, results, style);
    let _ = write!(out, "{text}\nreport  {}\n", page.display());
    Ok(ExitCode::SUCCESS)
}

/// Writes the page so that the file is either absent, the old one, or complete.
pub fn write_page(record: &Record, path: &Path) -> anyhow::Result<()> {
    let results = record.results.as_ref().expect("derived by the caller");
    let part = path.with_extension("html.part");
    let done = fs::write(&part, cryptbench_report::html::page(record, results))
        .and_then(|()| fs::rename(&part, path));
    if done.is_err() {
        let _ = fs::remove_file(&part);
    }
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
    let width = rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|w| usize::from(w.ws_col))
        .filter(|w| *w > 0);
    Style {
        width: width.unwrap_or(80).clamp(60, 200),
        colour: is_terminal && !set("NO_COLOR") && !dumb,
    }
}
