//! `cargo xtask bench sharpness`: compares the width of intervals with slices and with whole
//! trials.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use cryptbench_record::{Cell, Record, Verdict};

use super::{build_release, machine, median};

/// The plain-again arm, which shows only the noise floor.
const AGAIN: &str = "plain-again";

#[derive(clap::Args)]
pub struct Options {
    /// Pairs of runs, one with slices and one without
    #[arg(long, default_value_t = 10)]
    pairs: u64,
    /// Budget of each run
    #[arg(long, default_value = "2m")]
    budget: String,
    /// Seed of the first pair; later pairs count up from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Directory on the disk to measure
    #[arg(long, default_value = ".")]
    target: String,
    /// Keep the records in this directory
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Read the records that `--keep` left in this directory instead of measuring
    #[arg(long, conflicts_with = "keep")]
    from: Option<PathBuf>,
    /// Further arguments of `cryptbench run`
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// The results of one run.
struct Sharpness {
    /// Median half-width of the intervals of its cells, as a fraction.
    half_width: f64,
    /// Number of cells with a cost, a gain or equivalence.
    decided: usize,
    cells: usize,
    pairs: u32,
    seconds: f64,
    /// CPU time in seconds per GiB that is attributed to each cell, by workload and arm.
    cpu: BTreeMap<(String, String), f64>,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let binary = match options.from {
        Some(_) => PathBuf::new(),
        None => build_release(&["--package", "cryptbench"])?.join("cryptbench"),
    };
    println!("{}", machine());
    println!(
        "{} pairs of `cryptbench run --builtin-only --budget {} --seed N`, with slices and with --no-slices\n",
        options.pairs, options.budget
    );
    println!("| seed | trials | half-width, % | decided | pairs | seconds |");
    println!("|---|---|---|---|---|---|");
    let mut ratios = Vec::new();
    let mut all = [Vec::new(), Vec::new()];
    for pair in 0..options.pairs {
        let seed = options.seed + pair;
        let mut widths = [0.0; 2];
        // The order alternates from pair to pair.
        for turn in 0..2 {
            let whole = (turn + pair) % 2;
            let found = measure(&binary, options, seed, whole == 1)?;
            println!(
                "| {seed} | {} | {:.2} | {} of {} | {} | {:.0} |",
                ["slices", "whole"][whole as usize],
                found.half_width * 100.0,
                found.decided,
                found.cells,
                found.pairs,
                found.seconds,
            );
            widths[whole as usize] = found.half_width;
            all[whole as usize].push(found);
        }
        ratios.push(widths[0] / widths[1]);
    }
    println!();
    for (name, runs) in ["slices", "whole trials"].iter().zip(&all) {
        println!(
            "{name}: median half-width {:.2} %, decided in the median run {} of {}",
            median(runs.iter().map(|r| r.half_width)) * 100.0,
            median(runs.iter().map(|r| r.decided as f64)),
            runs.first().map_or(0, |r| r.cells),
        );
    }
    println!("Half-width with slices over that without: {:.2} in the median pair.", median(ratios));
    let [slices, whole] = &all;
    let mut by_workload: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for cell in slices.first().map(|run| run.cpu.keys()).into_iter().flatten() {
        let ratios =
            slices.iter().zip(whole).filter_map(|(s, w)| Some(s.cpu.get(cell)? / w.cpu.get(cell)?));
        by_workload.entry(&cell.0).or_default().push(median(ratios));
    }
    let median_cell = median(by_workload.values().flatten().copied());
    println!(
        "CPU seconds per GiB with slices over those without: {median_cell:.3} in the median cell; by workload"
    );
    for (workload, cells) in by_workload {
        println!("  {workload}: {:.3}", median(cells));
    }
    Ok(())
}

fn measure(binary: &Path, options: &Options, seed: u64, whole: bool) -> anyhow::Result<Sharpness> {
    let trials = if whole { "whole" } else { "slices" };
    let name = format!("{seed}-{trials}.json");
    if let Some(from) = &options.from {
        let path = from.join(name);
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        return judge(&text);
    }
    let out = Command::new(binary)
        .args(["run", &options.target, "--json", "--quiet", "--builtin-only"])
        .args(["--budget", &options.budget, "--seed", &seed.to_string()])
        .args(whole.then_some("--no-slices"))
        .args(&options.arguments)
        .output()
        .with_context(|| format!("cannot start {}", binary.display()))?;
    if !out.status.success() {
        bail!("seed {seed}: {}", String::from_utf8_lossy(&out.stderr));
    }
    if let Some(keep) = &options.keep {
        fs::create_dir_all(keep)?;
        fs::write(keep.join(name), &out.stdout)?;
    }
    judge(&out.stdout)
}

fn judge(record: &[u8]) -> anyhow::Result<Sharpness> {
    let record: Record = serde_json::from_slice(record).context("not a record")?;
    let results = record.results.as_ref().context("the record has no results")?;
    let cells: Vec<&Cell> =
        results.cells.iter().filter(|c| c.verdict.is_some() && c.arm != AGAIN).collect();
    let decided = |cell: &&&Cell| {
        use Verdict::{Costs, Equivalent, Gains};
        matches!(cell.verdict, Some(Costs { .. } | Gains { .. } | Equivalent { .. }))
    };
    let half_width = |cell: &&Cell| cell.kept.map(|kept| (kept.high - kept.low) / 2.0);
    Ok(Sharpness {
        half_width: median(cells.iter().filter_map(half_width)),
        decided: cells.iter().filter(decided).count(),
        cells: cells.len(),
        pairs: record.stops.iter().map(|s| s.pairs).min().unwrap_or(0),
        seconds: record.elapsed_s,
        cpu: cells
            .iter()
            .filter_map(|c| {
                Some(((c.workload.clone(), c.arm.clone()), c.cpu.attributed_s_per_gib?))
            })
            .collect(),
    })
}
