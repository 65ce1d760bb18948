//! `cargo xtask bench aa`: plain against plain, run after run.

use std::process::Command;

use anyhow::{Context as _, bail};
use cryptbench_record::{Record, Verdict};

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
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let binary = build_release(&["--package", "cryptbench"])?.join("cryptbench");
    println!("{}", machine());
    println!(
        "{} x `cryptbench run --budget {} --json`: verdicts of plain again against plain\n",
        options.runs, options.budget
    );
    println!(
        "| run | seed | pairs | noise floor, % | cells equivalent | within noise | other | seconds |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let (mut good, mut cells, mut excluded_zero) = (0, 0, 0);
    for run in 1..=options.runs {
        let out = Command::new(&binary)
            .args(["run", &options.target, "--json", "--quiet", "--budget", &options.budget])
            .output()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        if !out.status.success() {
            bail!("run {run}: {}", String::from_utf8_lossy(&out.stderr));
        }
        let record: Record = serde_json::from_slice(&out.stdout).context("not a record")?;
        let results = record.results.as_ref().context("the record has no results")?;
        let again: Vec<_> = results.cells.iter().filter(|c| c.arm == "plain-again").collect();
        let count = |f: fn(&Verdict) -> bool| {
            again.iter().filter(|c| c.verdict.as_ref().is_some_and(f)).count()
        };
        let equivalent = count(|v| matches!(v, Verdict::Equivalent { .. }));
        let noise = count(|v| matches!(v, Verdict::WithinNoise { .. }));
        let other = again.len() - equivalent - noise;
        good += u32::from(other == 0);
        cells += again.len();
        // What a test without a noise floor and without Holm would have claimed.
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
            "| {run} | {} | {} | {} | {equivalent} | {noise} | {other} | {:.0} |",
            record.plan.seed,
            range(record.stops.iter().map(|s| f64::from(s.pairs)).collect()),
            range(again.iter().filter_map(|c| c.noise_floor).map(|n| 100.0 * n).collect()),
            record.elapsed_s,
        );
    }
    println!(
        "\n{good} of {} runs call plain and plain again equivalent or within noise in every workload.",
        options.runs
    );
    println!(
        "{excluded_zero} of {cells} cells have a 95 % interval that excludes equality \
         ({:.1} %; about 5 % are expected of intervals that hold what they say).",
        100.0 * excluded_zero as f64 / cells.max(1) as f64
    );
    Ok(())
}
