//! `cryptbench compare`: compares two records or results from other tools, without pairing.

pub mod args;
mod csv;
mod joint;
mod text;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cryptbench_answer::names::Names;
use cryptbench_estimate::cells::cells;
use cryptbench_foreign::answer::answer;
use cryptbench_foreign::compare::{Comparison, Options, compare as compare_sets, sentences};
use cryptbench_foreign::costs::{CostChange, costs};
use cryptbench_foreign::differences::{Difference, differences};
use cryptbench_foreign::naming::Naming;
use cryptbench_foreign::reproduced::{Reproduction, reproduction};
use cryptbench_foreign::{ArmChoice, Set, from_record, is_record, read, read_halves};
use cryptbench_record::{Arm, Record, Results, Workload};
use cryptbench_text::shown;
use serde::Serialize;

use crate::exit::Refusal;
use crate::names;
use crate::say::{print, print_json, terminal_style};
use args::CompareArgs;

/// The output of `--json`.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    #[serde(flatten)]
    comparison: Comparison,
    /// The changes, their sizes, and how certain they are.
    answer: Vec<String>,
    /// Further remarks on the answer.
    sentences: Vec<String>,
    /// For two records: differences other than speed.
    differences: Vec<Difference>,
    /// For two records with the same arms: the change of each cost.
    costs: Vec<CostChange>,
    /// For two records with the same arms: whether the second record reproduces the costs of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    reproduction: Option<Reproduction>,
}

/// The catalogue's names for one record, shared by the answer, the tables and the page.
struct Called(Names);

impl Called {
    fn of(record: &Record) -> Self {
        Self(Names::of(&record.plan))
    }
}

impl Naming for Called {
    fn workload(&self, workload: &Workload) -> String {
        self.0.workload(workload).to_owned()
    }

    fn arm(&self, arm: &Arm) -> String {
        self.0.arm(arm).to_owned()
    }

    fn text(&self, text: &str) -> String {
        self.0.reworded(text)
    }
}

pub fn compare(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    if !args.joint.is_empty() {
        return joint::run(args);
    }
    let Some(at_a) = &args.a else { unreachable!("it is required") };
    let Some(at_b) = &args.b else { return halves(args, at_a) };
    refuse_systems(at_a, at_b)?;
    if args.arm.len() > 2 {
        let reason = "--arm is given more than twice; use it at most once for A and once for B";
        return Err(Refusal::usage(Path::new("compare"), reason).into());
    }
    let [first, second] =
        [(at_a, &args.also_a), (at_b, &args.also_b)].map(|(path, also)| record_of(path, also));
    let (first, second) = (first?, second?);
    let both = first.is_some() && second.is_some();
    if let (Some(a), Some(b), true) = (&first, &second, args.arm.is_empty()) {
        refuse_other_sets((at_b, b), (at_a, a))?;
    }
    if first.is_none() && second.is_none() && !args.arm.is_empty() {
        let reason =
            "--arm selects a choice of a record, but neither A nor B is a record; omit --arm";
        return Err(Refusal::usage(at_a, reason).into());
    }
    let named = |which: usize, record: Option<&Record>, at: &Path| {
        let asked = args.arm.get(which).or(args.arm.first()).zip(record);
        asked.map(|(arm, record)| names::arm(record, at, arm)).transpose()
    };
    let arm_a = named(0, first.as_ref(), at_a)?;
    let arm_b = named(1, second.as_ref(), at_b)?;
    let a = set(at_a, &args.also_a, first.as_ref(), choice(arm_a.as_deref(), both))?;
    let b = set(at_b, &args.also_b, second.as_ref(), choice(arm_b.as_deref(), both))?;
    let comparison = compare_sets(&a, &b, options(args));
    if comparison.cells.is_empty() {
        return Err(Refusal::input(at_b, &nothing_shared(&comparison)).into());
    }
    let (differences, costs) = match (&first, &second) {
        (Some(x), Some(y)) => (differences(x, y, &Called::of(x)), changes(x, y, &args.arm)),
        _ => (Vec::new(), Vec::new()),
    };
    let is_same_run = matches!((&first, &second), (Some(a), Some(b)) if a.run_id == b.run_id);
    let reproduction = first.and_then(|first| reproduction(&first, &costs));
    let found = Found { comparison, differences, costs, reproduction, is_same_run };
    show(args, found)
}

/// Refuses two names of systems in place of files.
fn refuse_systems(a: &Path, b: &Path) -> anyhow::Result<()> {
    let is_system = |path: &Path| {
        path.to_str().is_some_and(|name| cryptbench_catalog::find(name).is_some()) && !path.exists()
    };
    if is_system(a) && is_system(b) {
        let reason = format!(
            "is a system, not a file; to compare two choices of the last run: cryptbench compare last last --arm {} --arm {}",
            a.display(),
            b.display()
        );
        return Err(Refusal::usage(a, &reason).into());
    }
    Ok(())
}

/// The choices of a record to compare: the requested choice, all choices that both records have, or plain storage.
fn choice(arm: Option<&str>, both: bool) -> ArmChoice<'_> {
    match (arm, both) {
        (Some(arm), _) => ArmChoice::One(arm),
        (None, true) => ArmChoice::All,
        (None, false) => ArmChoice::Plain,
    }
}

/// A single file with results for both plain and encrypted storage.
fn halves(args: &CompareArgs, at: &Path) -> anyhow::Result<ExitCode> {
    if is_record(at) {
        let reason = "is a record; also specify the result to compare it with";
        return Err(Refusal::usage(at, reason).into());
    }
    if !(args.arm.is_empty() && args.also_a.is_empty() && args.also_b.is_empty()) {
        let reason = "--arm, --also-a and --also-b need A and B";
        return Err(Refusal::usage(at, reason).into());
    }
    let (plain, encrypted) = read_halves(at)?;
    let comparison = compare_sets(&plain, &encrypted, options(args));
    show(args, Found::of(comparison))
}

fn options(args: &CompareArgs) -> Options {
    Options {
        measure: args.measure.map(Into::into),
        estimator: args.estimator.map(Into::into),
        ..Options::default()
    }
}

/// All results of comparing two sides.
struct Found {
    comparison: Comparison,
    differences: Vec<Difference>,
    costs: Vec<CostChange>,
    reproduction: Option<Reproduction>,
    is_same_run: bool,
}

impl Found {
    /// The comparison of two sides of which at least one is not a record.
    fn of(comparison: Comparison) -> Self {
        let (differences, costs) = (Vec::new(), Vec::new());
        Self { comparison, differences, costs, reproduction: None, is_same_run: false }
    }
}

fn show(args: &CompareArgs, found: Found) -> anyhow::Result<ExitCode> {
    let Found { comparison, differences, costs, reproduction, is_same_run } = found;
    let mut answer = answer(&comparison, &costs, reproduction.as_ref());
    if is_same_run {
        answer = vec!["A and B are the same run.".to_owned()];
    }
    let sentences = sentences(&comparison);
    if args.csv {
        print(csv::lines(&comparison).trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let document = Document {
        schema: "cryptbench.comparison/1",
        comparison,
        answer,
        sentences,
        differences,
        costs,
        reproduction,
    };
    if args.json {
        print_json(&document)?;
    } else {
        print(&text::render(&document, args.all, terminal_style(false).width));
    }
    Ok(ExitCode::SUCCESS)
}

/// The differences between a record and its repetition, and whether the repetition reproduced the result.
pub fn beside(first: &Record, second: &Record, width: usize) -> String {
    let with_cells = |record: &Record| {
        let results = Results { cells: cells(record), ..Results::default() };
        Record { results: Some(results), ..record.clone() }
    };
    let (first, second) = (with_cells(first), with_cells(second));
    let names = Called::of(&first);
    let costs = costs(&first, &second, 0.95, &names);
    let reproduction = reproduction(&first, &costs);
    text::beside(&differences(&first, &second, &names), &costs, reproduction.as_ref(), width)
}

/// Refuses records with different sets of arms, because an arm's trials are affected by the other arms.
fn refuse_other_sets(
    (at_b, b): (&Path, &Record),
    (at_a, a): (&Path, &Record),
) -> anyhow::Result<()> {
    let (of_a, of_b) = (a.plan.arm_set(), b.plan.arm_set());
    if of_a == of_b {
        return Ok(());
    }
    let name = |set: Option<&str>| match set {
        Some(set) => format!("the set {set}"),
        None => "explicitly chosen systems".to_owned(),
    };
    let in_both = |arm: &&Arm| b.plan.arms.iter().any(|other| other.id == arm.id);
    let shared: Vec<&str> = a.plan.arms.iter().filter(in_both).map(|arm| arm.id.as_str()).collect();
    let remedy = match shared.is_empty() {
        true => "Measure".to_owned(),
        false => {
            format!("Select with --arm a choice that both have ({}), or measure", shared.join(", "))
        }
    };
    let reason = format!(
        "measured {}, but {} measured {}: runs of different sets cannot be compared. {remedy} both with the same \
         --system",
        name(of_b),
        shown(at_a),
        name(of_a)
    );
    Err(Refusal::usage(at_b, &reason).into())
}

/// Reads the record at a path and derives its results again, including which cells were served from a cache.
fn record_of(path: &Path, also: &[PathBuf]) -> anyhow::Result<Option<Record>> {
    if !is_record(path) {
        return Ok(None);
    }
    if !also.is_empty() {
        let reason =
            "is a record; --also-a and --also-b can be used only with results from other tools";
        return Err(Refusal::usage(path, reason).into());
    }
    let mut record = cryptbench_record::read(path)?;
    record.results = Some(Results { cells: cells(&record), ..Results::default() });
    Ok(Some(record))
}

fn set(
    path: &Path,
    also: &[PathBuf],
    record: Option<&Record>,
    choice: ArmChoice<'_>,
) -> anyhow::Result<Set> {
    Ok(match record {
        Some(record) => from_record(record, path, choice, &Called::of(record))?,
        None => {
            let mut paths = vec![path.to_owned()];
            paths.extend(also.iter().cloned());
            read(&paths)?
        }
    })
}

/// The changes in cost. A cost is relative to plain storage of the same record, so with --arm there is no cost to
/// compare.
fn changes(a: &Record, b: &Record, arms: &[String]) -> Vec<CostChange> {
    if arms.is_empty() { costs(a, b, 0.95, &Called::of(a)) } else { Vec::new() }
}

fn nothing_shared(comparison: &Comparison) -> String {
    if !comparison.without_measure.is_empty() {
        return "no cell has the requested measure on both sides".to_owned();
    }
    let some = |names: &[String]| {
        let shown: Vec<&str> = names.iter().take(3).map(String::as_str).collect();
        let more = if names.len() > 3 { " ..." } else { "" };
        // Names of workloads contain commas.
        format!("{}{more}", shown.join("; "))
    };
    format!(
        "has no cell in common with A. A has {}; B has {}",
        some(&comparison.only_a),
        some(&comparison.only_b)
    )
}
