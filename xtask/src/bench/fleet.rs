//! Measures the time and memory needed to pool and collect a fleet's records, and whether both grow in
//! proportion to their number.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use cryptbench_record::{Node, Record};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::{build_release, machine, version};

/// Promised limits for the largest number of records: seconds, and MiB, for report and collection together.
const PROMISED: (f64, u64) = (120.0, 2048);
/// Time per record may grow by this factor from the smallest number of records to the largest, because the
/// machine is noisy.
const GROWTH: f64 = 1.5;

#[derive(clap::Args)]
pub struct Options {
    /// Numbers of records
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_250, 2_500, 5_000, 10_000])]
    records: Vec<usize>,
    /// Make machines of this record instead of one of an emulated device, measured now
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Where the records are made; 10,000 take some 3 GB
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Measure this binary, which has Parquet, instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let binary = match &options.binary {
        Some(binary) => std::path::absolute(binary)?,
        None => build_release(&["--package", "cryptbench"])?.join("cryptbench"),
    };
    let place = match &options.directory {
        Some(directory) => tempfile::tempdir_in(directory)?,
        None => tempfile::tempdir()?,
    };
    let base = match &options.record {
        Some(record) => cryptbench_record::read(record)?,
        None => emulated(&binary, place.path())?,
    };
    println!("{}; {}", machine(), version(&binary.display().to_string()).unwrap_or_default());
    println!("each record: {} trials of {}", base.trials.len(), base.target.directory);
    println!(
        "| records | MB | report: s | MiB | collect: s | MiB | ms a record |\n|--:|--:|--:|--:|--:|--:|--:|"
    );
    let fleet = place.path().join("fleet");
    fs::create_dir(&fleet)?;
    let (mut made, mut bytes) = (0, 0);
    let mut each = Vec::new();
    let mut most = (0.0f64, 0);
    let mut counts = options.records.clone();
    counts.sort_unstable();
    for count in counts {
        while made < count {
            bytes += make(&base, made, &fleet)?;
            made += 1;
        }
        let dataset = place.path().join(format!("dataset-{count}"));
        let [at, to] = [&fleet, &dataset].map(|path| path.display().to_string());
        let report = measure(Command::new(&binary).args(["fleet", "report", &at]))?;
        let collect =
            measure(Command::new(&binary).args(["fleet", "collect", &at, "--output", &to]))?;
        let per_record = 1e3 * (report.0 + collect.0) / count as f64;
        println!(
            "| {count} | {} | {:.1} | {} | {:.1} | {} | {per_record:.2} |",
            bytes / 1_000_000,
            report.0,
            report.1,
            collect.0,
            collect.1
        );
        each.push(per_record);
        most = (report.0 + collect.0, report.1.max(collect.1));
    }
    let (Some(first), Some(last)) = (each.first(), each.last()) else {
        bail!("no number of records")
    };
    println!("from the fewest to the most a record takes {:.2} times as long", last / first);
    if most.0 > PROMISED.0 || most.1 > PROMISED.1 || last / first > GROWTH {
        bail!("promised are {} s, {} MiB, and growth in proportion", PROMISED.0, PROMISED.1);
    }
    Ok(())
}

/// A record of an emulated device, as a machine of a fleet leaves it.
fn emulated(binary: &Path, place: &Path) -> anyhow::Result<Record> {
    let one = place.join("one");
    let status = Command::new(binary)
        .args(["run", "--emulate", "nvme", "--builtin-only", "--budget", "30s", "--size", "64MiB"])
        .args(["--progress", "none", "--fleet"])
        .arg(&one)
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        bail!("the emulated device could not be measured");
    }
    let file = fs::read_dir(&one)?.next().context("no record")??.path();
    Ok(cryptbench_record::read(&file)?)
}

/// Writes the record of machine `number`: every workload and arm is faster or slower by a specific factor, on
/// one of four CPU models and three disk models. Returns its size in bytes.
fn make(base: &Record, number: usize, fleet: &Path) -> anyhow::Result<u64> {
    let mut random = ChaCha8Rng::seed_from_u64(number as u64);
    let mut record = base.clone();
    record.run_id = format!("made-{number}");
    record.machine.cpu_model = format!("{} made {}", base.machine.cpu_model, number % 4);
    if let Some(emulated) = &mut record.target.emulated {
        emulated.model = format!("{}-{}", emulated.model, number / 4 % 3);
    }
    let own: Vec<f64> =
        record.plan.arms.iter().map(|_| 1.0 + random.random_range(-0.03..0.03)).collect();
    for trial in &mut record.trials {
        let arm = record.plan.arms.iter().position(|arm| arm.id == trial.arm);
        trial.measured.elapsed_s *= arm.map_or(1.0, |arm| own[arm]);
    }
    record.node = Some(Node {
        name: format!("node{number:05}"),
        machine: format!("{number:016x}"),
        boot: "00000001".to_owned(),
        plan: "0000000000000001".to_owned(),
        at_once: None,
    });
    let file = fleet.join(format!("node{number:05}.json"));
    cryptbench_record::write(&record, &file)?;
    Ok(fs::metadata(&file)?.len())
}

/// Seconds, and the peak resident size in MiB.
fn measure(command: &mut Command) -> anyhow::Result<(f64, u64)> {
    let began = Instant::now();
    let mut child = command.stdout(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let kib = text
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
        peak = kib.unwrap_or(0u64).max(peak);
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        sleep(Duration::from_millis(10));
    };
    if !ended.success() {
        bail!("{command:?} failed");
    }
    Ok((began.elapsed().as_secs_f64(), peak / 1024))
}
