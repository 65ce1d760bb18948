//! `cargo xtask budgets`: checks whether runs keep their budget on rate-limited disks. Measures the time from start to
//! prompt, the results, how runs end, and how long an interruption takes.

mod disk;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use cryptbench_record::{ArmRole, Record, Verdict};

use self::disk::{HeldDisk, Limit};
use crate::bench::{build_release, machine};
use crate::interrupted::Interrupted;

/// Share of its budget that a run may use.
pub const MOST: f64 = 1.15;

/// How long a run may take to exit after Ctrl-C, in seconds.
const MOST_INTERRUPTED: f64 = 1.0;

#[derive(clap::Args)]
pub struct Options {
    /// Budget of each run
    #[arg(long, default_value = "1m")]
    budget: String,
    /// Profiles; a file counts as one
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "PROFILE",
        default_value = "quick,sweep,small-files,fsync,crystaldiskmark,mount"
    )]
    profiles: Vec<String>,
    /// Disks; all if none is given
    #[arg(long, value_enum, value_delimiter = ',', value_name = "DISK")]
    disks: Vec<Limit>,
    /// A program that is built already
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Directory for the image of the disk; in memory it is held to its rate whatever else the machine does
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    place: PathBuf,
    /// Interrupt each run after this many seconds, and show how long it takes to exit
    #[arg(long, value_name = "SECONDS")]
    interrupt: Option<f64>,
    /// Further words for each run, such as --systems
    #[arg(last = true)]
    more: Vec<String>,
}

/// A run, as the user sees it.
struct Seen {
    seconds: f64,
    /// Time in seconds from the interruption to the exit.
    after: Option<f64>,
    code: String,
    record: Option<Record>,
    said: String,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    if !rustix::process::geteuid().is_root() {
        bail!("only root can hold a disk to a rate: run this with sudo");
    }
    let program = match &options.program {
        Some(program) => std::path::absolute(program)?,
        None => build_release(&["--package", "cryptbench"])?.join("cryptbench"),
    };
    let budget_s = seconds(&options.budget)?;
    let disks = match &options.disks[..] {
        [] => Limit::value_variants(),
        some => some,
    };
    // The disk is removed when it is dropped, so a signal must not kill this program before that.
    let interrupted = Interrupted::watch()?;
    let disk = HeldDisk::make(&options.place)?;
    println!("{}", machine());
    println!("`cryptbench run DIR --profile P --budget {}`\n", options.budget);
    println!(
        "| profile | disk | seconds | of the budget | systems measured | cells decided | exit code | advised budget |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut faults = Vec::new();
    for profile in &options.profiles {
        for limit in disks {
            disk.hold(*limit)?;
            let seen = measured(&program, &disk.directory, profile, options, &interrupted);
            disk.hold(Limit::Fast)?;
            let seen = seen?;
            interrupted.go_on()?;
            println!("{}", row(profile, *limit, &seen, budget_s));
            let of_run = |fault| format!("{profile} on {}: {fault}", limit.in_words());
            faults.extend(seen.faults(budget_s).into_iter().map(of_run));
        }
    }
    match faults.is_empty() {
        true => Ok(()),
        false => bail!("{}", faults.join("\n")),
    }
}

impl Seen {
    /// Its violations.
    fn faults(&self, budget_s: f64) -> Vec<String> {
        let is_late = match self.after {
            Some(after) => after > MOST_INTERRUPTED,
            None => self.seconds > MOST * budget_s,
        };
        // A run prints the required time if there was too little time, or if it was refused for its fixed
        // number of trials.
        let is_expected = match &*self.code {
            "0" => true,
            "2" | "10" => advised(&self.said).is_some(),
            "130" => self.after.is_some(),
            _ => false,
        };
        let late = is_late.then(|| "it took longer than it may".to_owned());
        let code = (!is_expected).then(|| format!("exit code {}: {:?}", self.code, self.said));
        late.into_iter().chain(code).collect()
    }
}

fn row(profile: &str, limit: Limit, seen: &Seen, budget_s: f64) -> String {
    let ratio = match seen.after {
        Some(after) => format!("{after:.2} s after Ctrl-C"),
        None => format!("{:.2}", seen.seconds / budget_s),
    };
    let (systems, decided) = seen.record.as_ref().map_or(("none".to_owned(), String::new()), found);
    let advised = advised(&seen.said).unwrap_or_default();
    let (seconds, disk, code) = (seen.seconds, limit.in_words(), &seen.code);
    format!(
        "| {profile} | {disk} | {seconds:.1} | {ratio} | {systems} | {decided} | {code} | {advised} |"
    )
}

/// The budget that a run recommends at its end.
fn advised(said: &str) -> Option<&str> {
    let word = said.lines().last()?.split("--budget ").nth(1)?.split_whitespace().next()?;
    Some(word.trim_end_matches([',', ';', '.']))
}

/// The systems with valid trials, and how many of the planned cells have a verdict.
fn found(record: &Record) -> (String, String) {
    let encrypted = record.plan.arms.iter().filter(|arm| arm.role == ArmRole::Encrypted);
    let counts = |id: &str| record.trials.iter().any(|t| t.arm == *id && t.block.is_some());
    let mut systems: Vec<&str> =
        encrypted.clone().filter(|arm| counts(&arm.id)).map(|arm| arm.system.as_str()).collect();
    systems.dedup();
    let planned = encrypted.count() * record.plan.workloads.len();
    let cells = record.results.iter().flat_map(|results| &results.cells);
    let is_encrypted = |id: &str| {
        record.plan.arms.iter().any(|arm| arm.id == *id && arm.role == ArmRole::Encrypted)
    };
    let decided = cells
        .filter(|cell| is_encrypted(&cell.arm))
        .filter(|cell| {
            use Verdict::{Costs, Equivalent, Gains};
            matches!(cell.verdict, Some(Costs { .. } | Gains { .. } | Equivalent { .. }))
        })
        .count();
    let systems = if systems.is_empty() { "none".to_owned() } else { systems.join(", ") };
    (systems, format!("{decided} of {planned}"))
}

fn measured(
    program: &Path,
    directory: &Path,
    profile: &str,
    options: &Options,
    interrupted: &Interrupted,
) -> anyhow::Result<Seen> {
    let kept = tempfile::tempdir()?;
    let output = kept.path().join("run");
    let began = Instant::now();
    let child = Command::new(program)
        .arg("run")
        .arg(directory)
        .args(["--profile", profile, "--budget", &options.budget, "--quiet", "--output"])
        .arg(&output)
        .args(&options.more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let (out, at) = interrupted.wait(child, options.interrupt.map(Duration::from_secs_f64))?;
    let ended = Instant::now();
    let record = cryptbench_record::read(&output.join("record.json")).ok();
    Ok(Seen {
        seconds: (ended - began).as_secs_f64(),
        after: at.map(|at| ended.saturating_duration_since(at).as_secs_f64()),
        code: out.status.code().map_or("killed".to_owned(), |code| code.to_string()),
        record,
        said: String::from_utf8_lossy(&out.stderr).trim().to_owned(),
    })
}

/// A budget in the form of `--budget`, with one unit.
fn seconds(budget: &str) -> anyhow::Result<f64> {
    let (number, unit) = budget.split_at(budget.len().saturating_sub(1));
    let factor = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => bail!("{budget:?} is not a number of seconds, minutes or hours, such as 90s or 2m"),
    };
    Ok(number.parse::<f64>().with_context(|| format!("{budget:?}"))? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_in_time_with_a_figure_or_with_the_budget_that_has_one() {
        let of = |seconds, code: &str, said: &str| {
            let seen = Seen {
                seconds,
                after: None,
                code: code.to_owned(),
                record: None,
                said: said.to_owned(),
            };
            seen.faults(30.0).len()
        };
        let advice = "setting up\ncryptbench: too little: give --budget 30m, a shorter --trial";
        assert_eq!(advised(advice), Some("30m"));
        assert_eq!((of(31.0, "0", ""), of(40.0, "0", "")), (0, 1));
        assert_eq!((of(9.0, "10", advice), of(9.0, "2", advice)), (0, 0));
        for code in ["10", "2", "1", "3", "6", "130", "killed"] {
            assert_eq!(of(9.0, code, "cryptbench: why"), 1, "{code}");
        }
    }
}
