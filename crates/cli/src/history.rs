//! `cryptbench history`: stores records in a database, and distinguishes regressions from noise.

pub mod args;
mod text;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use args::{CheckArgs, HistoryArgs, HistoryCommand};
use cryptbench_answer::Labelled;
use cryptbench_answer::names::Names;
use cryptbench_estimate::cells::cells;
use cryptbench_history::check::{Change, Check, check, check_all};
use cryptbench_history::{History, HistoryError, Run};
use cryptbench_os::{Directory, dirs, user};
use cryptbench_record::{Plan, Results};
use cryptbench_system::provision::{state_directories, trusted_state_directories};
use cryptbench_text::shown;
use serde::{Deserialize, Serialize};

use crate::exit::{self, Refusal};
use crate::say::{print, print_json, print_json_text, terminal_style};

/// The file in the state directory.
const FILE: &str = "history.sqlite";

/// The output of `--json` for a check.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    checks: &'a [Check],
}

pub fn history(args: &HistoryArgs) -> anyhow::Result<ExitCode> {
    let path = database(args)?;
    match &args.command {
        HistoryCommand::Add { records } => add(&path, records),
        HistoryCommand::List { json } => {
            let entries = History::open(&path)?.list()?;
            match json {
                true => print_json(&entries)?,
                false => print(&text::list(&entries, terminal_style(false).width)),
            }
            Ok(ExitCode::SUCCESS)
        }
        HistoryCommand::Show { id, json } => show(&History::open(&path)?, *id, *json),
        HistoryCommand::Check { record, how, quiet } => {
            let history = History::open(&path)?;
            let checked = judge(&history, record.as_deref(), how)?;
            let regressions = checked.count(Change::Regression);
            if !quiet {
                show_checks(&[checked], how)?;
                return Ok(verdict(true, regressions));
            }
            if regressions > 0 {
                print(&text::regression(&checked, terminal_style(false).width));
            }
            let is_judged = !checked.cells.is_empty() || checked.untold.is_empty();
            Ok(verdict(is_judged, regressions))
        }
        HistoryCommand::Regressions { how } => {
            let history = History::open(&path)?;
            let (numbers, runs): (Vec<i64>, Vec<Run>) = runs(&history)?.into_iter().unzip();
            let mut checks = check_all(&runs, how.measure.into(), how.level);
            let shown = |check: &Check| !how.json && check.count(Change::Regression) > 0;
            for (id, check) in numbers.iter().zip(&mut checks).filter(|(_, check)| shown(check)) {
                call(check, &names_of(&history, *id));
            }
            show_checks(&checks, how)?;
            Ok(verdict(true, checks.iter().map(|c| c.count(Change::Regression)).sum()))
        }
        HistoryCommand::Remove { id } => {
            let mut history = History::open(&path)?;
            for id in id {
                history.remove(*id)?;
                print(&format!("removed {id}"));
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The database that the user specified; otherwise the existing database, or the location for a new one.
fn database(args: &HistoryArgs) -> anyhow::Result<PathBuf> {
    if let Some(path) = &args.database {
        return Ok(path.clone());
    }
    // If other users can write to a directory, they may have created a database there, or a link to another file.
    for directory in trusted_state_directories() {
        if let Some(found) = in_directory(&directory)? {
            return Ok(found);
        }
    }
    let fit = |directory: &&PathBuf| {
        // Only this user can access the database directory, as for journals.
        dirs::create_private(directory).is_ok()
            && trusted_state_directories().contains(directory)
            && dirs::may_write(directory)
    };
    let creates = matches!(args.command, HistoryCommand::Add { .. });
    let directories = state_directories();
    let directory = directories.iter().find(|directory| !creates || fit(directory));
    let place = directory.map(|directory| directory.join(FILE));
    Ok(place.ok_or_else(|| {
        Refusal::target(
            Path::new(FILE),
            "no state directory is writable; specify a file with --database",
        )
    })?)
}

/// The database in one of this user's directories, if there is one. The database file must also belong to this user.
fn in_directory(directory: &Path) -> anyhow::Result<Option<PathBuf>> {
    let path = directory.join(FILE);
    let refuse = |reason: &str| Refusal::input(&path, reason);
    let held = Directory::open_no_follow(directory);
    let found = held.and_then(|held| held.entry(OsStr::new(FILE)));
    match found.map_err(|e| refuse(&e.to_string()))? {
        None => Ok(None),
        Some(entry) if entry.kind != cryptbench_os::FileType::RegularFile => {
            Err(refuse("is not a regular file; specify another file with --database").into())
        }
        Some(entry) if entry.owner != user::real() => {
            Err(refuse("belongs to another user; specify another file with --database").into())
        }
        Some(_) => Ok(Some(path)),
    }
}

fn add(path: &Path, records: &[PathBuf]) -> anyhow::Result<ExitCode> {
    // Checked first: a record that cannot be read must not create a database.
    for record in records {
        cryptbench_record::read(record)?;
    }
    let mut history = History::create(path)?;
    for record in records {
        let added = history.add(record)?;
        let how = if added.new { "added as" } else { "is already there as" };
        print(&format!("{} {how} {}", shown(record), added.id));
    }
    print(&format!("history {}", shown(history.path())));
    Ok(ExitCode::SUCCESS)
}

fn show(history: &History, id: i64, json: bool) -> anyhow::Result<ExitCode> {
    let document = history.document(id)?;
    if json {
        print_json_text(&document);
        return Ok(ExitCode::SUCCESS);
    }
    let origin = format!("record {id} of {}", shown(history.path()));
    let record = cryptbench_record::parse(Path::new(&origin), &document)?;
    let report = Labelled::of(&record);
    let text = cryptbench_view::terminal::render(&report.report(), terminal_style(false));
    print(text.trim_end());
    Ok(ExitCode::SUCCESS)
}

fn runs(history: &History) -> Result<Vec<(i64, Run)>, HistoryError> {
    let runs = history.runs()?;
    if runs.is_empty() {
        return Err(HistoryError::None { path: history.path().to_owned() });
    }
    Ok(runs)
}

/// Judges the record that `what` specifies by its number or path; without `what`, the newest record.
fn judge(history: &History, what: Option<&Path>, how: &CheckArgs) -> anyhow::Result<Check> {
    let numbered = runs(history)?;
    let all: Vec<Run> = numbered.iter().map(|(_, run)| run.clone()).collect();
    let stored = |found: &(i64, Run)| (found.1.clone(), names_of(history, found.0));
    let (run, names) = match what {
        None => numbered.last().map(stored).expect("there is one"),
        Some(path) => match path.to_str().and_then(|text| text.parse::<i64>().ok()) {
            Some(id) => numbered.iter().find(|(n, _)| *n == id).map(stored).ok_or_else(|| {
                HistoryError::NoSuchRecord { path: history.path().to_owned(), id }
            })?,
            None => {
                let mut record = cryptbench_record::read(path)?;
                record.results = Some(Results { cells: cells(&record), ..Results::default() });
                (Run::of(&record), Names::of(&record.plan))
            }
        },
    };
    let mut check = check(&run, &all, how.measure.into(), how.level);
    if !how.json {
        call(&mut check, &names);
    }
    Ok(check)
}

/// The names in a record in the history; empty if its plan cannot be read.
fn names_of(history: &History, id: i64) -> Names {
    #[derive(Deserialize)]
    struct Planned {
        plan: Plan,
    }
    let document = history.document(id).unwrap_or_default();
    let planned = serde_json::from_str(&document);
    planned.map_or_else(|_| Names::default(), |planned: Planned| Names::of(&planned.plan))
}

/// Replaces the labels of workloads and choices with the names used in the run's answer. Machine-readable output
/// keeps the stored labels.
fn call(check: &mut Check, names: &Names) {
    let cells = check.cells.iter_mut().map(|cell| (&mut cell.workload, &mut cell.arm));
    let untold = check.untold.iter_mut().map(|cell| (&mut cell.workload, &mut cell.arm));
    for (workload, arm) in cells.chain(untold) {
        (*workload, *arm) = (names.reworded(workload), names.reworded(arm));
    }
}

fn verdict(is_judged: bool, regressions: usize) -> ExitCode {
    match (is_judged, regressions) {
        (true, 0) => ExitCode::SUCCESS,
        (false, 0) => ExitCode::from(exit::NOT_JUDGED),
        _ => ExitCode::from(exit::REGRESSION),
    }
}

fn show_checks(checks: &[Check], how: &CheckArgs) -> anyhow::Result<()> {
    let width = terminal_style(false).width;
    match (how.json, checks) {
        (true, _) => print_json(&Document { schema: "cryptbench.history-check/1", checks })?,
        (false, [one]) => print(&text::check(one, width)),
        (false, many) => print(&text::regressions(many, width)),
    }
    Ok(())
}
