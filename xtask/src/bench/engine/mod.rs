//! `cargo xtask bench engine`: compares our load engine with fio's io_uring engine, interleaved.
//!
//! On a disk, both should reach the same bandwidth and the same number of requests per second. On a file in
//! RAM, or a loop device over such a file, storage costs little, and the number of requests per CPU second
//! shows the cost of the engines.

mod peer;
mod ram;

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use cryptbench_stats::estimate;

use self::peer::{Accounting, CpuTime, Job, Observed, Peer};
pub(super) use self::ram::LoopOverRam;
use self::ram::RamFile;
use super::{build_release, machine, median, version};
use crate::interrupted::Interrupted;

#[derive(clap::Args)]
pub struct Options {
    /// Interleaved rounds
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Measured seconds of each trial
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Size of the file, MiB: small enough that both engines cover it in a trial, because parts of
    /// a disk differ in speed and the two start at different offsets
    #[arg(long, default_value_t = 128)]
    size: u64,
    /// Seconds of pause before each trial, so that a disk with a burst budget treats both alike
    #[arg(long, default_value_t = 0.3)]
    rest: f64,
    /// Directory on the disk to measure
    #[arg(long, default_value = "target")]
    target: PathBuf,
    /// Leave out the disk
    #[arg(long)]
    no_disk: bool,
    /// Leave out the file in RAM
    #[arg(long)]
    no_ram: bool,
    /// Leave out the loop device over a file in RAM
    #[arg(long)]
    no_loop: bool,
}

/// The jobs on the disk: operation, pattern, block size, queue depth, threads.
const DISK_JOBS: &[Job] = &[
    Job("read", "sequential", 1 << 20, 1, 1),
    Job("read", "sequential", 1 << 20, 8, 1),
    Job("write", "sequential", 1 << 20, 1, 1),
    Job("write", "sequential", 1 << 20, 8, 1),
    Job("read", "random", 4096, 1, 1),
    Job("read", "random", 4096, 32, 1),
    Job("write", "random", 4096, 1, 1),
    Job("write", "random", 4096, 32, 1),
];

/// The jobs on storage that costs little.
const RAM_JOBS: &[Job] = &[
    Job("read", "random", 4096, 1, 1),
    Job("read", "random", 4096, 32, 1),
    Job("read", "random", 4096, 32, 2),
    Job("read", "random", 4096, 32, 4),
];

/// Target for requests per CPU second on such storage, relative to fio.
const AIM: f64 = 1.2;

pub fn run(options: &Options) -> anyhow::Result<()> {
    let Some(fio) = version("fio") else {
        bail!("fio is not installed: apt install fio");
    };
    let binary = build_release(&["--package", "cryptbench-load", "--example", "engine"])?
        .join("examples/engine");
    println!("{}; {fio}; {} rounds of {} s\n", machine(), options.rounds, options.seconds);
    let ours = Peer::ours(binary);
    let peers = [Peer::fio(options.size.min(1024)), ours];
    let interrupted = Interrupted::watch()?;
    let bench = Bench { peers: &peers, options, interrupted: &interrupted };
    if !options.no_disk {
        let directory = tempfile::tempdir_in(&options.target)?;
        let file = directory.path().join("scratch");
        fill(&file, options.size)?;
        let accounting = Accounting::Own;
        bench.compare("file on the disk", &file, DISK_JOBS, accounting)?;
    }
    if !options.no_ram {
        match RamFile::new(options.size.min(1024)) {
            Ok(file) => bench.compare_ram("file in RAM", &file.path)?,
            Err(e) => println!("SKIPPED: file in RAM: {e:#}"),
        }
    }
    if !options.no_loop {
        match LoopOverRam::attach(options.size.min(1024)) {
            Ok(device) => bench.compare_ram("loop device over a file in RAM", &device.device)?,
            Err(e) => println!("SKIPPED: loop device over a file in RAM: {e:#}"),
        }
    }
    Ok(())
}

/// Both programs, and their jobs.
struct Bench<'a> {
    peers: &'a [Peer; 2],
    options: &'a Options,
    interrupted: &'a Interrupted,
}

impl Bench<'_> {
    /// CPU time is counted for the whole process, because io_uring's kernel threads work for it; fio's own
    /// figure does not include them.
    fn compare_ram(&self, title: &str, file: &Path) -> anyhow::Result<()> {
        self.compare(title, file, RAM_JOBS, Accounting::WholeProcess)
    }

    fn compare(
        &self,
        title: &str,
        file: &Path,
        jobs: &[Job],
        accounting: Accounting,
    ) -> anyhow::Result<()> {
        println!("**{title}**\n");
        println!(
            "| job | fio | ours | ours / fio | 95 % interval | fio IOPS per CPU-s | ours | ours / fio | \
             user ns per I/O: fio | ours |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|");
        for job in jobs {
            let [theirs, ours] = self.observe(file, job, accounting)?;
            row(job, &theirs, &ours);
            if accounting == Accounting::WholeProcess {
                let ratio = per_cpu(&ours) / per_cpu(&theirs);
                let verdict = if ratio >= AIM { "met" } else { "not met" };
                eprintln!(
                    "{title}, QD{} T{}: {ratio:.2} times fio's per CPU-second; {AIM} is {verdict}",
                    job.3, job.4
                );
            }
        }
        println!();
        Ok(())
    }

    /// The results of both programs in each round.
    fn observe(
        &self,
        file: &Path,
        job: &Job,
        accounting: Accounting,
    ) -> anyhow::Result<[Vec<Observed>; 2]> {
        let start_up = |peer: &Peer| match accounting {
            Accounting::Own => Ok(CpuTime::default()),
            Accounting::WholeProcess => peer.start_up_cpu_s(file, job, self.interrupted),
        };
        let start_up = [start_up(&self.peers[0])?, start_up(&self.peers[1])?];
        let times = (self.options.seconds, self.options.rest);
        let mut seen: [Vec<Observed>; 2] = Default::default();
        for round in 0..=self.options.rounds {
            // Alternates, so that drift and the state of the device affect both programs equally. Round 0 is
            // discarded.
            for turn in 0..2 {
                let i = (round + turn) % 2;
                let peer = &self.peers[i];
                let observed =
                    peer.run(file, job, times, accounting, start_up[i], self.interrupted)?;
                if round > 0 {
                    seen[i].push(observed);
                }
            }
        }
        Ok(seen)
    }
}

fn per_cpu(observed: &[Observed]) -> f64 {
    median(observed.iter().map(|o| o.iops_per_cpu_s))
}

fn row(job: &Job, theirs: &[Observed], ours: &[Observed]) {
    let Job(operation, pattern, block, depth, threads) = *job;
    let threads = if threads > 1 { format!(" T{threads}") } else { String::new() };
    let of = |v: &[Observed], f: fn(&Observed) -> f64| median(v.iter().map(f));
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
    println!(
        "| {pattern} {operation} {} KiB QD{depth}{threads} | {} | {} | {:.3} | {interval} | {:.0} | {:.0} | {:.2} | {:.0} | {:.0} |",
        block / 1024,
        show(theirs),
        show(ours),
        of(ours, |o| o.iops) / of(theirs, |o| o.iops),
        per_cpu(theirs),
        per_cpu(ours),
        per_cpu(ours) / per_cpu(theirs),
        of(theirs, |o| o.user_ns),
        of(ours, |o| o.user_ns),
    );
}

/// Writes `mib` MiB of incompressible data, and waits until it has reached the device.
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
