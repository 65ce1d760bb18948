//! Prints the speed of every PRF on every tier: thousands of iterations per second over all blocks
//! of a key, medians of short runs.
//!
//! `cargo run --release -p cryptbench-kdf --example kdf_speed [name part [key bytes [threads]]]`
#![allow(clippy::print_stdout)]

use std::time::Instant;

use cryptbench_kdf::{Effort, Prf, Tier, prfs};

const RUNS: usize = 9;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let part = arguments.next().unwrap_or_default();
    let bytes = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(192);
    let threads = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    println!("{bytes}-byte key, {threads} threads");
    println!(
        "PRF           tier    kernel                       k/s  k block/s  500,000 iterations"
    );
    for prf in prfs().iter().filter(|prf| prf.name.contains(&part)) {
        for tier in Tier::available() {
            let effort = Effort::new(tier, threads);
            let speed = median(prf, bytes, effort);
            println!(
                "{:<13} {tier:<7} {:<24} {:>8.1} {:>10.0} {:>9.0} ms",
                prf.name,
                prf.kernel(bytes, effort),
                speed / 1e3,
                speed * bytes.div_ceil(prf.output_bytes) as f64 / 1e3,
                500_000.0 / speed * 1e3
            );
        }
    }
}

fn median(prf: &Prf, bytes: usize, effort: Effort<'_>) -> f64 {
    let mut key = vec![0; bytes];
    let mut time = |iterations: u32| {
        let start = Instant::now();
        let derived = prf.pbkdf2(b"correct horse", &[7; 64], iterations, &mut key, effort);
        assert!(derived.is_ok(), "no stop, some iterations");
        start.elapsed().as_secs_f64()
    };
    let iterations = (0.02 / time(1000) * 1e3).max(1e3) as u32;
    let mut speeds: Vec<f64> =
        (0..RUNS).map(|_| f64::from(iterations) / time(iterations)).collect();
    speeds.sort_by(f64::total_cmp);
    speeds[RUNS / 2]
}
