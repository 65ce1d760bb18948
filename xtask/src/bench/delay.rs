//! `cargo xtask bench delay`: a layer of known cost, and what runs find of it.
//!
//! Storage that answers later after a pause makes a layer that waits cost more than it waits. What this adds is measured
//! besides, by a plain loop of reads and writes with the same pauses that shares nothing with the program.

mod reaction;

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};
use cryptbench_record::{Record, Trial};
use cryptbench_stats::{PairedEstimate, estimate};

use self::reaction::Probe;
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
        "| A | B | sweep | a found [95 %] | error of a | b found [95 %] | error of b | the storage answers later, smallest to \
         largest | extra times that hold A + B x size | and with that |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let (mut held, mut explained, mut all, mut close, mut models) = (0, 0, 0, 0, 0);
    for _ in 0..options.runs {
        for (request, byte, a, b) in COSTS {
            let record = measured(&binary, options, request, byte)?;
            let results = record.results.as_ref().context("the record has no results")?;
            let mut probe = Probe::new(&options.target)?;
            for found in results.additions.iter().filter(|f| f.arm.starts_with("delay")) {
                let mut cells = Cells::default();
                for id in &found.workloads {
                    let workload = record.plan.workloads.iter().find(|w| w.id == *id);
                    let workload = workload.context("a workload of the plan")?;
                    let Some(extra) = extra(&record, id, &found.arm) else { continue };
                    let waits = a + b * workload.block_size as f64;
                    let later = probe
                        .reaction(
                            workload.block_size as usize,
                            workload.operation == "write",
                            Duration::from_secs_f64(waits),
                        )?
                        .context("too few turns")?;
                    cells.add(&extra, waits, &later);
                }
                let [fa, fb] = [found.per_request_s[0] / a - 1.0, found.per_byte_s[0] / b - 1.0];
                held += cells.held;
                explained += cells.explained;
                all += cells.later.len();
                models += 1;
                close += u32::from(fa.abs() <= 0.1 && fb.abs() <= 0.1);
                println!(
                    "| {request} | {byte} | {} | {} µs | {:+.1} % | {} ns | {:+.1} % | {} | {} of {all_of} | {} of {all_of} |",
                    found.sweep,
                    three(found.per_request_s, 1e6, 2),
                    100.0 * fa,
                    three(found.per_byte_s, 1e9, 3),
                    100.0 * fb,
                    cells.ends(),
                    cells.held,
                    cells.explained,
                    all_of = cells.later.len(),
                );
            }
        }
    }
    println!("\n{close} of {models} sweeps find both within 10 %.");
    let share = |n: usize| 100.0 * n as f64 / all.max(1) as f64;
    println!(
        "{held} of {all} intervals of the extra time hold the wait itself ({:.0} %), and {explained} the wait and what the \
         storage answers later by ({:.0} %; 95 % are expected where that is all).",
        share(held),
        share(explained)
    );
    Ok(())
}

/// The block sizes of a sweep.
#[derive(Default)]
struct Cells {
    /// Intervals that hold the wait.
    held: usize,
    /// Intervals that hold the wait and what the storage answers later by.
    explained: usize,
    later: Vec<f64>,
}

impl Cells {
    fn add(&mut self, extra: &PairedEstimate, waits: f64, later: &PairedEstimate) {
        self.held += usize::from((extra.low..=extra.high).contains(&waits));
        // The difference of two independent estimates.
        let half_width = extra.half_width.hypot(later.half_width);
        self.explained += usize::from((extra.mean - waits - later.mean).abs() <= half_width);
        self.later.push(later.mean);
    }

    fn ends(&self) -> String {
        let us = |s: Option<&f64>| s.map_or_else(|| "?".to_owned(), |s| format!("{:+.1}", s * 1e6));
        format!("{} to {} µs", us(self.later.first()), us(self.later.last()))
    }
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
fn extra(record: &Record, workload: &str, arm: &str) -> Option<PairedEstimate> {
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
    estimate(&d, 0.95)
}

fn three([value, low, high]: [f64; 3], scale: f64, decimals: usize) -> String {
    let [value, low, high] = [value, low, high].map(|v| format!("{:.decimals$}", v * scale));
    format!("{value} [{low}, {high}]")
}
