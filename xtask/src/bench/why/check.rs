//! `cargo xtask bench why --check`: compares a run's records of gocryptfs and of our own mount with `iostat -x`
//! and `pidstat -t`, which observe the same workload in fio on the same disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use cryptbench_estimate::binding::{Binding, bindings, is_alike};
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, DiskCounts, Observation, Record, Workload};
use cryptbench_stats::bottleneck::Cause;
use cryptbench_stats::median;

use super::Named;
use super::watched::{Figures, fill, watch};
use crate::interrupted::Interrupted;
use crate::packages::{Need, ensure_or_tell};

const NEEDS: &[Need] = &[
    Need { file: "/usr/bin/fio", package: "fio", reason: "the same work" },
    Need { file: "/usr/bin/iostat", package: "sysstat", reason: "what reaches the disk" },
    Need { file: "/usr/bin/pidstat", package: "sysstat", reason: "what the threads do" },
    Need { file: "/usr/bin/gocryptfs", package: "gocryptfs", reason: "one of both systems" },
];

/// Size in MiB of the file that fio uses. The file is larger than what is read or written during an observation, so
/// that it is not read from memory.
const MIB: u64 = 6 << 10;

/// Size of the file that the run uses in MiB.
const OWN_MIB: u64 = 1024;

/// Figures that differ by less than this factor agree.
const AGREES: f64 = 1.25;

/// The duration of the default run.
const BUDGET: &str = "90s";

/// A target for fio: the name of its arm in the run, a directory, and how to remove it.
struct Place {
    system: &'static str,
    file: PathBuf,
    /// The underlying file, if it is accessed through the page cache.
    below: Option<PathBuf>,
    /// The mount, and the program that removes it if that is not umount(8).
    mounted: Option<(PathBuf, Option<PathBuf>)>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = match &self.mounted {
            Some((at, Some(binary))) => {
                Command::new(binary).args(["volume", "umount"]).arg(at).status()
            }
            Some((at, None)) => Command::new("umount").arg(at).status(),
            None => return,
        };
    }
}

/// Measures with `binary` and with the other programs in a directory of `on`, and prints both results.
pub fn run(binary: &Path, on: &Path, seconds: u64) -> anyhow::Result<()> {
    ensure_or_tell(NEEDS);
    // Mounts are removed when they are dropped, so a signal must not kill this program before that.
    let interrupted = Interrupted::watch()?;
    let on = fs::canonicalize(on)?;
    let directory = tempfile::Builder::new().prefix("why-check").tempdir_in(&on)?;
    let device = device_of(directory.path())?;
    let output = directory.path().join("run");
    let mut command = Command::new(binary);
    command.args(["run", "--quiet", "--system=gocryptfs,builtin-mounted", "--data-unit=512"]);
    command.args(["--budget", BUDGET, "--size", &format!("{OWN_MIB}MiB"), "--output"]).arg(&output);
    let out = interrupted.output(command.arg(directory.path()))?;
    interrupted.go_on()?;
    if !out.status.success() {
        bail!("{}", String::from_utf8_lossy(&out.stderr));
    }
    let record = cryptbench_record::read(&output.join("record.json"))?;
    let lookup = Lookup::of(&record);
    let bindings = bindings(&lookup);
    let mut rows = Rows::default();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!(
        "{}, load {}; {device}; fio, iostat -x and pidstat -t for {seconds} s each\n",
        super::machine(),
        load.split(' ').next().unwrap_or_default()
    );
    println!(
        "| system | workload | by | requests/s | for each | mean KiB | in flight | busiest thread | cause |"
    );
    println!("|---|---|---|--:|--:|--:|--:|--:|---|");
    let workloads: Vec<&Workload> =
        record.plan.workloads.iter().filter(|w| w.is_of_requests()).collect();
    let mut plain: Vec<Figures> = Vec::new();
    for system in ["plain", "gocryptfs", "builtin-mounted"] {
        let mut place = Place::set_up(system, binary, directory.path())?;
        fill(&place.file, MIB)?;
        if system == "gocryptfs" {
            place.below = Some(largest(&directory.path().join("store"))?);
        }
        // Results of fio at queue depth 1, by workload.
        let mut alone: Vec<(&Workload, f64)> = Vec::new();
        for (number, workload) in workloads.iter().enumerate() {
            let theirs =
                watch(&place.file, place.below.as_deref(), MIB, workload, &device, seconds)?;
            let of_cell = |(w, arm, _): &&(&Workload, &Arm, Binding)| {
                w.id == workload.id && arm.system == place.system && arm.cipher.is_some()
            };
            interrupted.go_on()?;
            if workload.in_flight() == 1 {
                alone.push((workload, theirs.rate));
            }
            let alone = alone.iter().find(|(other, _)| is_alike(other, workload));
            match bindings.iter().find(of_cell) {
                _ if system == "plain" => plain.push(theirs),
                Some(cell) => {
                    let others =
                        Others { arm: &theirs, plain: &plain[number], alone: alone.map(|a| a.1) };
                    rows.enter(system, &record, cell, &others);
                }
                None => rows.miss(system, workload, "not measured"),
            }
        }
    }
    rows.told()
}

impl Place {
    fn set_up(system: &'static str, binary: &Path, directory: &Path) -> anyhow::Result<Self> {
        let passphrase = directory.join("passphrase");
        fs::write(&passphrase, "not a secret")?;
        let point = directory.join(format!("{system}-mount"));
        fs::create_dir(&point)?;
        let file = point.join("file");
        let run = |command: &mut Command| -> anyhow::Result<()> {
            let out = command.stdin(Stdio::null()).output()?;
            match out.status.success() {
                true => Ok(()),
                false => bail!("{command:?}: {}", String::from_utf8_lossy(&out.stderr)),
            }
        };
        match system {
            "gocryptfs" => {
                let store = directory.join("store");
                fs::create_dir(&store)?;
                let gocryptfs = || {
                    let mut command = Command::new("gocryptfs");
                    command.args(["-q", "-passfile"]).arg(&passphrase);
                    command
                };
                run(gocryptfs().args(["-init", "-scryptn", "10"]).arg(&store))?;
                run(gocryptfs().arg(&store).arg(&point))?;
            }
            "builtin-mounted" => {
                let volume = directory.join("volume");
                let size = format!("{}MiB", MIB + MIB / 4);
                let volumes = |what: &str| {
                    let mut command = Command::new(binary);
                    command.args(["volume", what]).arg(&volume);
                    command.arg("--passphrase-file").arg(&passphrase);
                    command
                };
                let unmount = || run(Command::new(binary).args(["volume", "umount"]).arg(&point));
                run(volumes("create").args(["--size", &size]))?;
                run(volumes("mount").arg("--raw").arg(&point))?;
                // From here on the mount is removed in any case.
                let mounted = Some((point.clone(), Some(binary.to_owned())));
                let place = Self { system, file, below: None, mounted };
                run(Command::new("mkfs.ext4").arg("-q").arg(point.join("volume")))?;
                unmount()?;
                run(volumes("mount").arg(&point))?;
                return Ok(place);
            }
            _ => return Ok(Self { system, file, below: None, mounted: None }),
        }
        Ok(Self { system, file, below: None, mounted: Some((point, None)) })
    }
}

/// The largest file of a directory.
fn largest(directory: &Path) -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(directory)?.flatten();
    let sizes = entries.filter_map(|entry| Some((entry.metadata().ok()?.len(), entry.path())));
    Ok(sizes.max().context("the file system has no files")?.1)
}

/// The name of the disk or partition that holds a directory, as printed by iostat.
fn device_of(directory: &Path) -> anyhow::Result<String> {
    use std::os::unix::fs::MetadataExt as _;
    let number = fs::metadata(directory)?.dev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let link = fs::read_link(format!("/sys/dev/block/{major}:{minor}"))
        .context("the directory is on no block device: name one that is with --check DIR")?;
    Ok(link.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// Counts the agreements.
#[derive(Default)]
struct Rows {
    cells: u32,
    /// Cells for which the run has no figures.
    missing: u32,
    agree: [u32; 4],
    /// Number of cells with a cause, and of those whose cause the other programs confirm.
    named: u32,
    seen: u32,
    apart: Vec<String>,
}

impl Rows {
    fn enter(
        &mut self,
        system: &str,
        record: &Record,
        cell: &(&Workload, &Arm, Binding),
        others: &Others<'_>,
    ) {
        let (workload, arm, binding) = cell;
        let theirs = others.arm;
        let Some(ours) = recorded(record, workload, arm) else {
            return self.miss(system, workload, "not counted");
        };
        let found = binding.bottleneck.as_ref().map(|found| &found.cause);
        let is_seen = found.map(|cause| seen(cause, others, workload));
        self.named += u32::from(found.is_some());
        self.seen += u32::from(is_seen == Some(true));
        let words = match (found, is_seen) {
            (None, _) if binding.loses() => "not explained",
            (None, _) => "no loss claimed",
            (Some(cause), _) => Named::of(cause).words(),
        };
        let shown = match is_seen {
            Some(true) => "seen",
            Some(false) => "**not seen**",
            None => "",
        };
        row(&format!("| {system} | {} | cryptbench", workload.label), &ours, words);
        row("| | | the others", theirs, shown);
        self.cells += 1;
        let pairs = [
            ("requests for each", ours.per_request, theirs.per_request),
            ("mean size", ours.bytes, theirs.bytes),
            ("in flight", ours.in_flight, theirs.in_flight),
            ("busiest thread", ours.busiest, theirs.busiest),
        ];
        for (count, (what, ours, theirs)) in self.agree.iter_mut().zip(pairs) {
            let is_close =
                (ours / theirs).ln().abs() <= AGREES.ln() || (ours - theirs).abs() < 0.05;
            *count += u32::from(is_close);
            if !is_close {
                self.apart.push(format!("{system}, {}: {what}", workload.label));
            }
        }
    }

    fn miss(&mut self, system: &str, workload: &Workload, why: &str) {
        self.missing += 1;
        println!("| {system} | {} | cryptbench | {why} | | | | | |", workload.label);
    }

    fn told(&self) -> anyhow::Result<()> {
        let [requests, size, in_flight, busiest] = self.agree;
        println!(
            "\nOf {} cells agree within 25 %: requests for each {requests}, mean size {size}, in flight {in_flight}, busiest \
             thread {busiest}. Of {} causes that are named the others see {}.",
            self.cells, self.named, self.seen
        );
        if self.missing > 0 {
            println!("missing: {} cells of which the run has no figures", self.missing);
        }
        for apart in &self.apart {
            println!("apart: {apart}");
        }
        if self.seen < self.named {
            bail!("a cause is named that the others do not see");
        }
        Ok(())
    }
}

fn row(begins: &str, figures: &Figures, ends: &str) {
    let Figures { rate, per_request, bytes, in_flight, busiest, thread, .. } = figures;
    println!(
        "{begins} | {rate:.0} | {per_request:.2} | {:.1} | {in_flight:.2} | {:.0} % {thread} | {ends} |",
        bytes / 1024.0,
        100.0 * busiest
    );
}

/// The median over a cell's trials. Trials during which other programs used the disk are included, because
/// iostat and pidstat observe those programs as well.
fn recorded(record: &Record, workload: &Workload, arm: &Arm) -> Option<Figures> {
    let trials = record.trials_of(&workload.id, &arm.id);
    let middle = |of: &dyn Fn(&Observation) -> Option<f64>| {
        median(&trials.iter().filter_map(|(_, t)| of(&t.measured)).collect::<Vec<_>>())
    };
    let disk = |of: &dyn Fn(&DiskCounts) -> Option<f64>| {
        middle(&|measured| of(&measured.disk_while_measured()?))
    };
    let busiest = |measured: &Observation| {
        let threads = measured.threads.as_ref()?;
        let own = [&threads.helper, &threads.kernel].into_iter().flatten();
        own.max_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s)).cloned()
    };
    let share = |measured: &Observation| {
        let asked = measured.threads.as_ref()?.asked as f64;
        Some(busiest(measured)?.cpu_s / asked * (measured.ios as f64 / measured.elapsed_s))
    };
    Some(Figures {
        rate: middle(&|measured| Some(measured.ios as f64 / measured.elapsed_s))?,
        per_request: disk(&DiskCounts::per_request)?,
        reads: disk(&|disk| Some(disk.reads as f64 / disk.asked as f64))?,
        bytes: disk(&DiskCounts::mean_bytes)?,
        in_flight: disk(&DiskCounts::in_flight)?,
        busiest: middle(&share).unwrap_or(f64::NAN),
        thread: trials
            .iter()
            .find_map(|(_, t)| busiest(&t.measured))
            .map_or(String::new(), |t| t.name),
        ..Figures::default()
    })
}

/// The other programs' observations of a cell.
struct Others<'a> {
    arm: &'a Figures,
    plain: &'a Figures,
    /// The arm's rate with one request at a time.
    alone: Option<f64>,
}

/// Whether the other programs' observations match the cause.
fn seen(cause: &Cause, others: &Others<'_>, workload: &Workload) -> bool {
    let Others { arm, plain, alone } = *others;
    // A fully busy thread reaches at least this share on a machine that other programs also use.
    const FULL: f64 = 0.8;
    // The added time is the difference between two times, each of which is accurate within `AGREES`.
    const ADDED: f64 = AGREES * AGREES;
    let per_byte = arm.per_request * arm.bytes / workload.block_size as f64;
    match cause {
        Cause::FewerInFlight { .. } => arm.in_flight < plain.in_flight / AGREES,
        Cause::OneAtATime { .. } => alone.is_some_and(|alone| arm.rate < alone * AGREES),
        Cause::CoreFull { .. } => arm.busiest > FULL,
        Cause::ProcessorsFull { .. } => {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            arm.processors > FULL * processors as f64
        }
        Cause::Pieces { .. } => arm.bytes < plain.bytes / AGREES,
        Cause::MoreRequests { .. } => arm.per_request.max(per_byte) > AGREES.min(1.2),
        Cause::ReadsFirst { .. } => arm.reads - plain.reads > 0.2,
        Cause::AddedTime { seconds, .. } | Cause::Cipher { seconds } => {
            let theirs = 1.0 / arm.rate - 1.0 / plain.rate;
            (seconds / ADDED..=seconds * ADDED).contains(&theirs)
        }
        Cause::Cache { .. } => per_byte < 0.8,
    }
}
