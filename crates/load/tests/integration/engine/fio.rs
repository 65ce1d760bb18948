//! Runs the same job with fio and with our engines. The bound is wide: only a factor of two fails,
//! on any machine. `cargo xtask bench engine` compares precisely.

use std::process::Command;
use std::time::Duration;

use cryptbench_load::{Amount, Engine, Job, Operation, Pattern};

use crate::engine::GO;
use crate::engine::storage::{engines, scratch_in};

const LEN: u64 = 16 << 20;
const ROUNDS: usize = 3;
const TIME: Duration = Duration::from_millis(100);

/// Requests per second, or `None` without fio.
fn by_fio(path: &str, engine: &str, job: &Job, direct: bool) -> Option<f64> {
    let (rw, side) = match job.direction.as_str() {
        "read" => ("randread", "read"),
        _ => ("randwrite", "write"),
    };
    // fio's synchronous engine has no queue, and prints a warning within its JSON if asked for one.
    let depth = if engine == "psync" { 1 } else { job.queue_depth };
    let out = Command::new("fio")
        .args(["--name=job", "--output-format=json", "--time_based", "--randrepeat=0"])
        .args(["--norandommap", "--thread", "--allow_file_create=0"])
        .arg(format!("--ioengine={engine}"))
        .arg(format!("--filename={path}"))
        .arg(format!("--direct={}", u8::from(direct)))
        .arg(format!("--size={LEN}"))
        .arg(format!("--rw={rw}"))
        .arg(format!("--bs={}", job.block_size))
        .arg(format!("--iodepth={depth}"))
        .arg(format!("--runtime={}ms", TIME.as_millis()))
        .output();
    let out = match out {
        Ok(out) if out.status.success() => out,
        Ok(out) => {
            eprintln!("SKIPPED: fio: {}", String::from_utf8_lossy(&out.stderr).trim());
            return None;
        }
        Err(e) => {
            eprintln!("SKIPPED: fio: {e}");
            return None;
        }
    };
    let told: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    told["jobs"][0][side]["iops"].as_f64()
}

fn ours(engine: &mut Engine, io_target: &cryptbench_blockdev::IoTarget, job: &Job) -> f64 {
    let m = engine.run(io_target, job, &GO).unwrap();
    m.ios as f64 / m.elapsed.as_secs_f64()
}

fn median(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v[v.len() / 2]
}

#[test]
fn rates_agree_within_a_factor_of_two() {
    for mut engine in engines() {
        // In memory if possible: the speed of a shared disk varies by more than the bound.
        let memory = std::path::Path::new("/dev/shm").is_dir();
        // In memory our rings carry out each request at once, as fio does with positioned reads and
        // writes; fio's rings hand it to a kernel thread.
        let threads = engine.name() == "threads";
        let theirs_is = if threads || memory { "psync" } else { "io_uring" };
        for (operation, depth) in
            [(Operation::Read, 1), (Operation::Write, 1), (Operation::Read, 16)]
        {
            // fio's synchronous engine has no queue to compare with.
            if theirs_is == "psync" && depth > 1 {
                continue;
            }
            let disk = std::env::temp_dir();
            let place = if memory { std::path::Path::new("/dev/shm") } else { &disk };
            let io_target = scratch_in(place, LEN, None);
            engine.prefill(&io_target, 1, &GO, &mut |_| ()).unwrap();
            let fd = std::os::fd::AsRawFd::as_raw_fd(&*io_target.file);
            let path = format!("/proc/{}/fd/{fd}", std::process::id());
            let direct = io_target.mode == cryptbench_blockdev::IoMode::Direct;
            let job = Job {
                amount: Amount::Time { ramp: Duration::ZERO, duration: TIME },
                ..Job::new(operation, Pattern::Random, 4096, depth)
            };
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                let Some(theirs) = by_fio(&path, theirs_is, &job, direct) else { return };
                a.push(theirs);
                b.push(ours(&mut engine, &io_target, &job));
            }
            let (theirs, ours) = (median(a), median(b));
            let ratio = ours / theirs;
            assert!(
                (0.5..2.0).contains(&ratio),
                "{} {operation} QD{depth}: ours {ours:.0}, fio {theirs:.0} per second",
                engine.name()
            );
        }
    }
}
