//! `cargo xtask bench scaling`: the throughput with one CPU and with several, and their ratio as a share of
//! perfect scaling, for ciphers, key derivation and a mount, interleaved.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{build_release, machine, median, version};
use crate::interrupted::Interrupted;
use crate::packages::{self, Need};

#[derive(clap::Args)]
pub struct Options {
    /// Rounds; each measures everything with one CPU and with several
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Number of CPUs to compare with one [default: all]
    #[arg(long)]
    cpus: Option<usize>,
    /// Ciphers
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "aes-256-xts,serpent-256-xts,twofish-256-xts,camellia-256-xts,kuznyechik-xts,adiantum-12"
    )]
    cipher: Vec<String>,
    /// Functions of the key derivation
    #[arg(long, value_delimiter = ',', default_value = "sha-512,sha-256,whirlpool")]
    prf: Vec<String>,
    /// Seconds of each measurement of the mount
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,
    /// Directory in RAM for the volumes of the mount, so that the disk does not limit the speed
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    target: PathBuf,
    /// Measure this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Size of each volume in MiB.
const MIB: u64 = 192;

/// Title, fio's name of the pattern, block size, and number of requests in flight per CPU.
const JOBS: &[(&str, &str, &str, u32)] = &[
    ("read 128 KiB", "randread", "128k", 8),
    ("write 128 KiB", "randwrite", "128k", 8),
    ("read 4 KiB", "randread", "4k", 32),
    ("write 4 KiB", "randwrite", "4k", 32),
];

const LOAD: &[Need] = &[
    Need { file: "/usr/bin/fio", package: "fio", reason: "the load on the mount" },
    Need { file: "/usr/bin/taskset", package: "util-linux", reason: "the processors of the mount" },
];

/// A measured quantity with its unit, and a pair of values for each round: with one CPU, and with all.
struct Row {
    what: String,
    unit: &'static str,
    seen: Vec<[f64; 2]>,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let binary = match &options.binary {
        Some(binary) => fs::canonicalize(binary)?,
        None => fs::canonicalize(build_release(&["--package", "cryptbench"])?.join("cryptbench"))?,
    };
    let cpus = options.cpus.unwrap_or(available_parallelism()?.into());
    if cpus < 2 || options.rounds == 0 {
        bail!("there is nothing to compare: it takes two processors and a round at least");
    }
    let interrupted = Interrupted::watch()?;
    let name = version(&binary.display().to_string()).unwrap_or_default();
    println!("{}; {name}; medians of {} rounds\n", machine(), options.rounds);
    let bench = Bench { binary: &binary, cpus, interrupted: &interrupted };
    let missing = packages::ensure(LOAD);
    let mounts = match missing.first() {
        Some(missing) => Err(anyhow::anyhow!("{missing}")),
        None => Mounts::new(&bench, &options.target),
    };
    let mut rows = Vec::new();
    for _ in 0..options.rounds {
        bench.ciphers(&options.cipher, &mut rows)?;
        bench.derivation(&options.prf, &mut rows)?;
        if let Ok(mounts) = &mounts {
            mounts.measure(&bench, options.seconds, &mut rows)?;
        }
    }
    show(&rows, cpus);
    if let Err(why) = &mounts {
        println!("\nSKIPPED: the mount: {why:#}");
    }
    Ok(())
}

fn show(rows: &[Row], cpus: usize) {
    println!("| | 1 CPU | {cpus} CPUs | efficiency |\n|---|--:|--:|--:|");
    for row in rows {
        let [one, all] = [0, 1].map(|i| median(row.seen.iter().map(|pair| pair[i])));
        let digits = if one < 100.0 { 1 } else { 0 };
        println!(
            "| {} | {one:.digits$} {unit} | {all:.digits$} {unit} | {:.2} |",
            row.what,
            efficiency(&row.seen, cpus),
            unit = row.unit,
        );
    }
}

/// The median over the rounds of the ratio, as a share of perfect scaling.
fn efficiency(seen: &[[f64; 2]], cpus: usize) -> f64 {
    median(seen.iter().map(|[one, all]| all / one / cpus as f64))
}

fn note(rows: &mut Vec<Row>, what: String, unit: &'static str, pair: [f64; 2]) {
    match rows.iter_mut().find(|row| row.what == what) {
        Some(row) => row.seen.push(pair),
        None => rows.push(Row { what, unit, seen: vec![pair] }),
    }
}

struct Bench<'a> {
    binary: &'a Path,
    cpus: usize,
    interrupted: &'a Interrupted,
}

impl Bench<'_> {
    /// The program itself alternates between one thread and all.
    fn ciphers(&self, names: &[String], rows: &mut Vec<Row>) -> anyhow::Result<()> {
        let threads = format!("1,{}", self.cpus);
        let words = ["ciphers", "--json", "--data-unit", "4096", "--seconds", "1s"];
        let mut command = Command::new(self.binary);
        command.args(words).args(["--threads", &threads, "--cipher", &names.join(",")]);
        let all: Value = serde_json::from_str(&self.said(&mut command)?)?;
        for name in names {
            let of = |threads: usize| {
                let is = |row: &&Value| row["cipher"] == **name && row["threads"] == threads;
                let row = all.as_array().into_iter().flatten().find(is);
                row.and_then(|row| row["mean_mb_s"].as_f64())
            };
            let pair = of(1).zip(of(self.cpus)).with_context(|| format!("nothing of {name}"))?;
            note(rows, name.clone(), "MB/s", pair.into());
        }
        Ok(())
    }

    /// The same comparison for the key derivation, which also alternates itself.
    fn derivation(&self, names: &[String], rows: &mut Vec<Row>) -> anyhow::Result<()> {
        let mut command = Command::new(self.binary);
        command.args(["kdf", "--json", "--seconds", "2s", "--prf", &names.join(",")]);
        command.args(["--threads", &self.cpus.to_string()]);
        let all: Value = serde_json::from_str(&self.said(&mut command)?)?;
        for name in names {
            let of = |key: &str| {
                let rows = all["functions"].as_array().into_iter().flatten();
                let mut named = rows.filter(|row| row["function"] == **name);
                named.next()?["guesses_per_s"][key].as_f64()
            };
            let pair = of("one_thread").zip(of("all_threads"));
            let pair = pair.with_context(|| format!("nothing of {name}"))?;
            note(rows, format!("key derivation, {name}"), "guesses/s", pair.into());
        }
        Ok(())
    }

    fn said(&self, command: &mut Command) -> anyhow::Result<String> {
        let out = self.interrupted.output(command.stdin(Stdio::null()))?;
        self.interrupted.go_on()?;
        if !out.status.success() {
            bail!("{command:?}: {}", String::from_utf8_lossy(&out.stderr));
        }
        Ok(String::from_utf8(out.stdout)?)
    }

    /// A program that runs on the first `cpus` CPUs.
    fn on(&self, cpus: usize, program: &Path) -> Command {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &format!("0-{}", cpus - 1)]).arg(program);
        command
    }
}

/// Two volumes, whose servers run on one CPU and on several.
struct Mounts {
    place: tempfile::TempDir,
    binary: PathBuf,
}

const NAMES: [&str; 2] = ["one", "several"];

impl Mounts {
    fn new(bench: &Bench<'_>, target: &Path) -> anyhow::Result<Self> {
        let place = tempfile::tempdir_in(target)?;
        let mounts = Self { place, binary: bench.binary.to_owned() };
        let passphrase = mounts.path("passphrase");
        fs::write(&passphrase, "not a secret")?;
        for (name, cpus) in NAMES.into_iter().zip([1, bench.cpus]) {
            let (volume, point) = (mounts.path(&format!("{name}.volume")), mounts.path(name));
            fs::create_dir(&point)?;
            let mut make = Command::new(bench.binary);
            make.args(["volume", "create"]).arg(&volume).arg("--passphrase-file").arg(&passphrase);
            bench.said(make.args(["--size", &format!("{MIB}MiB")]))?;
            let mut mount = bench.on(cpus, bench.binary);
            mount.args(["volume", "mount", "--raw"]).arg(&volume).arg(&point);
            bench.said(mount.arg("--passphrase-file").arg(&passphrase))?;
        }
        Ok(mounts)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn measure(&self, bench: &Bench<'_>, seconds: f64, rows: &mut Vec<Row>) -> anyhow::Result<()> {
        for job in JOBS {
            let one = self.requests(bench, (NAMES[0], 1), job, seconds)?;
            let several = self.requests(bench, (NAMES[1], bench.cpus), job, seconds)?;
            note(rows, format!("mount, {}", job.0), "requests/s", [one, several]);
        }
        Ok(())
    }

    /// Requests per second with one thread per CPU, on the same CPUs as the server.
    fn requests(
        &self,
        bench: &Bench<'_>,
        (name, cpus): (&str, usize),
        &(_, pattern, block, depth): &(&str, &str, &str, u32),
        seconds: f64,
    ) -> anyhow::Result<f64> {
        let mut fio = bench.on(cpus, Path::new("fio"));
        fio.args(["--name=job", "--time_based", "--norandommap", "--thread", "--direct=1"])
            .args(["--ioengine=io_uring", "--output-format=json", "--group_reporting"])
            .args(["--ramp_time=100ms", "--allow_file_create=0"])
            .arg(format!("--filename={}", self.path(name).join("volume").display()))
            .arg(format!("--size={}M", MIB / 2))
            .args([format!("--rw={pattern}"), format!("--bs={block}")])
            .args([format!("--iodepth={depth}"), format!("--numjobs={cpus}")])
            .arg(format!("--runtime={}ms", (seconds * 1000.0) as u64));
        let said = bench.said(&mut fio)?;
        // Engines may print messages before the JSON.
        let start = said.find('{').unwrap_or(0);
        let all: Value = serde_json::from_str(&said[start..]).context("fio's JSON")?;
        let side = if pattern.contains("write") { "write" } else { "read" };
        all["jobs"][0][side]["iops"].as_f64().context("fio's JSON lacks iops")
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        for name in NAMES {
            let mut command = Command::new(&self.binary);
            let _ = command.args(["volume", "umount"]).arg(self.path(name)).output();
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn efficiency_is_the_part_of_so_many_times_one() {
        let seen = [[100.0, 190.0], [50.0, 100.0], [100.0, 100.0]];
        assert!((super::efficiency(&seen, 2) - 0.95).abs() < 1e-12);
    }
}
