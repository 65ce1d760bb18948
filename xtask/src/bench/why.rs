//! `cargo xtask bench why`: checks whether a known cause of a loss is identified correctly. Layers that are
//! designed to lose speed in one way run on emulated devices, and the reported cause is compared with the
//! design.

mod check;
mod systems;
mod watched;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::bail;
use cryptbench_estimate::binding::{Binding, bindings};
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, Operation, Workload};
use cryptbench_stats::bottleneck::{Asked, Cause, TOLERANCE};

use super::{build_release, machine};

/// Requests of one size and queue depth, in one direction, as in the default profile. FUSE does not split 128
/// KiB requests, so they are counted as issued.
const WORKLOADS: [(&str, &str, &str, u32); 6] = [
    ("read", "random", "4KiB", 1),
    ("read", "random", "4KiB", 32),
    ("write", "random", "4KiB", 1),
    ("write", "random", "4KiB", 8),
    ("read", "sequential", "1MiB", 1),
    ("read", "sequential", "128KiB", 8),
];

/// The arms of runs: layers that do not encrypt, or ciphers that are slow because they run on one CPU without
/// its instructions for them. A run measures one of these two kinds.
const RUNS: [&[&str]; 2] = [
    &[
        "--system=serial",
        "--system=pieces",
        "--set=piece-size=16KiB",
        "--set=writes=1,2",
        "--system=delay",
        "--set=per-request=100us,500us",
        "--set=per-byte=0ns",
    ],
    &["--system=builtin", "--cipher=serpent-256-xts,kuznyechik-xts", "--data-unit=4096"],
];

/// The promised shares: of correctly identified cells, of wrongly identified ones, and of close predictions.
const RIGHTLY: f64 = 0.95;
const WRONGLY: f64 = 0.02;
const CLOSE: f64 = 0.90;

/// A thread whose own work takes this share of a request's time is almost fully busy.
const NEARLY_ALL: f64 = 0.8;

#[derive(clap::Args)]
pub struct Options {
    /// Modelled devices
    #[arg(
        long,
        value_name = "MODEL",
        value_delimiter = ',',
        default_value = "nvme,sata-ssd,usb-flash,hdd-7200"
    )]
    emulate: Vec<String>,
    /// Keep the devices' bytes in a file in this directory instead of in memory
    #[arg(long, value_name = "DIR")]
    emulate_backing: Option<PathBuf>,
    /// Budget of each run; there are two for each device
    #[arg(long, default_value = "40s")]
    budget: String,
    /// Seed of all runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Measure with this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Keep the records in this directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Judge the records that such a run kept, and measure nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["keep", "binary"])]
    kept: Option<PathBuf>,
    /// Instead, look with iostat and pidstat at gocryptfs and our own mount on the disk of this directory
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "target", conflicts_with_all = ["keep", "kept"])]
    check: Option<PathBuf>,
    /// Instead, tell how each choice of these records passes requests on
    #[arg(long, value_name = "RECORD", num_args = 1.., conflicts_with_all = ["keep", "kept", "check", "binary"])]
    of: Vec<PathBuf>,
    /// Seconds of each look of --check
    #[arg(long, default_value_t = 5)]
    seconds: u64,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(directory) = &options.check {
        return check::run(&binary(options)?, directory, options.seconds);
    }
    if !options.of.is_empty() {
        return systems::run(&options.of);
    }
    let began = Instant::now();
    let temporary = tempfile::tempdir()?;
    let place = match (&options.kept, &options.keep) {
        (Some(kept), _) => kept,
        (None, Some(keep)) => keep,
        (None, None) => temporary.path(),
    };
    if options.kept.is_none() {
        measure(options, place)?;
    }
    println!("{}", machine());
    println!(
        "`CRYPTBENCH_CPU=soft cryptbench run --emulate MODEL --budget {}` with `{}`, and with `{}`; {:.0} s\n",
        options.budget,
        RUNS[0].join(" "),
        RUNS[1].join(" "),
        began.elapsed().as_secs_f64()
    );
    println!("| device | arm | workload | expected | named | predicted | measured | plain | off |");
    println!("|---|---|---|---|---|--:|--:|--:|--:|");
    let mut tally = Tally::default();
    for device in &options.emulate {
        for number in 0..RUNS.len() {
            let record =
                cryptbench_record::read(&directory(place, device, number).join("record.json"))?;
            for (workload, arm, binding) in bindings(&Lookup::of(&record)) {
                tally.enter(device, workload, arm, &binding);
            }
        }
    }
    tally.told()
}

fn directory(place: &Path, device: &str, number: usize) -> PathBuf {
    place.join(format!("{device}-{number}"))
}

fn binary(options: &Options) -> anyhow::Result<PathBuf> {
    Ok(match &options.binary {
        Some(binary) => std::path::absolute(binary)?,
        None => build_release(&["--package", "cryptbench"])?.join("cryptbench"),
    })
}

/// Runs everything, with the records in directories of `place`.
fn measure(options: &Options, place: &Path) -> anyhow::Result<()> {
    let binary = binary(options)?;
    fs::create_dir_all(place)?;
    let profile = place.join("profile.toml");
    fs::write(&profile, self::profile())?;
    for device in &options.emulate {
        for (number, arms) in RUNS.iter().enumerate() {
            let mut command = Command::new(&binary);
            command.args(["run", "--emulate", device, "--size", "128MiB", "--quiet"]);
            command.args(*arms).arg("--profile").arg(&profile);
            command.args(["--budget", &options.budget, "--seed", &options.seed.to_string()]);
            command.arg("--output").arg(directory(place, device, number));
            if let Some(backing) = &options.emulate_backing {
                command.arg("--emulate-backing").arg(backing);
            }
            let out = command.env("CRYPTBENCH_CPU", "soft").stdout(Stdio::null()).output()?;
            if !out.status.success() {
                bail!("{device}: {}", String::from_utf8_lossy(&out.stderr));
            }
        }
    }
    Ok(())
}

fn profile() -> String {
    let workload = |(operation, pattern, size, depth): &(&str, &str, &str, u32)| {
        let headline = if *size == "4KiB" { "iops" } else { "bandwidth" };
        let id = format!("{operation}-{pattern}-{size}-{depth}").to_lowercase();
        format!(
            "[[workload]]\nid = \"{id}\"\nlabel = \"{operation} {size}, {depth}\"\n\
             operation = \"{operation}\"\npattern = \"{pattern}\"\nblock_size = \"{size}\"\nqueue_depth = {depth}\n\
             headline = \"{headline}\"\n"
        )
    };
    let all: String = WORKLOADS.iter().map(workload).collect();
    format!("name = \"why\"\ndescription = \"Losses of known cause.\"\n{all}")
}

/// A cause without its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Fewer,
    Full,
    Pieces,
    More,
    ReadsFirst,
    Added,
    Cipher,
    Cache,
}

impl Named {
    fn of(cause: &Cause) -> Self {
        match cause {
            // Treated as the same cause: it is found with the disk counters or, if these are unknown, with the
            // speeds.
            Cause::FewerInFlight { .. } | Cause::OneAtATime { .. } => Self::Fewer,
            Cause::CoreFull { .. } | Cause::ProcessorsFull { .. } => Self::Full,
            Cause::Pieces { .. } => Self::Pieces,
            Cause::MoreRequests { .. } => Self::More,
            Cause::ReadsFirst { .. } => Self::ReadsFirst,
            Cause::AddedTime { .. } => Self::Added,
            Cause::Cipher { .. } => Self::Cipher,
            Cause::Cache { .. } => Self::Cache,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Fewer => "fewer in flight",
            Self::Full => "core full",
            Self::Pieces => "pieces",
            Self::More => "more requests",
            Self::ReadsFirst => "reads first",
            Self::Added => "added time",
            Self::Cipher => "cipher",
            Self::Cache => "cache",
        }
    }
}

/// The right causes, according to the design of `arm` and the speed of plain storage; empty if the arm loses
/// nothing.
fn expected(workload: &Workload, arm: &Arm, binding: &Binding) -> Vec<Named> {
    let is_alone = workload.in_flight() == 1;
    let setting = |name: &str, unit: &str| {
        let words = arm.settings.get(name)?;
        words.trim_end_matches(unit).parse::<f64>().ok()
    };
    // One thread issues all requests and works on each for this long. If it cannot issue as many as plain
    // storage completes, it is fully busy; otherwise fewer requests are in flight because of its work. At queue
    // depth 1, each request takes longer by the time of this work.
    let works = |seconds: f64, alone: Named| {
        let times = seconds * binding.asked.plain_rate;
        let is_long = times / (1.0 + times) >= NEARLY_ALL;
        match is_alone {
            true if is_long => vec![alone, Named::Full],
            true => vec![alone],
            false if times >= 1.0 => vec![Named::Full],
            false => vec![Named::Full, Named::Fewer],
        }
    };
    let or_cipher = |mut named: Vec<Named>| {
        named.extend((!is_alone).then_some(Named::Cipher));
        named
    };
    match &arm.system[..] {
        "serial" if !is_alone => vec![Named::Fewer],
        "pieces" => {
            let mut named = Vec::new();
            let is_cut = setting("piece-size", "KiB")
                .is_some_and(|kib| workload.block_size as f64 > 1024.0 * kib);
            let is_twice = setting("writes", "") == Some(2.0);
            named.extend(is_cut.then_some(Named::Pieces));
            let is_more = is_twice && workload.operation == Operation::Write;
            named.extend(is_more.then_some(Named::More));
            // If the disk requests of plain storage already fill the CPUs, this many requests do so as well.
            let is_full = !named.is_empty() && plain_processors(&binding.asked) >= NEARLY_ALL;
            named.extend(is_full.then_some(Named::Full));
            named
        }
        "delay" => {
            setting("per-request", "us").map_or_else(Vec::new, |us| works(us / 1e6, Named::Added))
        }
        "builtin" => {
            let seconds = binding.asked.cipher_s;
            seconds.map_or_else(Vec::new, |seconds| or_cipher(works(seconds, Named::Cipher)))
        }
        _ => Vec::new(),
    }
}

/// Share of the time in which all CPUs were busy with the requests of plain storage.
fn plain_processors(asked: &Asked) -> f64 {
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let work_s = asked.processors.unwrap_or(0.0) * processors / asked.rate;
    (work_s - asked.work_s.unwrap_or(0.0)) * asked.plain_rate / processors
}

#[derive(Default)]
struct Tally {
    /// Cells that lose, with a known cause.
    lose: u32,
    rightly: u32,
    wrongly: u32,
    /// Number of cells that lose speed although their design has no cause for it.
    by_chance: u32,
    /// Number of those cells whose speed is predicted within the tolerance.
    close: u32,
}

impl Tally {
    /// Counts a cell, and prints it as a row if it loses speed.
    fn enter(&mut self, device: &str, workload: &Workload, arm: &Arm, binding: &Binding) {
        if !binding.loses() {
            return;
        }
        let expected = expected(workload, arm, binding);
        let found = binding.bottleneck.as_ref();
        let named = found.map(|found| Named::of(&found.cause));
        let is_right = named.is_some_and(|named| expected.contains(&named));
        match expected.is_empty() {
            true => self.by_chance += 1,
            false => self.lose += 1,
        }
        self.rightly += u32::from(is_right);
        self.wrongly += u32::from(named.is_some() && !is_right);
        let predicted = found.and_then(|found| found.predicted);
        let off = predicted.map(|predicted| predicted / binding.asked.rate);
        let is_close = off.is_some_and(|off| off.ln().abs() <= TOLERANCE.ln());
        self.close += u32::from(is_close && !expected.is_empty());
        let words: Vec<_> = expected.iter().map(|named| named.words()).collect();
        println!(
            "| {device} | {} | {} | {} | {}{} | {} | {:.0} | {:.0} | {} |",
            arm.label,
            workload.label,
            if words.is_empty() { "nothing".to_owned() } else { words.join(", ") },
            if named.is_some() && !is_right { "**wrong** " } else { "" },
            named.map_or("not explained", Named::words),
            predicted.map_or_else(String::new, |predicted| format!("{predicted:.0}")),
            binding.asked.rate,
            binding.asked.plain_rate,
            off.map_or_else(String::new, |off| format!("{:+.1} %", 100.0 * (off - 1.0))),
        );
    }

    fn told(&self) -> anyhow::Result<()> {
        let Self { lose, rightly, wrongly, by_chance, close } = *self;
        let all = lose + by_chance;
        let share = |part: u32, whole: u32| f64::from(part) / f64::from(whole.max(1));
        println!(
            "\nOf {lose} cells that lose more than 3 % by what they do {rightly} are named rightly ({:.1} %; promised {:.0}), \
             and of {close} the speed is predicted within 15 % ({:.1} %; promised {:.0}). Of {all} that lose {wrongly} are \
             named wrongly ({:.1} %; promised at most {:.0}); {by_chance} lose by chance.",
            100.0 * share(rightly, lose),
            100.0 * RIGHTLY,
            100.0 * share(close, lose),
            100.0 * CLOSE,
            100.0 * share(wrongly, all),
            100.0 * WRONGLY,
        );
        if share(rightly, lose) < RIGHTLY
            || share(wrongly, all) > WRONGLY
            || share(close, lose) < CLOSE
        {
            bail!("less than is promised");
        }
        Ok(())
    }
}
