//! `cargo xtask bench precision`: measures how long a run takes to reach the requested precision, on fast,
//! typical and slow storage.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context as _, bail};
use cryptbench_record::{Record, StopReason};

use super::engine::LoopOverRam;
use super::{build_release, machine};
use crate::interrupted::Interrupted;

/// Size of the loop device in MiB: the scratch region of a default run, with additional space.
const RAM_MIB: u64 = 1280;

#[derive(clap::Args)]
pub struct Options {
    /// Budget of each run
    #[arg(long, default_value = "10m")]
    budget: String,
    /// Losses to be found
    #[arg(long, value_delimiter = ',', default_value = "3%,6%,10%")]
    precision: Vec<String>,
    /// Runs of each
    #[arg(long, default_value_t = 1)]
    runs: u64,
    /// Directory on the disk to measure
    #[arg(long, default_value = ".")]
    target: String,
    /// Modelled device
    #[arg(long, default_value = "hdd-7200")]
    emulate: String,
    /// Seed of the first run; later runs count up from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let binary = build_release(&["--package", "cryptbench"])?.join("cryptbench");
    println!("{}", machine());
    println!("`cryptbench run --builtin-only --budget {} --precision P`\n", options.budget);
    println!("| storage | P | seconds | pairs | workloads that are precise |");
    println!("|---|---|---|---|---|");
    let interrupted = Interrupted::watch()?;
    let ram = LoopOverRam::attach(RAM_MIB);
    let mut storages: Vec<(&str, Vec<OsString>)> = Vec::new();
    match &ram {
        Ok(ram) => {
            let device = ram.device.clone().into_os_string();
            storages
                .push(("loop device over RAM", vec![device.clone(), "--destroy".into(), device]));
        }
        Err(why) => eprintln!("SKIPPED the loop device over RAM: {why:#}"),
    }
    storages.push(("this disk", vec![options.target.clone().into()]));
    storages.push((&options.emulate, vec!["--emulate".into(), options.emulate.clone().into()]));
    for (name, arguments) in &storages {
        for precision in &options.precision {
            for seed in options.seed..options.seed + options.runs {
                let mut command = Command::new(&binary);
                command
                    .args([
                        "run",
                        "--json",
                        "--quiet",
                        "--builtin-only",
                        "--budget",
                        &options.budget,
                    ])
                    .args(["--precision", precision, "--seed", &seed.to_string()])
                    .args(arguments);
                let out = interrupted.output(&mut command)?;
                interrupted.go_on()?;
                if !out.status.success() {
                    bail!("{name}: {}", String::from_utf8_lossy(&out.stderr));
                }
                let record: Record = serde_json::from_slice(&out.stdout).context("not a record")?;
                let pairs = || record.stops.iter().map(|stop| stop.pairs);
                let precise = record.stops.iter().filter(|s| s.reason == StopReason::Precision);
                println!(
                    "| {name} | {} | {:.0} | {} to {} | {} of {} |",
                    precision.replace('%', " %"),
                    record.elapsed_s,
                    pairs().min().unwrap_or(0),
                    pairs().max().unwrap_or(0),
                    precise.count(),
                    record.stops.len(),
                );
            }
        }
    }
    Ok(())
}
