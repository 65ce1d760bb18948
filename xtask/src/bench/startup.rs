//! Measures how long `cryptbench --version` takes, compared with a program that does nothing, and the size of
//! the binary.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::bail;
use cryptbench_stats::quantile;

use super::{build_release, machine, version};

/// The promised time in milliseconds.
const PROMISED: f64 = 10.0;

#[derive(clap::Args)]
pub struct Options {
    /// Starts of each program, in turn
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(5..))]
    starts: u32,
    /// Measure this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let binary = match &options.binary {
        Some(binary) => std::path::absolute(binary)?,
        None => build_release(&["--package", "cryptbench"])?.join("cryptbench"),
    };
    let programs = [binary.display().to_string(), "/bin/true".to_owned()];
    let mut times = [Vec::new(), Vec::new()];
    for program in &programs {
        start(program)?;
    }
    for _ in 0..options.starts {
        for (program, times) in programs.iter().zip(&mut times) {
            times.push(start(program)?);
        }
    }
    println!("{}; {}", machine(), version(&programs[0]).unwrap_or_default());
    println!("median of {} starts with --version (quartiles), milliseconds:", options.starts);
    for (program, times) in programs.iter().zip(&times) {
        let at = |q: f64| quantile(times, q).unwrap_or(f64::NAN);
        println!("{program}: {:.2} ({:.2} to {:.2})", at(0.5), at(0.25), at(0.75));
    }
    let bytes = std::fs::metadata(&binary)?.len();
    println!("size: {:.1} MiB", bytes as f64 / f64::from(1u32 << 20));
    let median = quantile(&times[0], 0.5).unwrap_or(f64::NAN);
    if median.is_nan() || median > PROMISED {
        bail!("{median:.2} ms are more than the promised {PROMISED} ms");
    }
    Ok(())
}

/// Milliseconds from fork to exit.
fn start(program: &str) -> anyhow::Result<f64> {
    let began = Instant::now();
    let status = Command::new(program).arg("--version").stdout(Stdio::null()).status()?;
    let taken = began.elapsed().as_secs_f64() * 1e3;
    if !status.success() {
        bail!("{program} --version failed");
    }
    Ok(taken)
}
