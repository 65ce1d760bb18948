//! `cargo xtask bench aa`: compares plain with plain in many runs, in one directory or in two.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use cryptbench_record::{Record, Verdict};

use super::median;
use super::{build_release, machine};

#[derive(clap::Args)]
pub struct Options {
    /// Number of runs
    #[arg(long, default_value_t = 20)]
    runs: u32,
    /// Budget of each run
    #[arg(long, default_value = "2m")]
    budget: String,
    /// Directory on the disk to measure
    #[arg(long, default_value = ".")]
    target: String,
    /// Compare two directories of one file system, which are made in the target: another place is another disk
    #[arg(long)]
    places: bool,
    /// Measure whole trials
    #[arg(long)]
    no_slices: bool,
    /// Seed of the first run; later runs count up from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Options {
    /// The arms that are also plain storage, and the arguments that select them; with two directories in `places`, if
    /// those are compared.
    fn arms(&self, places: Option<&Path>) -> (&'static [&'static str], Vec<OsString>) {
        let Some(places) = places else {
            return (&["plain-again"], vec![self.target.clone().into(), "--builtin-only".into()]);
        };
        let place = |name: &str| places.join(name).into_os_string();
        (&["paired", "plain-again"], vec!["--pair".into(), place("one"), place("other")])
    }
}

/// The results of all runs for one arm.
#[derive(Default)]
struct Tally {
    /// Runs that claim no difference in any workload.
    good: u32,
    cells: usize,
    /// Number of cells whose interval excludes equality: what a test without a noise floor and without Holm's
    /// correction would claim.
    unequal: usize,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let binary = build_release(&["--package", "cryptbench"])?.join("cryptbench");
    let places = options.places.then(|| tempfile::tempdir_in(&options.target)).transpose()?;
    let (arms, target) = options.arms(places.as_ref().map(tempfile::TempDir::path));
    if options.places {
        for place in &target[1..] {
            std::fs::create_dir(place)?;
        }
    }
    println!("{}", machine());
    println!(
        "{} x `cryptbench run --budget {} --seed N --json{}{}`: verdicts of {} against plain\n",
        options.runs,
        options.budget,
        if options.places { " --pair DIRECTORY DIRECTORY" } else { " --builtin-only" },
        if options.no_slices { " --no-slices" } else { "" },
        arms.join(" and of "),
    );
    println!(
        "| seed | arm | pairs | noise floor, % | half-width, % | equivalent | within noise | likely | claimed | seconds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut tallies: Vec<Tally> = arms.iter().map(|_| Tally::default()).collect();
    for run in 0..options.runs {
        let seed = options.seed + u64::from(run);
        let out = Command::new(&binary)
            .arg("run")
            .args(&target)
            .args(["--json", "--quiet", "--budget", &options.budget])
            .args(["--seed", &seed.to_string()])
            .args(options.no_slices.then_some("--no-slices"))
            .output()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        if !out.status.success() {
            bail!("seed {seed}: {}", String::from_utf8_lossy(&out.stderr));
        }
        let record: Record = serde_json::from_slice(&out.stdout).context("not a record")?;
        for (arm, tally) in arms.iter().zip(&mut tallies) {
            tally.enter(arm, &record)?;
        }
    }
    println!();
    for (arm, Tally { good, cells, unequal }) in arms.iter().zip(tallies) {
        println!(
            "{arm}: {good} of {} runs claim no difference in any workload. {unequal} of {cells} 95 % intervals exclude \
             equality ({:.1} %; about 5 % are expected of correct intervals).",
            options.runs,
            100.0 * unequal as f64 / cells.max(1) as f64
        );
    }
    Ok(())
}

impl Tally {
    /// Adds the result of `record` for `arm`, and prints it as a row.
    fn enter(&mut self, arm: &str, record: &Record) -> anyhow::Result<()> {
        let results = record.results.as_ref().context("the record has no results")?;
        let cells: Vec<_> = results.cells.iter().filter(|c| c.arm == arm).collect();
        if cells.is_empty() {
            bail!("seed {} has no arm {arm}", record.plan.seed);
        }
        let count = |f: fn(&Verdict) -> bool| {
            cells.iter().filter(|c| c.verdict.as_ref().is_some_and(f)).count()
        };
        let claimed = count(|v| matches!(v, Verdict::Costs { .. } | Verdict::Gains { .. }));
        self.good += u32::from(claimed == 0);
        self.cells += cells.len();
        let kept = || cells.iter().filter_map(|c| c.kept);
        self.unequal += kept().filter(|k| k.low > 1.0 || k.high < 1.0).count();
        println!(
            "| {} | {arm} | {} | {} | {:.1} | {} | {} | {} | {claimed} | {:.0} |",
            record.plan.seed,
            range(record.stops.iter().map(|s| f64::from(s.pairs)).collect()),
            range(cells.iter().filter_map(|c| c.noise_floor).map(|n| 100.0 * n).collect()),
            median(kept().map(|k| 50.0 * (k.high - k.low))),
            count(|v| matches!(v, Verdict::Equivalent { .. })),
            count(|v| matches!(v, Verdict::WithinNoise { .. })),
            count(|v| matches!(v, Verdict::LikelyCosts { .. } | Verdict::LikelyGains { .. })),
            record.elapsed_s,
        );
        Ok(())
    }
}

/// The smallest and the largest of `values`.
fn range(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    match (values.first(), values.last()) {
        (Some(low), Some(high)) => format!("{low:.0} to {high:.0}"),
        _ => "-".to_owned(),
    }
}
