//! Runs one job against an existing file or device and prints one line of JSON.
//!
//! `engine FILE --op read --pattern random --bs 4096 --qd 32 --seconds 2 [--threads 4] [--engine threads]`
//!
//! Writing overwrites FILE. The extent is the whole file. I/O is direct unless `--buffered` is
//! given.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Parser;
use cryptbench_blockdev::{Extent, IoMode, IoTarget, SectorTransform};
use cryptbench_load::{Amount, Direction, Engine, EngineChoice, Job, Operation, Pattern};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

#[derive(Parser)]
struct Arguments {
    /// File or block device.
    file: PathBuf,
    #[arg(long, value_parser = ["read", "write", "mixed"], default_value = "read")]
    op: String,
    #[arg(
        long,
        value_parser = ["sequential", "random", "zipf", "permutation", "backward", "same"],
        default_value = "random"
    )]
    pattern: String,
    /// Bytes per request.
    #[arg(long, default_value_t = 4096)]
    bs: u64,
    #[arg(long, default_value_t = 1)]
    qd: u32,
    #[arg(long, default_value_t = 1)]
    threads: u32,
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    #[arg(long, default_value_t = 0.2)]
    ramp: f64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, value_parser = ["auto", "io_uring", "polled", "threads"], default_value = "auto")]
    engine: String,
    /// Use the page cache.
    #[arg(long)]
    buffered: bool,
    /// Add an inline layer that copies the data and does not change it.
    #[arg(long)]
    null_layer: bool,
    /// Fill the file first.
    #[arg(long)]
    prefill: bool,
}

/// Costs the same as an inline layer without its cipher.
struct NullLayer;

impl SectorTransform for NullLayer {
    fn unit(&self) -> usize {
        512
    }

    fn seal(&self, _: u64, plain: &[u8], stored: &mut [u8]) {
        stored.copy_from_slice(plain);
    }

    fn open(&self, _: u64, _: &mut [u8]) {}
}

fn io_target(a: &Arguments) -> Fallible<IoTarget> {
    let flags = if a.buffered { 0 } else { rustix::fs::OFlags::DIRECT.bits() };
    let mut file =
        OpenOptions::new().read(true).write(true).custom_flags(flags as i32).open(&a.file)?;
    let len = file.seek(SeekFrom::End(0))?;
    let null_layer = || Arc::new(NullLayer) as Arc<dyn SectorTransform>;
    Ok(IoTarget {
        file: Arc::new(file),
        extent: Extent { offset: 0, len },
        mode: if a.buffered { IoMode::Buffered } else { IoMode::Direct },
        transform: a.null_layer.then(null_layer),
    })
}

fn direction(name: &str) -> Direction {
    match name {
        "write" => Operation::Write.into(),
        "mixed" => Direction::Mixed { read_percent: 70 },
        _ => Operation::Read.into(),
    }
}

fn pattern(name: &str) -> Pattern {
    match name {
        "sequential" => Pattern::Sequential,
        "zipf" => Pattern::Zipf { theta: 1.1 },
        "permutation" => Pattern::Permutation,
        "backward" => Pattern::Backward,
        "same" => Pattern::Same,
        _ => Pattern::Random,
    }
}

#[expect(clippy::print_stdout, reason = "printing is its purpose")]
fn main() -> Fallible<()> {
    let a = Arguments::parse();
    let choice = match a.engine.as_str() {
        "io_uring" => EngineChoice::Uring,
        "polled" => EngineChoice::Polled,
        "threads" => EngineChoice::Threads,
        _ => EngineChoice::Auto,
    };
    let (mut engine, fallback) = Engine::open(choice)?;
    let io_target = io_target(&a)?;
    let stop = AtomicBool::new(false);
    if a.prefill {
        engine.prefill(&io_target, a.seed, &stop, &mut |_| ())?;
    }
    let job = Job {
        amount: Amount::Time {
            ramp: Duration::try_from_secs_f64(a.ramp)?,
            duration: Duration::try_from_secs_f64(a.seconds)?,
        },
        threads: a.threads,
        seed: a.seed,
        generation: 1,
        ..Job::new(direction(&a.op), pattern(&a.pattern), a.bs, a.qd)
    };
    let m = engine.run(&io_target, &job, &stop)?;
    let (elapsed, cpu, ios) = (m.elapsed.as_secs_f64(), m.cpu.as_secs_f64(), m.ios as f64);
    let us = |ns: u64| ns as f64 / 1000.0;
    let line = serde_json::json!({
        "engine": engine.name(),
        "details": engine.details(),
        "fallback": fallback,
        "elapsed_s": elapsed,
        "ios": m.ios,
        "mb_per_s": m.bytes as f64 / elapsed / 1e6,
        "iops": ios / elapsed,
        "cpu_s": cpu,
        "cpu_us_per_io": cpu * 1e6 / ios,
        "iops_per_cpu_s": ios / cpu,
        "p50_us": us(m.latency.value_at_quantile(0.5)),
        "p99_us": us(m.latency.value_at_quantile(0.99)),
        "submission_p50_us": us(m.submission.value_at_quantile(0.5)),
        "completion_p50_us": us(m.completion.value_at_quantile(0.5)),
    });
    println!("{line}");
    Ok(())
}
