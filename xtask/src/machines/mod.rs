//! `cargo xtask machines`: boots emulated machines with a complete Debian installation, and runs the commands
//! that a user would run.
//!
//! A machine fails if a run measures no system or exceeds its budget, if a step fails, or if something is left
//! behind. QEMU emulates each instruction, so the machines are as slow as old ones, and their figures say
//! nothing about hardware.

mod boot;
mod image;
mod rows;
mod told;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use self::rows::{Processor, ROWS, Row};
use crate::cross::STATIC;
use crate::tools::said;
use crate::{arm, generated};

/// The emulators.
const X86: &str = "/usr/bin/qemu-system-x86_64";
const ARM: &str = "/usr/bin/qemu-system-aarch64";

/// Time limit for a step. All steps together, and the boot, have a multiple of this limit.
const STEP: Duration = Duration::from_secs(360);

/// The directory of a machine's files, including its reports, and a file for each machine with its date and the
/// host's load.
const WORK: &str = "target/machines/work";
const RESULTS: &str = "target/machines/results";
const PAGE: &str = "docs/validated.md";

#[derive(clap::Args)]
pub struct Options {
    /// Only the machines of these names
    #[arg(long, value_name = "NAME")]
    row: Vec<String>,
    /// Take this program to x86 machines instead of building one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Take this program to ARM machines instead of building one
    #[arg(long, value_name = "FILE")]
    arm_program: Option<PathBuf>,
    /// Only write the table of the last results into docs/validated.md
    #[arg(long)]
    page: bool,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    if options.page {
        return generated::replace(Path::new(PAGE), "cargo xtask machines", &table()?);
    }
    let wanted = |name: &str| options.row.is_empty() || options.row.iter().any(|row| row == name);
    if let Some(unknown) = options.row.iter().find(|name| ROWS.iter().all(|row| row.name != **name))
    {
        let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
        bail!("there is no machine {unknown}: --row takes {}", names.join(", "));
    }
    fs::create_dir_all(RESULTS)?;
    let (mut faults, mut skipped) = (Vec::new(), Vec::new());
    for row in ROWS.iter().filter(|row| wanted(row.name)) {
        let result = match measured(row, options)? {
            Ok(result) => result,
            Err(why) => {
                skipped.push(format!("SKIPPED: {}: {why}", row.name));
                continue;
            }
        };
        faults.extend(result.faults.iter().map(|fault| format!("{}: {fault}", row.name)));
        let occasion = occasion(row, options, result.version.as_deref())?;
        let of = format!("{occasion}\n{}\n", result.load);
        fs::write(Path::new(RESULTS).join(row.name), of)?;
    }
    skipped.iter().for_each(|why| println!("{why}"));
    println!("\n{}", table()?);
    match faults.is_empty() {
        true => Ok(()),
        false => bail!("machines fail:\n  {}", faults.join("\n  ")),
    }
}

/// The result of a machine.
struct Outcome {
    /// The program's version, as the machine reported it.
    version: Option<String>,
    /// The load of the host during the boot.
    load: f64,
    faults: Vec<String>,
}

/// Boots a machine and evaluates its reports; or returns why it cannot be booted.
fn measured(row: &Row, options: &Options) -> anyhow::Result<Result<Outcome, String>> {
    println!("\n{}: {}", row.name, row.what);
    let program = match (row.processor, &options.program, &options.arm_program) {
        (Processor::X86, Some(program), _) | (Processor::Arm, _, Some(program)) => program.clone(),
        (Processor::X86, ..) if cfg!(target_arch = "x86_64") => built_for_x86()?,
        (Processor::X86, ..) => {
            return Ok(Err("this machine builds no program for x86".to_owned()));
        }
        (Processor::Arm, ..) => match arm::missing()? {
            Some(why) => return Ok(Err(why)),
            None => built_for_arm()?,
        },
    };
    let image = match image::of(row)? {
        Ok(image) => image,
        Err(why) => return Ok(Err(why)),
    };
    let work = Path::new(WORK).join(row.name);
    fs::create_dir_all(&work)?;
    let _held = image::held(&work.with_extension("lock"))?;
    let _ = fs::remove_file(Path::new(RESULTS).join(row.name));
    fs::remove_dir_all(&work)?;
    fs::create_dir_all(&work)?;
    let work = std::path::absolute(work)?;
    let limit = STEP * (row.steps.len() as u32 + 1);
    let booted = boot::run(row, &image, &program, &work, limit)?;
    let (steps, is_done) = told::steps(&booted.told);
    let version = told::program(&booted.told).map(str::to_owned);
    let mut outcome = Outcome { version, load: booted.load, faults: Vec::new() };
    for step in &steps {
        outcome.faults.extend(step.faults().iter().map(|fault| format!("{}: {fault}", step.name)));
    }
    if !is_done {
        let console = work.join("console");
        outcome.faults.push(format!("it did not come to its end: see {}", console.display()));
    }
    // The copies of the disks are large, so they are removed.
    for disk in ["root", "disk", "spare", "job.tar"] {
        let _ = fs::remove_file(work.join(disk));
    }
    Ok(Ok(outcome))
}

/// A program that does not need any libraries of the machine.
fn built_for_x86() -> anyhow::Result<PathBuf> {
    const TRIPLE: &str = "x86_64-unknown-linux-gnu";
    let target = std::path::absolute("target/machines/build")?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--locked", "--quiet", "--package", "cryptbench"]);
    // With a separate target, the flags do not apply to programs that run during the build.
    cargo.args(["--target", TRIPLE]).env("RUSTFLAGS", STATIC).env("CARGO_TARGET_DIR", &target);
    built(cargo, &target.join(TRIPLE))
}

fn built_for_arm() -> anyhow::Result<PathBuf> {
    let mut cargo = arm::build("build", arm::QEMU);
    cargo.args(["--release", "--quiet", "--package", "cryptbench"]);
    built(cargo, &std::path::absolute("target/cross/aarch64-unknown-linux-gnu")?)
}

fn built(mut cargo: Command, target: &Path) -> anyhow::Result<PathBuf> {
    if !cargo.status().context("cannot start cargo")?.success() {
        bail!("the program does not build");
    }
    Ok(target.join("release/cryptbench"))
}

/// The program and the day. For a program that was specified, only its `version` is known, not its commit.
fn occasion(row: &Row, options: &Options, version: Option<&str>) -> anyhow::Result<String> {
    let given = match row.processor {
        Processor::X86 => &options.program,
        Processor::Arm => &options.arm_program,
    };
    let program = match given {
        Some(_) => version.unwrap_or("an unknown version").to_owned(),
        None => format!("commit {}", said("git", &["rev-parse", "--short", "HEAD"])?),
    };
    Ok(format!("{program}, {}", jiff::Zoned::now().date()))
}

/// The last result of each machine.
fn table() -> anyhow::Result<String> {
    let (mut lines, mut occasions, mut loads) = (String::new(), BTreeSet::new(), Vec::new());
    for row in ROWS {
        let result = match fs::read_to_string(Path::new(RESULTS).join(row.name)) {
            Ok(result) => result,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e.into()),
        };
        let mut result = result.lines();
        occasions.extend(result.next().map(str::to_owned));
        loads.extend(result.next().and_then(|load| load.parse::<f64>().ok()));
        let told = fs::read_to_string(Path::new(WORK).join(row.name).join("told"))?;
        for step in told::steps(&told).0 {
            lines += &format!("| {} | {} |\n", row.what, step.line());
        }
    }
    let version = said(X86, &["--version"]).unwrap_or_default();
    let least = loads.iter().copied().fold(f64::INFINITY, f64::min);
    let most = loads.iter().copied().fold(0.0, f64::max);
    Ok(format!(
        "{}. {}, which emulates each processor, on {}, whose load was {least:.1} to {most:.1}.\n\n\
         | machine | step | seconds | of the budget | systems | cells decided | lines | left | result | the kernel's warnings |\n\
         |---|---|---|---|---|---|---|---|---|---|\n{}",
        occasions.into_iter().collect::<Vec<_>>().join("; "),
        version.lines().next().unwrap_or_default(),
        crate::bench::machine(),
        lines.trim_end(),
    ))
}
