//! `cargo xtask bench delay`: compares the known cost of a layer with the cost that runs measure.
//!
//! Storage, even memory, responds more slowly after a pause. Compared with plain storage, a layer therefore
//! costs more than its delay. Two layers that both wait for a base time use storage in the same state, so their
//! difference is known.

use std::process::Command;

use anyhow::{Context as _, bail};
use cryptbench_record::{Operation, Record, Trial, Workload};
use cryptbench_stats::cost_model::fit;
use cryptbench_stats::{Coefficient, CostModel, SizePoint};

use super::{build_release, machine};

/// The known costs in seconds, per request and per byte, as in `crates/system/src/adapter/delay.rs`.
const COSTS: [(&str, &str, f64, f64); 3] = [
    ("20us", "0.5ns", 20e-6, 0.5e-9),
    ("50us", "0.2ns", 50e-6, 0.2e-9),
    ("100us", "1ns", 100e-6, 1e-9),
];

/// Additional delay of both layers.
const BASE: &str = "200us";

#[derive(clap::Args)]
pub struct Options {
    /// Runs of each known cost
    #[arg(long, default_value_t = 1)]
    runs: u32,
    /// Only this known cost, such as 20us,0.5ns
    #[arg(long)]
    cost: Option<String>,
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
        "{} x `cryptbench run --profile sweep --system delay --set base={BASE} --set per-request=A --set per-byte=B \
         --budget {}` for each A and B: the layer that waits A and B less the one that waits the base alone\n",
        options.runs, options.budget
    );
    println!(
        "| A | B | sweep | a found [95 %] | error of a | b found [95 %] | error of b | a against plain |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let wanted = |request: &str, byte: &str| {
        options.cost.as_ref().is_none_or(|cost| *cost == format!("{request},{byte}"))
    };
    let costs: Vec<_> = COSTS.into_iter().filter(|cost| wanted(cost.0, cost.1)).collect();
    if costs.is_empty() {
        bail!("no such cost; there are {}", COSTS.map(|c| format!("{},{}", c.0, c.1)).join(" "));
    }
    let mut tally = Tally::default();
    for _ in 0..options.runs {
        let before = tally;
        for &(request, byte, a, b) in &costs {
            let record = measured(&binary, options, request, byte)?;
            let [base, layer] = layers(&record)?;
            for operation in [Operation::Read, Operation::Write] {
                let found = added(&record, &operation, base, layer)?;
                let plain = added(&record, &operation, "plain", layer)?;
                let [fa, fb] =
                    [found.per_request_s.value / a - 1.0, found.per_byte_s.value / b - 1.0];
                tally.sweeps += 1;
                tally.hold_a += u32::from(holds(&found.per_request_s, a));
                tally.hold_b += u32::from(holds(&found.per_byte_s, b));
                tally.close += u32::from(fa.abs() <= 0.1 && fb.abs() <= 0.1);
                println!(
                    "| {request} | {byte} | {operation}s | {} µs | {:+.1} % | {} ns | {:+.1} % | {} µs |",
                    told(&found.per_request_s, 1e6, 2),
                    100.0 * fa,
                    told(&found.per_byte_s, 1e9, 3),
                    100.0 * fb,
                    told(&plain.per_request_s, 1e6, 1),
                );
            }
        }
        let Tally { sweeps, hold_a, hold_b, .. } = tally;
        let all = sweeps - before.sweeps;
        let every = hold_a - before.hold_a == all && hold_b - before.hold_b == all;
        tally.whole += u32::from(every);
    }
    let Tally { sweeps, hold_a, hold_b, close, whole } = tally;
    println!(
        "\nOf {sweeps} sweeps {hold_a} have A in the interval of a and {hold_b} B in that of b; {close} find both within \
         10 %. In {whole} of {} runs every interval holds its truth.",
        options.runs
    );
    Ok(())
}

/// The findings so far.
#[derive(Clone, Copy, Default)]
struct Tally {
    sweeps: u32,
    hold_a: u32,
    hold_b: u32,
    close: u32,
    whole: u32,
}

fn holds(found: &Coefficient, truth: f64) -> bool {
    (found.low..=found.high).contains(&truth)
}

/// The arm that waits only for the base time, and the one that also waits for A and B.
fn layers(record: &Record) -> anyhow::Result<[&str; 2]> {
    let mut delays = record.plan.arms.iter().filter(|arm| arm.system == "delay");
    let [base, layer] = [delays.next(), delays.next()];
    Ok([&base.context("no arm waits for the base")?.id, &layer.context("no arm waits")?.id])
}

/// The time that `layer` adds to the requests of one operation, relative to the arm `other`.
fn added(
    record: &Record,
    operation: &Operation,
    other: &str,
    layer: &str,
) -> anyhow::Result<CostModel> {
    let points = record.plan.workloads.iter().filter(|w| w.operation == *operation);
    let points: Vec<_> = points.filter_map(|w| point(record, w, other, layer)).collect();
    fit(&points, 0.95).context("too few block sizes")
}

/// The extra time at one block size, block by block.
fn point(record: &Record, workload: &Workload, before: &str, after: &str) -> Option<SizePoint> {
    let seconds = |t: &Trial| 1.0 / t.iops();
    let first = record.trials_of(&workload.id, before);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for (block, trial) in record.trials_of(&workload.id, after) {
        let Ok(i) = first.binary_search_by_key(&block, |(b, _)| *b) else { continue };
        a.push(seconds(first[i].1));
        b.push(seconds(trial));
    }
    SizePoint::of(workload.block_size as f64, &a, &b)
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
        .args(["--set", &format!("base={BASE}")])
        .args(["--set", &format!("per-request={request}"), "--set", &format!("per-byte={byte}")])
        .output()
        .with_context(|| format!("cannot start {}", binary.display()))?;
    if !out.status.success() {
        bail!("{}", String::from_utf8_lossy(&out.stderr));
    }
    serde_json::from_slice(&out.stdout).context("not a record")
}

fn told(found: &Coefficient, scale: f64, decimals: usize) -> String {
    let [value, low, high] =
        [found.value, found.low, found.high].map(|v| format!("{:.decimals$}", v * scale));
    format!("{value} [{low}, {high}]")
}
