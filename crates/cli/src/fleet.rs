//! `cryptbench fleet`, and the runs on a fleet's machines.

pub mod args;
mod collecting;
mod csv;
pub mod machine;
mod page;
mod text;

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use cryptbench_answer::names::{Gathered, Names};
use cryptbench_fleet::{Files, Fleet, FleetError, Found, Plan, Report, expand, stream};
use cryptbench_text::shown;
use indicatif::ProgressBar;

use crate::exit::Refusal;
use crate::progress;
use crate::say::{print, print_json, print_text, terminal_style};
use crate::units::duration;
use args::{FleetArgs, FleetCommand, PlanArgs, ReportArgs};

/// Confidence level of all intervals, as in the report of a run.
const CONFIDENCE: f64 = 0.95;

pub fn fleet(args: &FleetArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        FleetCommand::Plan(args) => plan(args),
        FleetCommand::Report(args) => report(args),
        FleetCommand::Collect { directory, output } => {
            collecting::collect(&listed(directory)?, threads(), output)
        }
    }
}

fn plan(args: &PlanArgs) -> anyhow::Result<ExitCode> {
    let plan = Plan::read(&args.plan)?;
    for system in &plan.systems {
        cryptbench_system::find(system)?;
    }
    let budget = duration(&plan.budget)
        .map_err(|why| Refusal::usage(&args.plan, &format!("budget {:?}: {why}", plan.budget)))?;
    print_text(&plan.render(args.by.into(), budget)?);
    Ok(ExitCode::SUCCESS)
}

fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let expected = match (&args.nodes, &args.plan) {
        (Some(list), _) => expand(list)?,
        (None, Some(plan)) => Plan::read(plan)?.nodes()?,
        (None, None) => Vec::new(),
    };
    let files = listed(&args.directory)?;
    let bar = reading(&files);
    let (mut fleet, mut gathered) = (Fleet::default(), Gathered::default());
    stream(
        files.paths(),
        threads(),
        |path| {
            let found = files.read(path);
            let plan = match &found {
                Found::Record(record) => Some(record.plan.clone()),
                _ => None,
            };
            (Fleet::observe(path.to_owned(), found), plan)
        },
        |(observed, plan)| {
            bar.inc(1);
            fleet.add(observed);
            plan.iter().for_each(|plan| gathered.add(plan));
            ControlFlow::<()>::Continue(())
        },
    );
    bar.finish_and_clear();
    let mut report = Report::of(fleet, &expected, CONFIDENCE);
    call(&mut report, &gathered.called());
    let style = terminal_style(false);
    match args {
        _ if args.form.json => print_json(&report)?,
        _ if args.form.csv => print_text(&csv::lines(&report)),
        _ if args.form.html => print_text(&page::page(&report)),
        _ if args.full => print(&text::full(&report, style.width)),
        _ => print(&text::screen(&report, &shown(&args.directory), style.width)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Replaces the labels of choices and workloads with the names that are used in the runs' answers.
fn call(report: &mut Report, names: &Names) {
    let name = |id: &str, label: &mut String| {
        if let Some(name) = names.of_id(id) {
            name.clone_into(label);
        }
    };
    for group in &mut report.groups {
        name(&group.kind.arm, &mut group.kind.arm_label);
        group.rows.iter_mut().for_each(|row| name(&row.workload, &mut row.label));
    }
    for outlier in &mut report.outliers {
        name(&outlier.arm, &mut outlier.arm_label);
        name(&outlier.workload, &mut outlier.label);
    }
}

/// The files in a fleet's directory; an empty directory is an error.
fn listed(directory: &Path) -> anyhow::Result<Files> {
    let files = Files::in_directory(directory)?;
    if files.paths().is_empty() {
        return Err(FleetError::Empty { path: directory.to_owned() }.into());
    }
    Ok(files)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn reading(files: &Files) -> ProgressBar {
    progress::bar(files.paths().len() as u64, "reading {bar:40} {pos} of {len} records", 8)
}
