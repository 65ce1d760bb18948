//! Prints the coverage of the intervals and the error rates of the verdicts: the tables of
//! docs/methodology.md and more.
//!
//! `cargo run --release -p cryptbench-stats --example coverage [repetitions]` (default: 4,000).

#![expect(clippy::print_stdout, reason = "printing is its purpose")]

#[path = "../tests/integration/simulation/mod.rs"]
mod simulation;

use cryptbench_stats::{FAMILY_LEVEL, StoppingRule, half_width};
use simulation::{DISTURBANCES, Measured, Scenario, coverage, measure, measure_by_rule, verdicts};

const SDS: [f64; 7] = [0.01, 0.02, 0.03, 0.04, 0.05, 0.10, 0.20];

/// Numbers of pairs that a run of two minutes can reach, and the default cap.
const CAPS: [u32; 3] = [10, 25, 200];

fn main() {
    let repetitions = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(4000);
    let rule = StoppingRule::default();
    println!("{rule:?}; claims at a family-wise level of {FAMILY_LEVEL}");
    intervals(&rule, repetitions);
    other_rules(&rule, repetitions);
    false_positives(&rule, repetitions / 5);
    power(repetitions / 5);
}

fn intervals(rule: &StoppingRule, repetitions: u32) {
    println!("\n## Coverage of the 95 % t interval, percent / mean number of pairs");
    println!("\n{repetitions} repetitions per cell.");
    for (title, second_plain, encrypted_noise, caps) in [
        ("P, P' and E", true, 1.0, &CAPS[..]),
        ("P, P' and E, E twice as noisy", true, 2.0, &CAPS[1..2]),
        ("P and E", false, 1.0, &CAPS[2..]),
    ] {
        for &max_pairs in caps {
            heading(&format!("{title}, at most {max_pairs} pairs"), &SDS);
            let rule = StoppingRule { max_pairs, ..*rule };
            for disturbance in DISTURBANCES {
                row(&format!("{disturbance:?}"), &SDS, |sd| {
                    let scenario =
                        Scenario { disturbance, second_plain, encrypted_noise, ..losing(sd) };
                    covered(coverage(&scenario, repetitions, |s, seed| {
                        measure_by_rule(s, seed, &rule)
                    }))
                });
            }
        }
    }
}

fn other_rules(rule: &StoppingRule, repetitions: u32) {
    heading("Other rules, independent noise, P and E", &SDS);
    let pair = |sd| Scenario { second_plain: false, ..losing(sd) };
    for min_pairs in [3, 5, 6] {
        row(&format!("first narrow interval, min {min_pairs}"), &SDS, |sd| {
            covered(coverage(&pair(sd), repetitions, |s, seed| {
                measure(s, seed, 200, |m| narrow(m, min_pairs))
            }))
        });
    }
    for min_pairs in [5, 6, 8] {
        let rule = StoppingRule { min_pairs, ..*rule };
        row(&format!("this rule, min {min_pairs}"), &SDS, |sd| {
            covered(coverage(&pair(sd), repetitions, |s, seed| measure_by_rule(s, seed, &rule)))
        });
    }
}

fn false_positives(rule: &StoppingRule, runs: u32) {
    let sds = [0.01, 0.03, 0.10, 0.20];
    println!("\n## Runs of 8 workloads in which the encrypted arms are plain storage as well");
    println!("\nPercent of runs with any claim of a cost or gain / with any cell inconclusive.");
    for (encrypted_arms, max_pairs, runs) in
        [(1, 10, runs), (1, 25, runs), (1, 200, runs / 4), (4, 10, runs), (4, 25, runs)]
    {
        heading(
            &format!("{encrypted_arms} arm(s), at most {max_pairs} pairs, {runs} runs per cell"),
            &sds,
        );
        let rule = StoppingRule { max_pairs, ..*rule };
        for disturbance in DISTURBANCES {
            row(&format!("{disturbance:?}"), &sds, |sd| {
                let scenario = Scenario { disturbance, sd, encrypted_arms, ..Scenario::default() };
                let found = verdicts(&scenario, runs, 8, |s, seed| measure_by_rule(s, seed, &rule));
                percents(&[found.any_claimed, found.any_inconclusive])
            });
        }
    }
}

/// One workload of 8 has a loss and the others have none; the number of pairs is fixed.
fn power(runs: u32) {
    let sds = [0.01, 0.02, 0.05, 0.10, 0.20];
    println!("\n## Verdict on a workload with a true loss, one of 8; {runs} runs per cell");
    println!(
        "\nPercent called: costs / equivalent within 3 % / within noise / the last, and the interval"
    );
    println!("excludes 0.");
    for pairs in [10, 25, 100] {
        heading(&format!("{pairs} pairs, independent noise"), &sds);
        for loss in [0.0, 0.03, 0.05, 0.10, 0.20] {
            row(&format!("{:.0} %", loss * 100.0), &sds, |sd| {
                let scenario = Scenario { sd, effect: f64::ln_1p(-loss), ..Scenario::default() };
                let found =
                    verdicts(&scenario, runs, 8, |s, seed| measure(s, seed, pairs, |_| false));
                percents(&[
                    found.costs,
                    found.equivalent,
                    found.within_noise,
                    found.within_noise_not_zero,
                ])
            });
        }
    }
}

/// A loss of 14 % (0.15 in log units): coverage must not depend on its size.
fn losing(sd: f64) -> Scenario {
    Scenario { sd, effect: -0.15, ..Scenario::default() }
}

/// The naive rule: stops at the first interval that is narrow enough.
fn narrow(measured: &Measured, min_pairs: usize) -> bool {
    let d = &measured.encrypted[0];
    d.len() >= min_pairs && half_width(d, 0.95).is_some_and(|found| found <= 1.03_f64.ln())
}

fn heading(title: &str, sds: &[f64]) {
    println!("\n### {title}\n");
    let columns: Vec<String> = sds.iter().map(|sd| format!("{:.0} %", sd * 100.0)).collect();
    println!("| noise, sd of one trial | {} |", columns.join(" | "));
    println!("|---|{}", "---|".repeat(sds.len()));
}

fn row(label: &str, sds: &[f64], cell: impl Fn(f64) -> String) {
    let cells: Vec<String> = sds.iter().map(|&sd| cell(sd)).collect();
    println!("| {label} | {} |", cells.join(" | "));
}

fn covered((held, pairs): (f64, f64)) -> String {
    format!("{:.1} / {pairs:.1}", held * 100.0)
}

fn percents(shares: &[f64]) -> String {
    let shares: Vec<String> = shares.iter().map(|share| format!("{:.1}", share * 100.0)).collect();
    shares.join(" / ")
}
