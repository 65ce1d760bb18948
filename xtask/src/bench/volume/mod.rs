//! `cargo xtask bench volume`: compares a file that we serve through FUSE and a loop device with other ways to
//! serve it, and with other programs that encrypt it, interleaved.

mod busy;
mod dm_crypt;
mod guest;
mod row;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::Value;

use self::row::Row;
use super::{build_release, machine, median, version};
use crate::interrupted::Interrupted;
use crate::packages::{self, Need};

#[derive(clap::Args)]
pub struct Options {
    /// Interleaved rounds
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Measured seconds of each trial
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Size of each file, MiB
    #[arg(long, default_value_t = 512)]
    size: u64,
    /// Seconds of pause before each trial
    #[arg(long, default_value_t = 0.2)]
    rest: f64,
    /// Directory on the disk to measure; several, separated by commas, one after the other
    #[arg(long, default_value = "target", value_delimiter = ',')]
    target: Vec<PathBuf>,
    /// How requests reach us: device, uring, these as `volume mount` serves (confined-device, confined-uring), or auto for
    /// the default
    #[arg(long, default_value = "auto")]
    transport: String,
    /// The server of another build, to be compared with: its target/release/examples/serve; or `dm-crypt`, the kernel's own
    /// beside ours over ublk
    #[arg(long)]
    against: Option<PathBuf>,
    /// The disk that dm-crypt and ours encrypt. WHAT IT HAS IS OVERWRITTEN. Otherwise a loop device over a file
    #[arg(long, value_name = "DEVICE", requires = "against", conflicts_with = "guest")]
    disk: Option<PathBuf>,
    /// In a guest under a kernel of Debian's, which has ublk. QEMU emulates its CPU; AES is slow in QEMU 7, not in 10
    #[arg(long, conflicts_with = "target")]
    guest: bool,
    /// The emulator of the guest, if not Debian's
    #[arg(long, requires = "guest")]
    qemu: Option<PathBuf>,
    /// The server of this build, instead of building it
    #[arg(long)]
    serve: Option<PathBuf>,
    /// Only rows whose name contains one of these, separated by commas
    #[arg(long, default_value = "", value_delimiter = ',')]
    rows: Vec<String>,
    /// Only jobs whose title contains one of these, separated by commas
    #[arg(long, default_value = "", value_delimiter = ',')]
    jobs: Vec<String>,
}

impl Options {
    fn jobs(&self) -> Vec<&'static Job> {
        let wanted = |job: &&Job| self.jobs.iter().any(|part| job.0.contains(part.as_str()));
        let all = if self.is_against_dm_crypt() { dm_crypt::JOBS } else { JOBS };
        all.iter().filter(|job| self.jobs.is_empty() || wanted(job)).collect()
    }

    fn rows(&self) -> impl Iterator<Item = &'static (&'static str, row::Build)> {
        let all = if self.is_against_dm_crypt() { dm_crypt::ROWS } else { row::ROWS };
        all.iter().filter(|(row, _)| {
            let is_named = self.rows.is_empty() || self.rows.iter().any(|part| row.contains(part));
            is_named && (self.against.is_some() || !row::OF_AGAINST.contains(row))
        })
    }

    fn is_against_dm_crypt(&self) -> bool {
        self.against.as_deref() == Some(Path::new("dm-crypt"))
    }
}

/// Title, fio's name of the pattern, block size, queue depth.
type Job = (&'static str, &'static str, u64, u32);

const JOBS: &[Job] = &[
    ("seq write 1M", "write", 1 << 20, 1),
    ("seq read 1M", "read", 1 << 20, 1),
    ("seq write 1M QD8", "write", 1 << 20, 8),
    ("seq read 1M QD8", "read", 1 << 20, 8),
    ("rand write 4k QD1", "randwrite", 4096, 1),
    ("rand read 4k QD1", "randread", 4096, 1),
    ("rand read 4k QD32", "randread", 4096, 32),
    ("rand write 4k QD32", "randwrite", 4096, 32),
];

const PEERS: &[Need] = &[
    Need { file: "/usr/bin/fio", package: "fio", reason: "the load" },
    Need { file: "/usr/bin/qemu-img", package: "qemu-utils", reason: "QEMU's LUKS as a peer" },
    Need {
        file: "/usr/bin/qemu-storage-daemon",
        package: "qemu-system-common",
        reason: "QEMU's FUSE export as a peer",
    },
    Need { file: "/usr/bin/gocryptfs", package: "gocryptfs", reason: "a peer" },
    Need { file: "/usr/bin/nbdkit", package: "nbdkit", reason: "its LUKS filter as a peer" },
];

pub fn run(options: &Options) -> anyhow::Result<()> {
    if options.serve.is_none() {
        packages::ensure_or_tell(PEERS);
    }
    let Some(fio) = version("fio") else { bail!("fio is not installed: apt install fio") };
    let serve = match &options.serve {
        Some(serve) => serve.clone(),
        None => build_release(&["--package", "cryptbench-export", "--example", "serve"])?
            .join("examples/serve"),
    };
    if options.guest {
        return guest::run(options, &serve);
    }
    // Rows are removed when they are dropped, so a signal must not kill this program before that. Children have
    // their own process groups, so that a signal does not kill them in the wrong order.
    let interrupted = Interrupted::watch()?;
    println!("{}; {fio}; {} rounds of {} s", machine(), options.rounds, options.seconds);
    for target in &options.target {
        println!("\nIn {}:\n", target.display());
        measure(options, target, &serve, &interrupted)?;
    }
    Ok(())
}

fn measure(
    options: &Options,
    target: &Path,
    serve: &Path,
    interrupted: &Interrupted,
) -> anyhow::Result<()> {
    std::fs::create_dir_all(target)?;
    let directory = tempfile::tempdir_in(target)?;
    let place = row::Place {
        directory: std::path::absolute(directory.path())?,
        serve: serve.to_owned(),
        against: options.against.clone(),
        transport: options.transport.clone(),
        mib: options.size,
        disk: options.disk.clone(),
    };
    let jobs = options.jobs();
    let mut rows = Vec::new();
    for &(name, build) in options.rows() {
        match build(&place) {
            Ok(made) => rows.push((name, made, vec![Vec::new(); jobs.len()])),
            Err(e) => println!("SKIPPED: {name}: {e:#}\n"),
        }
        interrupted.go_on()?;
    }
    for round in 0..=options.rounds {
        for (number, job) in jobs.iter().enumerate() {
            // Round 0 warms up and is discarded. One job of each pattern is enough for that.
            if round == 0 && jobs[..number].iter().any(|other| other.1 == job.1) {
                continue;
            }
            // The order alternates, so that drift affects all rows equally.
            if round % 2 == 1 {
                rows.reverse();
            }
            for (_, row, seen) in &mut rows {
                std::thread::sleep(Duration::from_secs_f64(options.rest));
                let trial = run_fio(row, job, options);
                interrupted.go_on()?;
                if round > 0 {
                    seen[number].push(trial?);
                }
            }
            if round % 2 == 1 {
                rows.reverse();
            }
        }
    }
    let table: Vec<_> = rows.iter().map(|(name, _, seen)| (*name, seen.clone())).collect();
    show(&table, &jobs);
    Ok(())
}

/// The result of one trial.
#[derive(Clone, Copy)]
struct Trial {
    /// MB per second, or requests per second for small requests.
    speed: f64,
    /// CPU time of the whole machine per request, in microseconds.
    cpu: f64,
    /// Latency percentiles in microseconds: the median and the 99th percentile.
    latency: [f64; 2],
}

type Seen<'a> = (&'a str, Vec<Vec<Trial>>);

fn show(rows: &[Seen<'_>], jobs: &[&Job]) {
    let titles: Vec<_> = jobs.iter().map(|job| job.0).collect();
    let head = |first: &str| {
        println!("{first} | {} |\n|---|{}", titles.join(" | "), "---|".repeat(jobs.len()));
    };
    let speed = |trial: &Trial| trial.speed;
    let cpu = |trial: &Trial| trial.cpu;
    head("|");
    for (name, seen) in rows {
        let cells = seen.iter().zip(jobs).map(|(trials, job)| {
            let unit = if job.2 >= 65536 { "MB/s" } else { "IOPS" };
            format!("{:.0} {unit}", median(trials.iter().map(speed)))
        });
        println!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    println!("\nCPU time of the whole machine for each request, fio's included:\n");
    head("|");
    for (name, seen) in rows {
        let cells = seen.iter().map(|trials| format!("{:.1} µs", median(trials.iter().map(cpu))));
        println!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    println!("\nLatency in µs, p50 and p99:\n");
    head("|");
    for (name, seen) in rows {
        let cells = seen.iter().map(|trials| {
            let [p50, p99] = [0, 1].map(|i| median(trials.iter().map(|trial| trial.latency[i])));
            format!("{p50:.0}, {p99:.0}")
        });
        println!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    let find = |wanted: &str| rows.iter().find(|(name, _)| *name == wanted);
    let ratios = |label: &str, seen: &[Vec<Trial>], to: &[Vec<Trial>], value: fn(&Trial) -> f64| {
        let cells = seen.iter().zip(to).map(|(seen, to)| {
            format!("{:.2}", median(seen.iter().zip(to).map(|(s, t)| value(s) / value(t))))
        });
        println!("| {label} | {} |", cells.collect::<Vec<_>>().join(" | "));
    };
    let both = [("Speed", speed as fn(&Trial) -> f64), ("CPU time", cpu)];
    if let Some(ours) = find(row::OURS) {
        for (of, value) in both {
            println!(
                "\n{of} of ours (AES-256-XTS, 512 B) to others, median of each round's ratio:\n"
            );
            head("| to");
            for (name, seen) in rows.iter().filter(|(name, _)| *name != row::OURS) {
                ratios(name, &ours.1, seen, value);
            }
        }
    }
    for (name, other) in row::PAIRS.iter().chain(dm_crypt::PAIRS) {
        let (Some(row), Some(other)) = (find(name), find(other)) else { continue };
        println!("\n{name} to {}:\n", other.0);
        head("|");
        for (of, value) in both {
            ratios(of, &row.1, &other.1, value);
        }
    }
}

fn run_fio(row: &Row, job: &Job, options: &Options) -> anyhow::Result<Trial> {
    let &(_, pattern, block, depth) = job;
    let mut fio = Command::new("fio");
    fio.args(["--name=job", "--time_based", "--randrepeat=0", "--norandommap", "--thread"])
        .args(["--output-format=json", "--ramp_time=100ms", "--allow_file_create=0"])
        .args(row.fio_arguments())
        // Huge pages for fio's buffers: the placement of small pages is random and changes the
        // speed of 1 MiB requests by up to half.
        .arg("--iomem_align=2m")
        .env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
        .arg(format!("--size={}M", options.size - options.size / 32))
        .arg(format!("--rw={pattern}"))
        .arg(format!("--bs={block}"))
        .arg(format!("--iodepth={depth}"))
        .arg(format!("--runtime={}ms", (options.seconds * 1000.0) as u64));
    let fio = row::apart(&mut fio).stdin(Stdio::null()).stdout(Stdio::piped());
    let child = fio.stderr(Stdio::piped()).spawn()?;
    let busy = busy::during(options.seconds)?;
    let out = child.wait_with_output()?;
    if !out.status.success() {
        bail!("fio failed: {}", String::from_utf8_lossy(&out.stderr));
    }
    // Engines may print messages before the JSON.
    let start = out.stdout.iter().position(|&byte| byte == b'{').unwrap_or(0);
    let all: Value = serde_json::from_slice(&out.stdout[start..]).context("fio's JSON")?;
    let side = &all["jobs"][0][if pattern.contains("write") { "write" } else { "read" }];
    let number = |key: &str| side[key].as_f64().with_context(|| format!("fio's JSON lacks {key}"));
    let iops = number("iops")?;
    let speed = if block >= 65536 { number("bw_bytes")? / 1e6 } else { iops };
    let latency = ["50.000000", "99.000000"].map(|percentile| {
        side["clat_ns"]["percentile"][percentile].as_f64().map_or(f64::NAN, |ns| ns / 1e3)
    });
    Ok(Trial { speed, cpu: busy / iops * 1e6, latency })
}

/// Writes `mib` MiB of incompressible data, waits until it has reached the device, and removes it from the page
/// cache.
fn fill(path: &Path, mib: u64) -> anyhow::Result<()> {
    use std::io::{Read as _, Write as _};
    let mut random = std::fs::File::open("/dev/urandom")?;
    let mut file = std::fs::File::create(path).with_context(|| format!("{}", path.display()))?;
    let mut block = vec![0; 1 << 20];
    for _ in 0..mib {
        random.read_exact(&mut block)?;
        file.write_all(&block)?;
    }
    file.sync_all()?;
    // Otherwise direct writes would remove the file's pages from the page cache during the measurement.
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}
