//! `cryptbench report` and `cryptbench schema`, and how results are shown to users.

mod bundle;
mod charts;
mod zip;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use cryptbench_answer::{Labelled, Report};
use cryptbench_os::terminal::STDOUT;
use cryptbench_record::Record;
use cryptbench_text::{escaped_json, printable, quoted_path, shown};
use cryptbench_view::table::Rows;
use cryptbench_view::terminal::Style;
use cryptbench_view::terminal::answer::Outlook;
use cryptbench_view::{html, table, terminal};

use crate::args::{FormatArg, ReportArgs, TableArg};
use crate::exit::Refusal;
use crate::{last, say};

pub fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let found = last::records(&args.record)?;
    let named = |record: &Path| match last::is_named(&args.record) {
        true => shown(&args.record),
        false => quoted_path(record),
    };
    if let [one] = found.as_slice() {
        let one = ReportArgs { record: one.clone(), ..args.clone() };
        return report_of(&one, &named(&one.record));
    }
    if is_of_one(args) {
        return Err(last::several(&args.record, &found).into());
    }
    for (i, record) in found.iter().enumerate() {
        let between = if i == 0 { "" } else { "\n" };
        say::print(&format!("{between}{}\n", shown(record)));
        // The charts of each run are written to a separate directory.
        let charts =
            args.charts.as_ref().map(|all| all.join(record.file_name().unwrap_or_default()));
        report_of(&ReportArgs { record: record.clone(), charts, ..args.clone() }, &named(record))?;
    }
    if let Some(directory) = &args.charts {
        let records = found.iter().map(|path| cryptbench_record::read(path));
        overview(&records.collect::<Result<Vec<_>, _>>()?, directory)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the overview of several runs into `directory`, if a system is ranked in any of them.
pub fn overview(records: &[Record], directory: &Path) -> anyhow::Result<()> {
    let labelled: Vec<Labelled<'_>> = records.iter().map(Labelled::of).collect();
    let reports: Vec<Report<'_>> = labelled.iter().map(Labelled::report).collect();
    let said = match charts::write_overview(&reports, directory)? {
        0 => "no overview of all runs was written, because none of them ranks a system".to_owned(),
        _ => format!("the overview of all runs is in {}", shown(directory)),
    };
    say::note(&said);
    Ok(())
}

/// Whether the requested output requires exactly one record.
fn is_of_one(args: &ReportArgs) -> bool {
    let files = [&args.output, &args.share, &args.bundle];
    let is_page = args.format == FormatArg::Html && !args.json;
    files.into_iter().any(Option::is_some) || args.explain.is_some() || !is_page
}

/// The report of one record; `named` is the record's name in commands.
fn report_of(args: &ReportArgs, named: &str) -> anyhow::Result<ExitCode> {
    last::note_if_unfinished(&args.record);
    let record = cryptbench_record::read(&args.record)?;
    let labelled = Labelled::of(&record);
    let report = labelled.report();
    if let Some(cell) = &args.explain {
        return Ok(crate::explain::explain(&report, cell));
    }
    if let Some(file) = args.output.as_ref().or(args.share.as_ref()).or(args.bundle.as_ref()) {
        refuse_the_record(&args.record, file)?;
    }
    if let Some(file) = &args.share {
        let shared = cryptbench_record::to_share(&record);
        let json = cryptbench_record::to_json(&Labelled::of(&shared).report().document());
        written(file, cryptbench_os::write_named(file, json.as_bytes()))?;
        say::note(
            "host names, paths and serial numbers were removed; check the file before you send it",
        );
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = &args.bundle {
        let files = bundle::write(&record, file)?;
        say::note(&format!(
            "the archive has {files} files, without host names, paths or serial numbers; add your name to CITATION.cff \
             and references.bib"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let format = if args.json { FormatArg::Json } else { args.format };
    match (format, &args.output) {
        (FormatArg::Html, output) => {
            let page = html::page(&report);
            let file = match output {
                Some(file) => {
                    written(file, cryptbench_os::write_named(file, page.as_bytes()))?;
                    file.clone()
                }
                // The record, and the files next to it, may come from another person.
                None => {
                    let file = beside(&args.record).join("report.html");
                    written(&file, cryptbench_os::write_whole(&file, page.as_bytes()))?;
                    file
                }
            };
            // If a page is written to standard output, nothing else may be.
            if file != Path::new(STDOUT) && args.full {
                print_all(&report, &file);
            } else if file != Path::new(STDOUT) {
                let style = say::terminal_style(say::stdout_is_terminal());
                let text = match args.quiet {
                    true => terminal::answer::brief(&report, style),
                    false => {
                        answer(&report, named, (Some(&file), Some(&beside(&args.record))), style)
                    }
                };
                say::print_styled(&text, style);
            }
        }
        (format, Some(file)) => {
            let bytes = rendered(&report, format, args)?;
            written(file, cryptbench_os::write_named(file, &bytes))?;
        }
        (format, None) => {
            let bytes = rendered(&report, format, args)?;
            if format == FormatArg::Parquet && say::stdout_is_terminal() {
                let reason = "cannot be printed on a terminal; specify a file with --output";
                return Err(Refusal::usage(Path::new("--format parquet"), reason).into());
            }
            say::print_bytes(&bytes);
        }
    }
    if let Some(directory) = &args.charts {
        let said = match charts::write(&report, directory)? {
            0 => "no charts were written, because this run has none".to_owned(),
            written => format!("{written} charts in {}, {}", shown(directory), charts::FORMATS),
        };
        say::note(&said);
    }
    Ok(ExitCode::SUCCESS)
}

/// The JSON Schema of a record on standard output.
pub fn schema() -> ExitCode {
    say::print_text(cryptbench_record::JSON_SCHEMA);
    ExitCode::SUCCESS
}

/// The record in a format other than HTML.
fn rendered(report: &Report<'_>, format: FormatArg, args: &ReportArgs) -> anyhow::Result<Vec<u8>> {
    let rows = match args.table {
        TableArg::Trials => Rows::Trials,
        TableArg::Cells => Rows::Cells,
    };
    Ok(match format {
        FormatArg::Html => html::page(report).into_bytes(),
        FormatArg::Json => cryptbench_record::to_json(&report.document()).into_bytes(),
        FormatArg::Answer => {
            let run = in_a_command(&beside(&args.record));
            let answer = cryptbench_view::json::render(report, None, Some(&run));
            format!("{}\n", escaped_json(&serde_json::to_string_pretty(&answer)?)).into_bytes()
        }
        FormatArg::Csv => table::csv::render(report, rows).into_bytes(),
        FormatArg::Markdown => table::markdown::render(report).into_bytes(),
        FormatArg::Latex => table::latex::render(report).into_bytes(),
        FormatArg::Parquet => table::parquet::render(report, rows),
    })
}

/// The directory that contains a record.
fn beside(record: &Path) -> PathBuf {
    match record.is_dir() {
        true => record.to_owned(),
        false => record.parent().unwrap_or(Path::new("")).to_owned(),
    }
}

/// Refuses to overwrite the record: a report can be generated again, but trials cannot be recovered.
fn refuse_the_record(record: &Path, output: &Path) -> anyhow::Result<()> {
    let file = if record.is_dir() { record.join("record.json") } else { record.to_owned() };
    match (file.canonicalize(), output.canonicalize()) {
        (Ok(a), Ok(b)) if a == b => {
            let reason = "is the record itself and will not be overwritten; specify another file";
            Err(Refusal::usage(output, reason).into())
        }
        _ => Ok(()),
    }
}

/// The answer on one screen; `named` is the record's name in a command.
pub fn answer(
    report: &Report<'_>,
    named: &str,
    (page, run): (Option<&Path>, Option<&Path>),
    style: Style,
) -> String {
    let here = std::env::current_dir().ok();
    let full = format!("cryptbench report {} --full", printable(named));
    let page = page.map(|page| printable(&at_home(page)).into_owned());
    let run = run.map(in_a_command);
    let outlook =
        Outlook { here: here.as_deref(), full: &full, page: page.as_deref(), run: run.as_deref() };
    terminal::answer::render(report, style, outlook)
}

/// The directory of a run as an argument of a command that is typed in any directory.
fn in_a_command(run: &Path) -> String {
    quoted_path(&std::path::absolute(run).unwrap_or_else(|_| run.to_owned()))
}

/// A path in which `~` replaces the user's home directory.
fn at_home(path: &Path) -> String {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", shown(rest)),
        None => shown(path),
    }
}

fn print_all(report: &Report<'_>, page: &Path) {
    let style = say::terminal_style(say::stdout_is_terminal());
    let text = terminal::render(report, style);
    let page = shown(page);
    say::print_styled(&format!("{text}\nreport  {}\n", printable(&page)), style);
}

/// The result of writing a file. A file that must not be replaced is an unsuitable target.
pub fn written(file: &Path, done: std::io::Result<()>) -> anyhow::Result<()> {
    match done {
        Err(e) if e.kind() == std::io::ErrorKind::InvalidInput => {
            Err(Refusal::target(file, &e.to_string()).into())
        }
        done => done.with_context(|| format!("cannot write {}", shown(file))),
    }
}
