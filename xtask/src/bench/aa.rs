//! `cargo xtask bench aa`: compares plain with plain in many runs, in one place or in two.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use cryptbench_record::{Record, Verdict};

use super::sharpness::median;
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
    /// The arm that is plain storage as well, and the arguments that select it.
    fn arm(&self) -> (&'static str, Vec<OsString>) {
        if !self.places {
            return ("plain-again", vec![self.target.clone().into(), "--builtin-only".into()]);
        }
        let place = |name: &str| Path::new(&self.target).join(name).into_os_string();
        ("paired", vec!["--pair".into(), place("aa-one"), place("aa-other")])
    }
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let binary = build_release(&["--package", "cryptbench"])?.join("cryptbench");
    let (arm, target) = options.arm();
    if options.places {
        for place in &target[1..] {
            std::fs::create_dir_all(place)?;
        }
    }
    println!("{}", machine());
    println!(
        "{} x `cryptbench run --budget {} --seed N --json{}{}`: verdicts of {arm} against plain\n",
        options.runs,
        options.budget,
        if options.places { " --pair DIRECTORY DIRECTORY" } else { " --builtin-only" },
        if options.no_slices { " --no-slices" } else { "" },
    );
    println!(
        "| run | seed | pairs | noise floor, % | half-width, % | equivalent | within noise | likely | claimed | seconds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let (mut good, mut cells, mut excluded_zero) = (0, 0, 0);
    for run in 1..=options.runs {
        let out = Command::new(&binary)
            .arg("run")
            .args(&target)
            .args(["--json", "--quiet", "--budget", &options.budget])
            .args(["--seed", &(options.seed + u64::from(run) - 1).to_string()])
            .args(options.no_slices.then_some("--no-slices"))
            .output()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        if !out.status.success() {
            bail!("run {run}: {}", String::from_utf8_lossy(&out.stderr));
        }
        let record: Record = serde_json::from_slice(&out.stdout).context("not a record")?;
        let results = record.results.as_ref().context("the record has no results")?;
        let again: Vec<_> = results.cells.iter().filter(|c| c.arm == arm).collect();
        if again.is_empty() {
            bail!("run {run} has no arm {arm}");
        }
        let count = |f: fn(&Verdict) -> bool| {
            again.iter().filter(|c| c.verdict.as_ref().is_some_and(f)).count()
        };
        let equivalent = count(|v| matches!(v, Verdict::Equivalent { .. }));
        let noise = count(|v| matches!(v, Verdict::WithinNoise { .. }));
        let likely =
            count(|v| matches!(v, Verdict::LikelyCosts { .. } | Verdict::LikelyGains { .. }));
        let claimed = count(|v| matches!(v, Verdict::Costs { .. } | Verdict::Gains { .. }));
        good += u32::from(claimed == 0);
        let widths = again.iter().filter_map(|c| c.kept).map(|k| 50.0 * (k.high - k.low));
        cells += again.len();
        // The claims of a test without a noise floor and without Holm's correction.
        excluded_zero +=
            again.iter().filter(|c| c.kept.is_some_and(|k| k.low > 1.0 || k.high < 1.0)).count();
        let range = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            match (values.first(), values.last()) {
                (Some(low), Some(high)) => format!("{low:.0} to {high:.0}"),
                _ => "-".to_owned(),
            }
        };
        println!(
            "| {run} | {} | {} | {} | {:.1} | {equivalent} | {noise} | {likely} | {claimed} | {:.0} |",
            record.plan.seed,
            range(record.stops.iter().map(|s| f64::from(s.pairs)).collect()),
            range(again.iter().filter_map(|c| c.noise_floor).map(|n| 100.0 * n).collect()),
            median(widths),
            record.elapsed_s,
        );
    }
    println!("\n{good} of {} runs claim no difference in any workload.", options.runs);
    println!(
        "{excluded_zero} of {cells} cells have a 95 % interval that excludes equality \
         ({:.1} %; about 5 % are expected of correct intervals).",
        100.0 * excluded_zero as f64 / cells.max(1) as f64
    );
    Ok(())
}
