//! Observations of a load by other programs: fio's own speed, `iostat -x` for the disk, `pidstat -t` for the
//! threads.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, bail};
use cryptbench_record::{Operation, Pattern, Workload};
use serde_json::Value;

/// The compared figures of a cell.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Issued requests per second.
    pub rate: f64,
    /// Number of disk requests per issued request.
    pub per_request: f64,
    /// Number of disk reads per issued request.
    pub reads: f64,
    /// Mean size of a disk request, in bytes.
    pub bytes: f64,
    /// Mean number in flight at the disk.
    pub in_flight: f64,
    /// Share of a core that the busiest thread used; the load's own threads are not counted.
    pub busiest: f64,
    /// That thread's name.
    pub thread: String,
    /// CPUs used by all programs together, including the load's and others'.
    pub processors: f64,
}

/// Time in seconds for which fio runs before and after the other programs observe it.
const BEFORE: u64 = 2;
const AFTER: u64 = 1;

/// Interval at which data is written back from a system to its stored file, similar to that between the trials
/// of a run.
const TRIAL: Duration = Duration::from_millis(200);

/// Writes a file back at intervals for as long as this exists.
struct WrittenBack {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl WrittenBack {
    /// `below`: the file in which the system stores written data.
    fn keep(below: &Path) -> anyhow::Result<Self> {
        let file = File::options().read(true).write(true).open(below)?;
        let ends = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            while !ended.load(Relaxed) {
                // If data stays in memory, the figures show it.
                let _ = file.sync_data();
                std::thread::sleep(TRIAL);
            }
        });
        Ok(Self { ends, thread: Some(thread) })
    }
}

impl Drop for WrittenBack {
    fn drop(&mut self) {
        self.ends.store(true, Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Runs the workload on a file with fio, while the other programs observe the disk and the threads for this
/// many seconds.
pub fn watch(
    file: &Path,
    below: Option<&Path>,
    mib: u64,
    workload: &Workload,
    device: &str,
    seconds: u64,
) -> anyhow::Result<Figures> {
    forget()?;
    let _written_back = below.map(WrittenBack::keep).transpose()?;
    let mut fio = fio(file, mib);
    let pattern = match (&workload.pattern, &workload.operation) {
        (Pattern::Random, Operation::Read) => "randread",
        (Pattern::Random, _) => "randwrite",
        (_, Operation::Read) => "read",
        _ => "write",
    };
    fio.arg(format!("--rw={pattern}")).arg(format!("--bs={}", workload.block_size));
    fio.arg(format!("--iodepth={}", workload.in_flight()));
    let runtime = BEFORE + seconds + AFTER;
    fio.args(["--time_based", "--norandommap"]).arg(format!("--runtime={runtime}"));
    let fio = fio.stdout(Stdio::piped()).spawn().context("fio")?;
    std::thread::sleep(Duration::from_secs(BEFORE));
    let span = seconds.to_string();
    let iostat = quiet("iostat")
        .args(["-x", "-d", "-y", "-o", "JSON", device, &span, "1"])
        .stdout(Stdio::piped())
        .spawn()
        .context("iostat")?;
    let pidstat = quiet("pidstat").args(["-t", "-u", &span, "1"]).output().context("pidstat")?;
    let iostat = iostat.wait_with_output()?;
    let fio = fio.wait_with_output()?;
    if !fio.status.success() {
        bail!("fio: {}", String::from_utf8_lossy(&fio.stdout));
    }
    let fio: Value = serde_json::from_slice(&fio.stdout)?;
    let way = if workload.operation == Operation::Read { "read" } else { "write" };
    let rate = fio["jobs"][0][way]["iops"].as_f64().context("fio tells no speed")?;
    let disk = of_disk(&serde_json::from_slice(&iostat.stdout)?, rate)?;
    let (busiest, thread, processors) = of_threads(&String::from_utf8(pidstat.stdout)?);
    Ok(Figures { busiest, thread, processors, ..disk })
}

/// Writes the file.
pub fn fill(file: &Path, mib: u64) -> anyhow::Result<()> {
    let out =
        fio(file, mib).args(["--rw=write", "--bs=1M", "--iodepth=4", "--end_fsync=1"]).output()?;
    if !out.status.success() {
        bail!("fio: {}", String::from_utf8_lossy(&out.stdout));
    }
    Ok(())
}

fn fio(file: &Path, mib: u64) -> Command {
    let mut fio = Command::new("fio");
    fio.args(["--name=why", "--ioengine=io_uring", "--direct=1", "--output-format=json"]);
    fio.args(["--fallocate=none", "--randrepeat=0", "--refill_buffers"]);
    fio.arg(format!("--filename={}", file.display())).arg(format!("--size={mib}M"));
    fio.stdin(Stdio::null());
    fio
}

/// A program in the C locale, in which the decimal separator is a point.
fn quiet(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env("LC_ALL", "C").env("S_TIME_FORMAT", "ISO").stdin(Stdio::null());
    command
}

/// Drops the page cache, because programs over a directory read their files through it.
fn forget() -> anyhow::Result<()> {
    Command::new("sync").status()?;
    std::fs::write("/proc/sys/vm/drop_caches", "3").context("needs root to empty the page cache")
}

fn of_disk(told: &Value, rate: f64) -> anyhow::Result<Figures> {
    let disk = &told["sysstat"]["hosts"][0]["statistics"][0]["disk"][0];
    let number =
        |name: &str| disk[name].as_f64().with_context(|| format!("iostat tells no {name}"));
    let reads = number("r/s")?;
    let requests = reads + number("w/s")?;
    let kib = number("rkB/s")? + number("wkB/s")?;
    Ok(Figures {
        rate,
        per_request: requests / rate,
        reads: reads / rate,
        bytes: 1024.0 * kib / requests.max(f64::MIN_POSITIVE),
        in_flight: number("aqu-sz")?,
        ..Figures::default()
    })
}

/// The names of the programs of both systems, and of the kernel workers that work for them.
const OF_THE_SYSTEMS: [&str; 4] = ["gocryptfs", "cryptbench", "kworker", "loop"];

/// Evaluates the output of `pidstat -t`: the share of a core that the systems' busiest thread used, its name,
/// and the number of CPUs that all threads used together.
fn of_threads(told: &str) -> (f64, String, f64) {
    let (mut most, mut counts, mut all) = ((0.0_f64, ""), false, 0.0);
    for line in told.lines().filter(|line| line.starts_with("Average:")) {
        // Average: UID TGID TID %usr %system %guest %wait %CPU CPU Command
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, group, _, _, _, _, _, percent, _, command, ..] = words[..] else { continue };
        let Ok(percent) = percent.parse::<f64>() else { continue };
        if group != "-" {
            all += percent / 100.0;
            counts = OF_THE_SYSTEMS.iter().any(|name| command.starts_with(name));
        } else if counts && percent / 100.0 > most.0 {
            most = (percent / 100.0, command.trim_start_matches("|__"));
        }
    }
    (most.0, most.1.to_owned(), all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_thread_is_the_systems() {
        let told = "\
Linux 6.18.5 (host) \t2026-11-26 \t_x86_64_\t(2 CPU)

19:02:24      UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  Command
19:02:26        0         7         -   99.00    0.00    0.00    0.00   99.00     0  gocryptfs
19:02:26        0         -         7   99.00    0.00    0.00    0.00   99.00     0  |__gocryptfs

Average:      UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  Command
Average:        0         7         -   60.00   20.00    0.00    0.00   80.00     -  gocryptfs
Average:        0         -         7   30.00   12.50    0.00    0.00   42.50     -  |__gocryptfs
Average:        0         -         8   30.00    7.50    0.00    0.00   37.50     -  |__gocryptfs
Average:        0         9         -   10.00   80.00    0.00    0.00   90.00     -  fio
Average:        0         -        10   10.00   80.00    0.00    0.00   90.00     -  |__fio
Average:        0        11         -    0.00    5.00    0.00    0.00    5.00     -  kworker/u8:1-loop
Average:        0         -        11    0.00    5.00    0.00    0.00    5.00     -  |__kworker/u8:1-loop
";
        let (busiest, thread, all) = of_threads(told);
        assert_eq!((busiest, &thread[..]), (0.425, "gocryptfs"));
        assert!((all - 1.75).abs() < 1e-12);
    }

    #[test]
    fn figures_follow_from_what_iostat_tells() {
        let told = serde_json::json!({"sysstat": {"hosts": [{"statistics": [{"disk": [{
            "disk_device": "vda", "r/s": 150.0, "w/s": 50.0, "rkB/s": 600.0, "wkB/s": 1000.0, "aqu-sz": 0.7
        }]}]}]}});
        let found = of_disk(&told, 100.0).unwrap();
        assert_eq!((found.per_request, found.reads), (2.0, 1.5));
        assert_eq!((found.bytes, found.in_flight), (8192.0, 0.7));
    }
}
