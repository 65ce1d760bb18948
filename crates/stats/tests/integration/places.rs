//! The benefit of allocating the blocks of compared files alternately. If one region of the disk is faster than
//! another, it is so in every block of a run, and no number of blocks averages that away.
//!
//! `cargo test -p cryptbench-stats --test integration places -- --nocapture` prints the table of
//! docs/methodology.md.

#![expect(clippy::print_stdout, reason = "the table is for docs/methodology.md")]

use cryptbench_stats::{estimate, half_width};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// A disk of 64 GiB in parts of 64 MiB.
const DISK: usize = 1024;

/// A file of 1 GiB in such parts.
const FILE: usize = 16;

/// Number of blocks in a run.
const BLOCKS: usize = 20;

/// Noise of the difference in one block, log units: ±2 % over all blocks.
const SD: f64 = 0.043;

const EFFECT: f64 = -0.05;
const REPETITIONS: u64 = 2000;

/// How the files are placed, and whether the interval includes the effect of that.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Design {
    /// Each in one piece, at any position; the interval ignores positions.
    Apart,
    /// Each in one piece; the variance between four plain files in other positions is added to the interval.
    Controls,
    /// Alternating, part by part.
    InTurn,
}

/// Standard normal.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (rng.random_range(1e-12..1.0), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Log speed of each part, with the standard deviation `sd`; about `length` neighbouring parts are similar.
fn disk(rng: &mut ChaCha8Rng, sd: f64, length: f64) -> Vec<f64> {
    let alike = (-1.0 / length).exp();
    let mut level = normal(rng);
    (0..DISK)
        .map(|_| {
            level = alike * level + (1.0 - alike * alike).sqrt() * normal(rng);
            sd * level
        })
        .collect()
}

/// Mean over a file in one piece at a random position.
fn piece(rng: &mut ChaCha8Rng, disk: &[f64]) -> f64 {
    let start = rng.random_range(0..DISK - FILE);
    mean(&disk[start..start + FILE])
}

fn mean(values: &[f64]) -> f64 {
    cryptbench_stats::mean(values).expect("some")
}

/// Whether the 95 % interval of one run contains the truth, and its half-width.
fn run(design: Design, sd: f64, length: f64, seed: u64) -> (bool, f64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let disk = disk(&mut rng, sd, length);
    let (plain, other) = match design {
        Design::InTurn => {
            let start = rng.random_range(0..DISK - 2 * FILE);
            let part = |offset: usize| {
                mean(&(0..FILE).map(|i| disk[start + 2 * i + offset]).collect::<Vec<_>>())
            };
            (part(0), part(1))
        }
        _ => (piece(&mut rng, &disk), piece(&mut rng, &disk)),
    };
    let blocks = |rng: &mut ChaCha8Rng, of: f64, effect: f64| -> Vec<f64> {
        (0..BLOCKS).map(|_| effect + of - plain + SD * normal(rng)).collect()
    };
    let d = blocks(&mut rng, other, EFFECT);
    let found = estimate(&d, 0.95).unwrap();
    let half = match design {
        Design::Controls => {
            let controls: Vec<f64> = (0..4)
                .map(|_| {
                    let place = piece(&mut rng, &disk);
                    mean(&blocks(&mut rng, place, 0.0))
                })
                .collect();
            // The variance between two files in different positions: twice the variance of one, with three degrees
            // of freedom. It includes the noise of the controls' means.
            let between = estimate(&controls, 0.95).unwrap();
            let t = half_width(&controls, 0.95).unwrap() / (between.sd / 2.0);
            let noise = half_width(&d, 0.95).unwrap();
            noise.hypot(t * between.sd * 2.0_f64.sqrt())
        }
        _ => half_width(&d, 0.95).unwrap(),
    };
    ((found.mean - EFFECT).abs() <= half, half)
}

#[test]
fn files_in_turn_need_no_wider_interval() {
    println!("| places differ by | alike over | apart | with 4 controls | in turn |");
    println!("|---|---|---|---|---|");
    for sd in [0.0, 0.01, 0.025] {
        for length in [1.0, 16.0, 256.0] {
            let designs = [Design::Apart, Design::Controls, Design::InTurn];
            let found = designs.map(|design| {
                let runs: Vec<_> =
                    (0..REPETITIONS).map(|seed| run(design, sd, length, seed)).collect();
                let held = runs.iter().filter(|(held, _)| *held).count() as f64;
                (held / REPETITIONS as f64, mean(&runs.iter().map(|r| r.1).collect::<Vec<_>>()))
            });
            let cell =
                |(held, half): (f64, f64)| format!("{:.1} / ±{:.1}", held * 100.0, half * 100.0);
            println!(
                "| {:.1} % | {:.0} MiB | {} | {} | {} |",
                sd * 100.0,
                length * 64.0,
                cell(found[0]),
                cell(found[1]),
                cell(found[2])
            );
            let [apart, controls, in_turn] = found;
            assert!((0.91..=0.975).contains(&in_turn.0), "{sd} {length}: {in_turn:?}");
            assert!(controls.1 > 1.5 * in_turn.1, "{sd} {length}: {controls:?}");
            if sd > 0.02 && length > 10.0 {
                assert!(
                    apart.0 < 0.8,
                    "the simulation sees what it is for: {sd} {length} {apart:?}"
                );
            }
        }
    }
}
