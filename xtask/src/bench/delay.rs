//! `cargo xtask bench delay`: a layer of known cost, and what runs find of it.

use std::process::Command;

use anyhow::{Context as _, bail};
use cryptbench_record::{Record, Trial};
use cryptbench_stats::estimate;

use super::{build_release, machine};

/// The arm whose cost is known: seconds per request and per byte, as `crates/system/src/adapter/delay.rs` has them.
const COSTS: [(&str, &str, f64, f64); 3] = [
    ("20us", "0.5ns", 20e-6, 0.5e-9),
    ("50us", "0.2ns", 50e-6, 0.2e-9),
    ("100us", "1ns", 100e-6, 1e-9),
];

#[derive(clap::Args)]
pub struct Options {
    /// Runs of each known cost
    #[arg(long, default_value_t = 1)]
    runs: u32,
    /// Budget of each run
    #[arg(long, default_value = "3m")]
    budget: String,
    /// Directory on the disk to measure
    #[arg(long, default_value = ".")]
    target: String,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let binary = build_release(&["--package", "cryptbench"])?.join("cryptbench");
    println!("{}", machine());
    println!(
        "{} x `cryptbench run --profile sweep --system delay --set per-request=A --set per-byte=B --budget {}` for each A \
         and B\n",
        options.runs, options.budget
    );
    println!(
        "| A | B | sweep | a found [95 %] | error of a | b found [95 %] | error of b | extra times whose interval holds the truth |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let (mut held, mut all, mut close, mut models) = (0, 0, 0, 0);
    for _ in 0..options.runs {
        for (request, byte, a, b) in COSTS {
            let record = measured(&binary, options, request, byte)?;
            let results = record.results.as_ref().context("the record has no results")?;
            for found in results.additions.iter().filter(|f| f.arm.starts_with("delay")) {
                let mut cells = (0, 0);
                for workload in &found.workloads {
                    let block = record.plan.workloads.iter().find(|w| w.id == *workload);
                    let bytes = block.context("a workload of the plan")?.block_size as f64;
                    let Some((low, high)) = extra(&record, workload, &found.arm) else { continue };
                    cells.1 += 1;
                    cells.0 += u32::from((low..=high).contains(&(a + b * bytes)));
                }
                let [fa, fb] = [found.per_request_s[0] / a - 1.0, found.per_byte_s[0] / b - 1.0];
                held += cells.0;
                all += cells.1;
                models += 1;
                close += u32::from(fa.abs() <= 0.1 && fb.abs() <= 0.1);
                println!(
                    "| {request} | {byte} | {} | {} µs | {:+.1} % | {} ns | {:+.1} % | {} of {} |",
                    found.sweep,
                    three(found.per_request_s, 1e6, 2),
                    100.0 * fa,
                    three(found.per_byte_s, 1e9, 3),
                    100.0 * fb,
                    cells.0,
                    cells.1,
                );
            }
        }
    }
    println!("\n{close} of {models} sweeps find both within 10 %.");
    println!(
        "{held} of {all} intervals of the extra time hold the truth ({:.0} %; 95 % are expected).",
        100.0 * f64::from(held) / f64::from(all.max(1))
    );
    Ok(())
}

fn measured(
    binary: &std::path::Path,
    options: &Options,
    request: &str,
    byte: &str,
) -> anyhow::Result<Record> {
    let out = Command::new(binary)
        .args(["run", &options.target, "--json", "--quiet", "--profile", "sweep"])
        .args(["--system", "delay", "--budget", &options.budget])
        .args(["--set", &format!("per-request={request}"), "--set", &format!("per-byte={byte}")])
        .output()
        .with_context(|| format!("cannot start {}", binary.display()))?;
    if !out.status.success() {
        bail!("{}", String::from_utf8_lossy(&out.stderr));
    }
    serde_json::from_slice(&out.stdout).context("not a record")
}

/// The interval of the mean extra seconds of a request, block by block.
fn extra(record: &Record, workload: &str, arm: &str) -> Option<(f64, f64)> {
    let seconds = |t: &Trial| 1.0 / t.iops();
    let plain = record.trials_of(workload, "plain");
    let d: Vec<f64> = record
        .trials_of(workload, arm)
        .into_iter()
        .filter_map(|(block, t)| {
            let i = plain.binary_search_by_key(&block, |(b, _)| *b).ok()?;
            Some(seconds(t) - seconds(plain[i].1))
        })
        .collect();
    estimate(&d, 0.95).map(|e| (e.low, e.high))
}

fn three([value, low, high]: [f64; 3], scale: f64, decimals: usize) -> String {
    let [value, low, high] = [value, low, high].map(|v| format!("{:.decimals$}", v * scale));
    format!("{value} [{low}, {high}]")
}
