//! Whole runs over simulated storage, from the schedule to the verdict: how reliable the printed
//! words are.
//!
//! No part of the method is repeated here: the runner drives the blocks and decides when to stop,
//! and the report judges. `cargo test -p cryptbench-runner --test integration simulated_verdicts --
//! --nocapture` prints the tables of docs/methodology.md. The seeds are fixed, so the output is
//! reproducible.

#![expect(clippy::print_stdout, reason = "the tables are for docs/methodology.md")]

#[path = "simulated_verdicts/run.rs"]
mod run;
#[path = "../../../stats/tests/integration/simulation/storage.rs"]
mod storage;

use std::fmt::Write as _;

use cryptbench_record::Verdict;
use run::{Scenario, run};
use storage::{DISTURBANCES, Disturbance};

/// All models of noise.
fn all() -> impl Iterator<Item = Disturbance> {
    DISTURBANCES.into_iter().chain([Disturbance::Bursts, Disturbance::Everything])
}

/// Disturbances under which an interval may be wider than necessary. A drift within the block as
/// steep as the noise cancels from the mean, but not from the spread.
fn may_be_wide(disturbance: Disturbance) -> bool {
    disturbance == Disturbance::LinearDrift(1.0)
}

/// The results of many runs of one scenario.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    runs: f64,
    cells: f64,
    /// Cells whose interval contains the truth.
    held: f64,
    /// Pairs over all cells.
    pairs: f64,
    /// Runs with at least one cell with a cost, and with one with a cost or a gain.
    any_costs: f64,
    any_claimed: f64,
    /// Runs whose first workload has a cost.
    first_costs: f64,
    /// Cells other than the first that are equivalent.
    equivalent: f64,
}

impl Tally {
    /// Runs `scenario` with its own seeds.
    fn of(scenario: &Scenario, runs: u32) -> Self {
        let mut tally = Self::default();
        // FNV-1a, 64 bits, so that luck in one scenario is independent of luck in the next.
        let name = format!("{scenario:?}");
        let base = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        for seed in 0..u64::from(runs) {
            let found = run(scenario, base.wrapping_add(seed));
            let costs = |v: &Verdict| matches!(v, Verdict::Costs { .. });
            let gains = |v: &Verdict| matches!(v, Verdict::Gains { .. });
            let count = |test: &dyn Fn(&run::Found) -> bool| {
                found.iter().filter(|f| test(f)).count() as f64
            };
            tally.runs += 1.0;
            tally.cells += found.len() as f64;
            tally.held += count(&|f| f.held);
            tally.pairs += found.iter().map(|f| f64::from(f.pairs)).sum::<f64>();
            let (costly, gaining) = (count(&|f| costs(&f.verdict)), count(&|f| gains(&f.verdict)));
            tally.any_costs += f64::from(costly > 0.0);
            tally.any_claimed += f64::from(costly + gaining > 0.0);
            tally.first_costs += f64::from(costs(&found[0].verdict));
            tally.equivalent += found[1..]
                .iter()
                .filter(|f| matches!(f.verdict, Verdict::Equivalent { .. }))
                .count() as f64;
        }
        tally
    }

    fn plus(self, other: Self) -> Self {
        Self {
            runs: self.runs + other.runs,
            cells: self.cells + other.cells,
            held: self.held + other.held,
            pairs: self.pairs + other.pairs,
            any_costs: self.any_costs + other.any_costs,
            any_claimed: self.any_claimed + other.any_claimed,
            first_costs: self.first_costs + other.first_costs,
            equivalent: self.equivalent + other.equivalent,
        }
    }

    fn coverage(&self) -> f64 {
        self.held / self.cells
    }

    /// Two standard errors of a simulated coverage of 97 %.
    fn doubt(&self) -> f64 {
        2.0 * (0.97 * 0.03 / self.cells).sqrt()
    }
}

/// Rows of a Markdown table, printed in one piece because tests run in parallel.
struct Table(String);

impl Table {
    fn new(title: &str, columns: &[String]) -> Self {
        let rule = "---|".repeat(columns.len());
        Self(format!("\n### {title}\n\n| {} |\n|{rule}\n", columns.join(" | ")))
    }

    fn row(&mut self, label: &str, cells: &[String]) {
        writeln!(self.0, "| {label} | {} |", cells.join(" | ")).expect("a string");
    }

    fn print(&self) {
        println!("{}", self.0);
    }
}

fn columns(first: &str, sds: &[f64], more: &[&str]) -> Vec<String> {
    let sds = sds.iter().map(|sd| format!("{:.0} %", sd * 100.0));
    let more = more.iter().map(|c| (*c).to_owned());
    std::iter::once(first.to_owned()).chain(sds).chain(more).collect()
}

/// A block that is split into slices: intervals stay correct although neighbouring slices share disturbances and
/// affect each other.
#[test]
fn intervals_of_slices_cover() {
    let nightly = std::env::var("CRYPTBENCH_TEST_TIER").is_ok_and(|tier| tier == "nightly");
    let (runs, carry_overs) = match nightly {
        // Enough runs that two standard errors of a coverage are 0.8 %.
        true => (400, vec![0.0, 0.02, 0.10]),
        false => (10, vec![0.0, 0.10]),
    };
    let mut off = Vec::new();
    let mut table = Table::new(
        &format!(
            "8 workloads that lose 15 %, 8 slices a trial, noise of a slice 10 %, 25 pairs: coverage; {runs} runs per cell"
        ),
        &std::iter::once("behind a slice of the encrypted arm".to_owned())
            .chain(carry_overs.iter().map(|c| format!("-{:.0} %", c * 100.0)))
            .collect::<Vec<_>>(),
    );
    let mut total = Tally::default();
    for disturbance in all() {
        let mut cells = Vec::new();
        for &carry_over in &carry_overs {
            let scenario = Scenario {
                disturbance,
                sd: 0.10,
                loss: 0.15,
                max_pairs: 25,
                slices: 8,
                carry_over,
                ..Scenario::default()
            };
            let tally = Tally::of(&scenario, runs);
            cells.push(format!("{:.1} %", tally.coverage() * 100.0));
            let not_too_wide = may_be_wide(disturbance) || tally.coverage() < 0.97 + tally.doubt();
            if tally.coverage() <= 0.93 || !not_too_wide {
                off.push(format!("{disturbance:?}, {carry_over}: {:.3}", tally.coverage()));
            }
            total = total.plus(tally);
        }
        table.row(&format!("{disturbance:?}"), &cells);
    }
    table.print();
    assert!(!nightly || off.is_empty(), "{off:?}");
    assert!((0.93..0.97).contains(&total.coverage()), "{:.3}", total.coverage());
}

/// Plain storage as the encrypted arm: intervals contain 0, and nothing is called a cost.
#[test]
fn intervals_cover_and_plain_storage_does_not_look_encrypted() {
    let sds = [0.01, 0.03, 0.10];
    let runs = 100;
    for (title, max_pairs, budget_s) in [
        ("at most 25 pairs", 25, 1e9),
        // A round consists of 24 trials of a quarter of a second each, after as many discarded trials: 9 rounds.
        ("until the budget is used up", 200, 60.0),
    ] {
        let mut table = Table::new(
            &format!("A/A, 8 workloads, {title}: coverage / mean pairs; {runs} runs per cell"),
            &columns("noise of a trial", &sds, &["all", "runs with a false cost", "or a gain"]),
        );
        let mut total = Tally::default();
        for disturbance in all() {
            let mut sum = Tally::default();
            let mut cells = Vec::new();
            for sd in sds {
                let scenario =
                    Scenario { disturbance, sd, max_pairs, budget_s, ..Scenario::default() };
                let tally = Tally::of(&scenario, runs);
                cells.push(format!(
                    "{:.1} / {:.1}",
                    100.0 * tally.coverage(),
                    tally.pairs / tally.cells
                ));
                sum = sum.plus(tally);
            }
            cells.push(format!("{:.1}", 100.0 * sum.coverage()));
            cells.push(format!("{:.1} %", 100.0 * sum.any_costs / sum.runs));
            cells.push(format!("{:.1} %", 100.0 * sum.any_claimed / sum.runs));
            table.row(&format!("{disturbance:?}"), &cells);
            assert!(sum.coverage() >= 0.93, "{disturbance:?}: {sum:?}");
            let most = 0.97 + sum.doubt();
            assert!(sum.coverage() <= most || may_be_wide(disturbance), "{disturbance:?}: {sum:?}");
            assert!(sum.any_claimed <= 0.05 * sum.runs, "{disturbance:?}: {sum:?}");
            total = total.plus(sum);
        }
        table.print();
        assert!(total.any_claimed <= 0.02 * total.runs, "{total:?}");
    }
}

/// A loss of a tenth, with the encrypted arm noisier than plain: the interval is around the loss,
/// not around 0.
#[test]
fn intervals_cover_a_loss_under_noise_of_its_own() {
    let sds = [0.01, 0.03, 0.10];
    let runs = 40;
    let mut table = Table::new(
        "A loss of 10 % in all workloads, encrypted trials twice as noisy, at most 25 pairs: coverage",
        &columns("noise of a trial", &sds, &["all"]),
    );
    for disturbance in all() {
        let mut sum = Tally::default();
        let mut cells = Vec::new();
        for sd in sds {
            let scenario = Scenario {
                disturbance,
                sd,
                encrypted_noise: 2.0,
                loss: 0.10,
                max_pairs: 25,
                ..Scenario::default()
            };
            let tally = Tally::of(&scenario, runs);
            cells.push(format!("{:.1}", 100.0 * tally.coverage()));
            sum = sum.plus(tally);
        }
        cells.push(format!("{:.1}", 100.0 * sum.coverage()));
        table.row(&format!("{disturbance:?}"), &cells);
        assert!(sum.coverage() >= 0.93, "{disturbance:?}: {sum:?}");
        let most = 0.97 + sum.doubt();
        assert!(sum.coverage() <= most || may_be_wide(disturbance), "{disturbance:?}: {sum:?}");
    }
    table.print();
}

/// One workload of eight loses 3 %, with noise of 2 %.
#[test]
fn the_loss_that_was_asked_for_is_found() {
    let sds = [0.01, 0.02, 0.03];
    let runs = 50;
    let mut table = Table::new(
        &format!(
            "One workload of 8 loses 3 %, cap of 200 pairs: found / mean pairs / others called \
             equivalent; {runs} runs per cell"
        ),
        &columns("`--precision`", &sds, &[]),
    );
    for precision in [0.06, 0.04, 0.03] {
        let mut cells = Vec::new();
        for sd in sds {
            let scenario = Scenario { sd, loss: 0.03, losing: 1, precision, ..Scenario::default() };
            let tally = Tally::of(&scenario, runs);
            let found = tally.first_costs / tally.runs;
            cells.push(format!(
                "{:.0} % / {:.1} / {:.0} %",
                100.0 * found,
                tally.pairs / tally.cells,
                100.0 * tally.equivalent / (tally.cells - tally.runs),
            ));
            if precision == 0.03 {
                assert!(found >= 0.9, "{scenario:?}: {tally:?}");
                assert!(
                    tally.equivalent >= 0.9 * (tally.cells - tally.runs),
                    "{scenario:?}: {tally:?}"
                );
            }
        }
        table.row(&format!("{:.1} %", precision * 100.0), &cells);
    }
    table.print();
}
