//! `cargo xtask bench engine`: our load engine and fio's io_uring engine, turn by turn.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};
use cryptbench_stats::{estimate, median};
use serde_json::Value;

use super::{build_release, machine, version};

#[derive(clap::Args)]
pub struct Options {
    /// Interleaved rounds
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Measured seconds of each trial
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Size of the file, MiB: small enough that both engines go around it in a trial, since parts of
    /// a disk differ in speed and the two start at different places
    #[arg(long, default_value_t = 128)]
    size: u64,
    /// Seconds of rest before each trial, so that a disk with a budget of bursts meets both alike
    #[arg(long, default_value_t = 0.3)]
    rest: f64,
    /// Directory on the disk to measure
    #[arg(long, default_value = "target")]
    target: PathBuf,
    /// Leave out the loop device over a RAM file
    #[arg(long)]
    no_loop: bool,
}

/// The jobs that are compared: operation, pattern, block size, queue depth.
const JOBS: &[(&str, &str, u64, u32)] = &[
    ("read", "sequential", 1 << 20, 1),
    ("read", "sequential", 1 << 20, 8),
    ("write", "sequential", 1 << 20, 1),
    ("write", "sequential", 1 << 20, 8),
    ("read", "random", 4096, 1),
    ("read", "random", 4096, 32),
    ("write", "random", 4096, 1),
    ("write", "random", 4096, 32),
];

/// How long fio takes from its start to its first request.
const FIO_START: Duration = Duration::from_millis(250);

#[derive(Clone, Copy)]
struct Observed {
    bandwidth: f64,
    iops: f64,
    iops_per_cpu_s: f64,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let Some(fio) = version("fio") else {
        bail!("fio is not installed: apt install fio");
    };
    let binary = build_release(&["--package", "cryptbench-load", "--example", "engine"])?
        .join("examples/engine");
    println!("{}; {fio}; {} rounds of {} s\n", machine(), options.rounds, options.seconds);
    let directory = tempfile::tempdir_in(&options.target)?;
    let file = directory.path().join("scratch");
    fill(&file, options.size)?;
    compare("file on the disk", &file, &binary, options)?;
    drop(directory);
    if !options.no_loop {
        match LoopOverRam::attach(options.size.min(1024)) {
            Ok(device) => compare("loop device over a RAM file", &device.device, &binary, options)?,
            Err(e) => println!("SKIPPED: loop device over a RAM file: {e:#}"),
        }
    }
    Ok(())
}

fn compare(title: &str, file: &Path, binary: &Path, options: &Options) -> anyhow::Result<()> {
    println!("**{title}**\n");
    println!(
        "| job | fio | ours | ours / fio | 95 % interval | fio IOPS per CPU-s | ours | ours / fio |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for &job in JOBS {
        let mut theirs = Vec::new();
        let mut ours = Vec::new();
        for round in 0..=options.rounds {
            // Turn about, so that drift and the device's own state meet both alike; round 0 is
            // discarded.
            let (a, b) = if round % 2 == 0 {
                let a = run_fio(file, job, options)?;
                (a, run_ours(binary, file, job, options)?)
            } else {
                let b = run_ours(binary, file, job, options)?;
                (run_fio(file, job, options)?, b)
            };
            if round > 0 {
                theirs.push(a);
                ours.push(b);
            }
        }
        row(job, &theirs, &ours);
    }
    println!();
    Ok(())
}

fn row(job: (&str, &str, u64, u32), theirs: &[Observed], ours: &[Observed]) {
    let (operation, pattern, block, depth) = job;
    let of = |v: &[Observed], f: fn(&Observed) -> f64| {
        median(&v.iter().map(f).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let d: Vec<f64> = theirs.iter().zip(ours).map(|(a, b)| (b.iops / a.iops).ln()).collect();
    let interval = estimate(&d, 0.95).map_or("-".to_owned(), |e| {
        format!("{:.3} [{:.3}, {:.3}]", e.mean.exp(), e.low.exp(), e.high.exp())
    });
    let show = |v: &[Observed]| {
        if block >= 65536 {
            format!("{:.0} MB/s", of(v, |o| o.bandwidth) / 1e6)
        } else {
            format!("{:.0} IOPS", of(v, |o| o.iops))
        }
    };
    let cpu = |v: &[Observed]| of(v, |o| o.iops_per_cpu_s);
    println!(
        "| {pattern} {operation} {} KiB QD{depth} | {} | {} | {:.3} | {interval} | {:.0} | {:.0} | {:.2} |",
        block / 1024,
        show(theirs),
        show(ours),
        of(ours, |o| o.iops) / of(theirs, |o| o.iops),
        cpu(theirs),
        cpu(ours),
        cpu(ours) / cpu(theirs),
    );
}

fn run_fio(
    file: &Path,
    job: (&str, &str, u64, u32),
    options: &Options,
) -> anyhow::Result<Observed> {
    let (operation, pattern, block, depth) = job;
    let mode = if pattern == "random" { format!("rand{operation}") } else { operation.to_owned() };
    std::thread::sleep(Duration::from_secs_f64(options.rest));
    let out = Command::new("fio")
        .args(["--name=job", "--ioengine=io_uring", "--fixedbufs", "--registerfiles", "--direct=1"])
        .args(["--time_based", "--randrepeat=0", "--norandommap", "--output-format=json"])
        .args(["--ramp_time=100ms", "--thread", "--allow_file_create=0"])
        // Huge pages for its buffers too: where small pages lie is luck that moves 1 MiB requests by half.
        .arg("--iomem_align=2m")
        .env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
        .arg(format!("--filename={}", file.display()))
        .arg(format!("--size={}M", options.size.min(1024)))
        .arg(format!("--rw={mode}"))
        .arg(format!("--bs={block}"))
        .arg(format!("--iodepth={depth}"))
        .arg(format!("--runtime={}ms", (options.seconds * 1000.0) as u64))
        .output()?;
    if !out.status.success() {
        bail!("fio failed: {}", String::from_utf8_lossy(&out.stderr));
    }
    let all: Value = serde_json::from_slice(&out.stdout).context("fio's JSON")?;
    let job = &all["jobs"][0];
    let number = |v: &Value| v.as_f64().context("fio's JSON lacks a number");
    let side = &job[operation];
    let cpu_share = (number(&job["usr_cpu"])? + number(&job["sys_cpu"])?) / 100.0;
    let iops = number(&side["iops"])?;
    Ok(Observed { bandwidth: number(&side["bw_bytes"])?, iops, iops_per_cpu_s: iops / cpu_share })
}

fn run_ours(
    binary: &Path,
    file: &Path,
    job: (&str, &str, u64, u32),
    options: &Options,
) -> anyhow::Result<Observed> {
    let (operation, pattern, block, depth) = job;
    // fio needs about this long to start; ours starts at once.
    std::thread::sleep(Duration::from_secs_f64(options.rest) + FIO_START);
    let out = Command::new(binary)
        .arg(file)
        .args(["--op", operation, "--pattern", pattern])
        .args(["--bs", &block.to_string(), "--qd", &depth.to_string()])
        .args(["--seconds", &options.seconds.to_string(), "--ramp", "0.1"])
        .output()?;
    if !out.status.success() {
        bail!("our engine failed: {}", String::from_utf8_lossy(&out.stderr));
    }
    let v: Value = serde_json::from_slice(&out.stdout).context("our JSON")?;
    let number = |k: &str| v[k].as_f64().with_context(|| format!("our JSON lacks {k}"));
    let (iops, cpu, elapsed) = (number("iops")?, number("cpu_s")?, number("elapsed_s")?);
    Ok(Observed { bandwidth: iops * block as f64, iops, iops_per_cpu_s: iops / (cpu / elapsed) })
}

/// Writes `mib` MiB of incompressible data and waits until it is on the device.
fn fill(path: &Path, mib: u64) -> anyhow::Result<()> {
    let mut random = File::open("/dev/urandom")?;
    let mut file = File::create_new(path).with_context(|| format!("{}", path.display()))?;
    let mut block = vec![0; 1 << 20];
    for _ in 0..mib {
        random.read_exact(&mut block)?;
        file.write_all(&block)?;
    }
    file.sync_all()?;
    Ok(())
}

/// A loop device with direct I/O over a file in RAM.
struct LoopOverRam {
    device: PathBuf,
    _file: tempfile::TempDir,
}

impl LoopOverRam {
    fn attach(mib: u64) -> anyhow::Result<Self> {
        let directory =
            tempfile::tempdir_in("/dev/shm").context("no RAM file system at /dev/shm")?;
        let file = directory.path().join("scratch");
        fill(&file, mib)?;
        let out = Command::new("losetup").args(["--find", "--show"]).arg(&file).output()?;
        if !out.status.success() {
            bail!("losetup: {}", String::from_utf8_lossy(&out.stderr).trim());
        }
        let device = PathBuf::from(String::from_utf8(out.stdout)?.trim());
        Ok(Self { device, _file: directory })
    }
}

impl Drop for LoopOverRam {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}
