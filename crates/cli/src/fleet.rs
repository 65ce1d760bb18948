//! `cryptbench fleet`, and the runs of its machines.

pub mod args;
mod collecting;
mod csv;
pub mod machine;
mod page;
mod text;

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use cryptbench_fleet::{Files, Fleet, FleetError, Plan, Report, expand, stream};
use cryptbench_text::shown;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::exit::Refusal;
use crate::say::{print, print_json, print_text, stderr_is_terminal, terminal_style};
use crate::units::duration;
use args::{FleetArgs, FleetCommand, PlanArgs, ReportArgs};

/// Of all intervals, as in the report of a run.
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
    let bar = progress(files.paths().len());
    let mut fleet = Fleet::default();
    stream(
        files.paths(),
        threads(),
        |path| Fleet::observe(path.to_owned(), files.read(path)),
        |observed| {
            bar.inc(1);
            fleet.add(observed);
            ControlFlow::<()>::Continue(())
        },
    );
    bar.finish_and_clear();
    let report = Report::of(fleet, &expected, CONFIDENCE);
    let style = terminal_style(false);
    match args {
        _ if args.json => print_json(&report)?,
        _ if args.csv => print_text(&csv::lines(&report)),
        _ if args.html => print_text(&page::page(&report)),
        _ if args.full => print(&text::full(&report, style.width)),
        _ => print(&text::screen(&report, &shown(&args.directory), style.width)),
    }
    Ok(ExitCode::SUCCESS)
}

/// The files of a fleet's directory, of which there is at least one.
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

/// A bar on a terminal, nothing elsewhere.
fn progress(files: usize) -> ProgressBar {
    let target = match stderr_is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let style = ProgressStyle::with_template("reading {bar:40} {pos} of {len} records");
    let bar = ProgressBar::with_draw_target(Some(files as u64), target);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
