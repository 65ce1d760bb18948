//! One trial of fio or of our engine, each in a separate process.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context as _, bail};
use cryptbench_stats::median;
use serde_json::Value;

use crate::interrupted::Interrupted;

/// Operation, pattern, block size, queue depth, threads.
pub(super) struct Job(
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) u64,
    pub(super) u32,
    pub(super) u32,
);

/// The results of one trial.
#[derive(Clone, Copy)]
pub(super) struct Observed {
    /// Bytes per second.
    pub(super) bandwidth: f64,
    pub(super) iops: f64,
    pub(super) iops_per_cpu_s: f64,
    /// Time that the program's own code needs per request, in nanoseconds: CPU time in user mode.
    pub(super) user_ns: f64,
}

/// CPU seconds in user mode, and in total.
#[derive(Clone, Copy, Default)]
pub(super) struct CpuTime {
    user: f64,
    all: f64,
}

/// Which CPU time counts.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Accounting {
    /// The program's own figure for the measured time; it excludes a ramp.
    Own,
    /// The kernel's accounting of the whole process without its start-up; there is no ramp.
    WholeProcess,
}

pub(super) enum Peer {
    Fio { mib: u64 },
    Ours { binary: PathBuf },
}

/// Time from the start of fio to its first request.
const FIO_START: Duration = Duration::from_millis(250);

/// Seconds of the trial that measures the cost of starting a program.
const SHORT: f64 = 0.01;

/// Unit of the times in /proc/self/stat, for every program on Linux.
const TICKS_PER_SECOND: f64 = 100.0;

impl Peer {
    pub(super) fn fio(mib: u64) -> Self {
        Self::Fio { mib }
    }

    pub(super) fn ours(binary: PathBuf) -> Self {
        Self::Ours { binary }
    }

    /// CPU time in seconds that the process needs in addition to the requests of a trial.
    pub(super) fn start_up_cpu_s(
        &self,
        file: &Path,
        job: &Job,
        interrupted: &Interrupted,
    ) -> anyhow::Result<CpuTime> {
        let rest = Duration::ZERO;
        let (mut user, mut all) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let before = children_cpu_s()?;
            self.output(file, job, (SHORT, rest), Accounting::WholeProcess, interrupted)?;
            let after = children_cpu_s()?;
            user.push((after.user - before.user).max(0.0));
            all.push((after.all - before.all - SHORT).max(0.0));
        }
        let middle = |values: Vec<f64>| median(&values).unwrap_or_default();
        Ok(CpuTime { user: middle(user), all: middle(all) })
    }

    /// Runs one trial of `seconds` after a pause of `rest`.
    pub(super) fn run(
        &self,
        file: &Path,
        job: &Job,
        (seconds, rest): (f64, f64),
        accounting: Accounting,
        start_up: CpuTime,
        interrupted: &Interrupted,
    ) -> anyhow::Result<Observed> {
        let before = children_cpu_s()?;
        let times = (seconds, Duration::from_secs_f64(rest));
        let out = self.output(file, job, times, accounting, interrupted)?;
        let after = children_cpu_s()?;
        let whole_cpu_s = after.all - before.all - start_up.all;
        let user_s = after.user - before.user - start_up.user;
        let told: Value = serde_json::from_slice(&out.stdout).context("a program's JSON")?;
        let number = |v: &Value| v.as_f64().context("a program's JSON lacks a number");
        let block = job.2 as f64;
        let (iops, elapsed_s, own_cpu_s) = match self {
            Self::Fio { .. } => {
                let all = &told["jobs"][0];
                let elapsed_s = number(&all[job.0]["runtime"])? / 1000.0;
                let share = (number(&all["usr_cpu"])? + number(&all["sys_cpu"])?) / 100.0;
                (number(&all[job.0]["iops"])?, elapsed_s, share * elapsed_s)
            }
            Self::Ours { .. } => {
                (number(&told["iops"])?, number(&told["elapsed_s"])?, number(&told["cpu_s"])?)
            }
        };
        let cpu_s = match accounting {
            Accounting::Own => own_cpu_s,
            Accounting::WholeProcess => whole_cpu_s,
        };
        let requests = iops * elapsed_s;
        Ok(Observed {
            bandwidth: iops * block,
            iops,
            iops_per_cpu_s: requests / cpu_s,
            user_ns: 1e9 * user_s / requests,
        })
    }

    fn output(
        &self,
        file: &Path,
        job: &Job,
        (seconds, rest): (f64, Duration),
        accounting: Accounting,
        interrupted: &Interrupted,
    ) -> anyhow::Result<Output> {
        let ramp = accounting == Accounting::Own;
        let mut command = match self {
            Self::Fio { mib } => {
                std::thread::sleep(rest);
                fio(file, *mib, job, seconds, ramp)
            }
            Self::Ours { binary } => {
                // fio needs about this long to start; our engine starts immediately.
                std::thread::sleep(rest + FIO_START);
                ours(binary, file, job, seconds, ramp)
            }
        };
        let out = interrupted.output(&mut command)?;
        // A program that was killed by a signal has no results.
        interrupted.go_on()?;
        if !out.status.success() {
            bail!("{:?}: {}", command.get_program(), String::from_utf8_lossy(&out.stderr));
        }
        Ok(out)
    }
}

fn fio(file: &Path, mib: u64, job: &Job, seconds: f64, ramp: bool) -> Command {
    let Job(operation, pattern, block, depth, threads) = job;
    let mode = match *pattern {
        "random" => format!("rand{operation}"),
        _ => (*operation).to_owned(),
    };
    let mut command = Command::new("fio");
    command
        .args(["--name=job", "--ioengine=io_uring", "--fixedbufs", "--registerfiles", "--direct=1"])
        .args(["--time_based", "--randrepeat=0", "--norandommap", "--output-format=json"])
        .args(["--thread", "--allow_file_create=0"])
        // Huge pages for fio's buffers, as in our engine: the placement of small pages is random and changes
        // the speed of 1 MiB requests by up to half.
        .arg("--iomem_align=2m")
        .env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
        .arg(format!("--filename={}", file.display()))
        .arg(format!("--size={mib}M"))
        .arg(format!("--rw={mode}"))
        .arg(format!("--bs={block}"))
        .arg(format!("--iodepth={depth}"))
        .args([format!("--numjobs={threads}"), "--group_reporting".to_owned()])
        .arg(format!("--runtime={}ms", (seconds * 1000.0) as u64));
    if ramp {
        command.arg("--ramp_time=100ms");
    }
    command
}

fn ours(binary: &Path, file: &Path, job: &Job, seconds: f64, ramp: bool) -> Command {
    let Job(operation, pattern, block, depth, threads) = job;
    let mut command = Command::new(binary);
    command
        .arg(file)
        .args(["--op", operation, "--pattern", pattern])
        .args(["--bs", &block.to_string(), "--qd", &depth.to_string()])
        .args(["--threads", &threads.to_string()])
        .args(["--seconds", &seconds.to_string(), "--ramp", if ramp { "0.1" } else { "0" }]);
    command
}

/// CPU seconds of all children that have exited and been waited for, including their kernel threads: fields 16
/// and 17 of /proc/self/stat (proc(5)).
fn children_cpu_s() -> anyhow::Result<CpuTime> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("/proc/self/stat")?;
    // The second field is a name in parentheses, which may contain spaces.
    let (_, fields) = stat.rsplit_once(") ").context("/proc/self/stat has no name")?;
    let ticks: Vec<f64> =
        fields.split(' ').skip(13).take(2).filter_map(|f| f.parse().ok()).collect();
    match ticks[..] {
        [user, system] => {
            Ok(CpuTime { user: user / TICKS_PER_SECOND, all: (user + system) / TICKS_PER_SECOND })
        }
        _ => bail!("/proc/self/stat is too short"),
    }
}
