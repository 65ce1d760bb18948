//! Prints what the intervals and verdicts are worth under the stopping rule: the tables of COVERAGE.md.
//!
//! `cargo run --release -p cryptbench-stats --example coverage [repetitions]` (10,000 unless told).

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

#[path = "../tests/simulation/mod.rs"]
mod simulation;

use cryptbench_stats::{StoppingRule, half_width};
use simulation::{
    DISTURBANCES, Disturbance, Measured, Scenario, coverage, measure, measure_by_rule, verdicts,
};

const SDS: [f64; 7] = [0.005, 0.01, 0.02, 0.03, 0.05, 0.10, 0.20];

fn main() {
    let repetitions = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let rule = StoppingRule::default();
    println!("{repetitions} repetitions per cell; {rule:?}");
    println!("Cells: coverage of the 95 % t interval, percent / mean number of pairs.");
    for (title, second_plain, encrypted_noise) in [
        ("P and E, no noise floor", false, 1.0),
        ("P, P' and E", true, 1.0),
        ("P, P' and E, E twice as noisy", true, 2.0),
    ] {
        heading(title);
        for disturbance in DISTURBANCES {
            row(&format!("{disturbance:?}"), |sd| {
                let scenario =
                    Scenario { disturbance, sd, encrypted_noise, second_plain, effect: -0.15 };
                coverage(&scenario, repetitions, |s, seed| measure_by_rule(s, seed, &rule))
            });
        }
    }
    heading("Other rules, independent noise, P and E, no noise floor");
    for min_pairs in [3, 5, 6] {
        row(&format!("first narrow interval, min {min_pairs}"), |sd| {
            coverage(&plain_pair(sd), repetitions, |s, seed| {
                measure(s, seed, 200, |m| narrow(m, min_pairs))
            })
        });
    }
    for min_pairs in [5, 6, 8] {
        let rule = StoppingRule { min_pairs, ..rule };
        row(&format!("this rule, min {min_pairs}"), |sd| {
            coverage(&plain_pair(sd), repetitions, |s, seed| measure_by_rule(s, seed, &rule))
        });
    }
    judge(&rule, repetitions / 5);
}

/// Prints how often runs of 8 workloads find a difference, where there is none and where there is one.
fn judge(rule: &StoppingRule, runs: u32) {
    let sds = [0.01, 0.03, 0.10];
    println!("\n### False positives: {runs} runs of 8 workloads, E is plain storage as well\n");
    println!("Cells: percent of runs with any verdict of a difference / with any Holm p < 0.05.\n");
    println!("| noise, sd of one trial | 1 % | 3 % | 10 % |\n|---|---|---|---|");
    for disturbance in DISTURBANCES {
        let cells = sds.map(|sd| {
            let v = verdicts(&with_floor(disturbance, sd, 0.0), rule, runs, 8);
            format!("{:.1} / {:.1}", v.any_differs * 100.0, v.any_significant * 100.0)
        });
        println!("| {disturbance:?} | {} |", cells.join(" | "));
    }
    println!("\n### Power: percent of workloads (of 8 per run) with a verdict of a difference\n");
    println!("| true loss, independent noise | 1 % | 3 % | 10 % |\n|---|---|---|---|");
    for loss in [0.02, 0.05, 0.10, 0.20, 0.50] {
        let cells = sds.map(|sd| {
            let scenario = with_floor(Disturbance::Independent, sd, f64::ln_1p(-loss));
            format!("{:.1}", verdicts(&scenario, rule, runs, 8).differs * 100.0)
        });
        println!("| {:.0} % | {} |", loss * 100.0, cells.join(" | "));
    }
}

fn with_floor(disturbance: Disturbance, sd: f64, effect: f64) -> Scenario {
    Scenario { disturbance, sd, encrypted_noise: 1.0, second_plain: true, effect }
}

fn plain_pair(sd: f64) -> Scenario {
    Scenario {
        disturbance: Disturbance::Independent,
        sd,
        encrypted_noise: 1.0,
        second_plain: false,
        effect: -0.15,
    }
}

/// The naive rule: stop at the first interval that is narrow enough.
fn narrow(measured: &Measured, min_pairs: usize) -> bool {
    measured.encrypted.len() >= min_pairs
        && half_width(&measured.encrypted, 0.95).is_some_and(|found| found <= 1.03_f64.ln())
}

fn heading(title: &str) {
    println!("\n### {title}\n");
    let columns: Vec<String> = SDS.iter().map(|sd| format!("{} %", sd * 100.0)).collect();
    println!("| noise, sd of one trial | {} |", columns.join(" | "));
    println!("|---|{}", "---|".repeat(SDS.len()));
}

fn row(label: &str, cell: impl Fn(f64) -> (f64, f64)) {
    let cells: Vec<String> = SDS
        .iter()
        .map(|&sd| {
            let (held, pairs) = cell(sd);
            format!("{:.1} / {pairs:.1}", held * 100.0)
        })
        .collect();
    println!("| {label} | {} |", cells.join(" | "));
}
