//! Bursts of other work that pairing does not remove, since one of the two arms feels them more: what is claimed of them.
//!
//! `cargo test -p cryptbench-estimate --test integration bursts -- --nocapture` prints the shares.

#![expect(clippy::print_stdout, reason = "shares of false claims, to be read")]

use cryptbench_estimate::cells::{arm_cells, cells};
use cryptbench_estimate::comparison::compare;
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Accounting, ArmRole, Record, Trial, Uncounted, Verdict};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::fixture::Fixture;

const ARM: &str = "builtin/aes-256-xts-512-b";
const RUNS: u64 = 150;

/// Whose trials a burst slows; all trials that it meets wait.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hits {
    Plain,
    Encrypted,
    All,
}

/// A run in which the arm keeps `ratio` of plain speed in all workloads, with one burst of random length, place and force.
fn run(seed: u64, hits: Hits, ratio: f64) -> Record {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0xb0b5);
    let blocks = [5, 6, 12][random.random_range(0..3)];
    let fixture =
        Fixture { seed, blocks, noise_sd: 0.03, accounted: true, ..Fixture::one_arm(ratio) };
    let mut record = fixture.record();
    // A real run measures a block of each workload in turn.
    record.trials.sort_by_key(|t| (t.block, t.sequence));
    let all = record.trials.len() as f64;
    let length = all * random.random_range(0.01..2.0);
    let begins = random.random_range(-length..all);
    let force: f64 = random.random_range(0.1..0.85);
    let arms = record.plan.arms.clone();
    let is_hit = |t: &Trial| {
        let role = arms.iter().find(|arm| arm.id == t.arm).map(|arm| arm.role);
        match hits {
            Hits::All => true,
            Hits::Plain => role != Some(ArmRole::Encrypted),
            Hits::Encrypted => role == Some(ArmRole::Encrypted),
        }
    };
    for (i, trial) in record.trials.iter_mut().enumerate() {
        let at = i as f64;
        if at < begins || at >= begins + length {
            continue;
        }
        if is_hit(trial) {
            trial.measured.ios = (trial.measured.ios as f64 * force) as u64;
        }
        trial.measured.accounting = Some(Accounting {
            other_s: 2.0 * trial.measured.elapsed_s,
            cpu_pressure: Some(1.0 - force),
            ..trial.measured.accounting.clone().unwrap()
        });
    }
    record
}

/// Shares of the runs with a false cost or gain in any cell: if nothing is known of the other work, and as it is.
fn false_claims(hits: Hits, ratio: f64) -> [f64; 2] {
    let is_false = |verdict: &Option<Verdict>| match verdict {
        Some(Verdict::Gains { .. }) => true,
        Some(Verdict::Costs { .. }) => ratio >= 1.0,
        _ => false,
    };
    let any = |record: &Record| arm_cells(&cells(record), ARM).any(|c| is_false(&c.verdict));
    let mut claimed = [0, 0];
    for seed in 0..RUNS {
        let mut record = run(seed, hits, ratio);
        claimed[1] += u64::from(any(&record));
        record.trials.iter_mut().for_each(|t| t.measured.accounting = None);
        claimed[0] += u64::from(any(&record));
    }
    let found = claimed.map(|n| n as f64 / RUNS as f64);
    let [without, with] = found.map(|share| 100.0 * share);
    println!("| {hits:?} | {:.0} % | {without:.1} % | {with:.1} % |", 100.0 * ratio);
    found
}

/// Pairs that all look alike because one burst lasted through them exclude equality, and are still no gain.
#[test]
fn a_burst_that_one_arm_feels_is_no_gain() {
    for ratio in [1.0, 0.8] {
        let [unknown, known] = false_claims(Hits::Plain, ratio);
        assert!(unknown > 0.10, "the simulation shows what is to be prevented: {unknown}");
        assert!(known <= 0.02, "{ratio}: {known}");
    }
    // What lasts through all pairs and slows the arm alone is its cost under that load.
    let [unknown, known] = false_claims(Hits::Encrypted, 1.0);
    assert!(unknown > 0.10 && known > 0.7 * unknown, "losses stand: {unknown} {known}");
    let [unknown, _] = false_claims(Hits::All, 1.0);
    assert!(unknown <= 0.04, "pairing removes what all feel: {unknown}");
}

/// What the same comparison says when its two sides change places.
fn mirrored(verdict: &Verdict) -> Verdict {
    let loss = |gain: f64| 100.0 * (1.0 - 1.0 / (1.0 + gain / 100.0));
    let gain = |loss: f64| 100.0 * (1.0 / (1.0 - loss / 100.0) - 1.0);
    match verdict {
        Verdict::Costs { percent } => Verdict::Gains { percent: gain(*percent) },
        Verdict::Gains { percent } => Verdict::Costs { percent: loss(*percent) },
        Verdict::LikelyCosts { percent } => Verdict::LikelyGains { percent: gain(*percent) },
        Verdict::LikelyGains { percent } => Verdict::LikelyCosts { percent: loss(*percent) },
        other => other.clone(),
    }
}

/// Which of two systems is called the baseline decides nothing, however busy the machine was and wherever a cache may hide.
#[test]
fn two_systems_that_change_places_change_sides() {
    let (mut claimed, mut kept_back) = (0, 0);
    for seed in 0..60 {
        let ratio = [0.7, 0.95, 1.0, 1.3][seed as usize % 4];
        let mut record = run(seed, Hits::Encrypted, ratio);
        let mut other = record.plan.arms.iter().find(|arm| arm.id == ARM).unwrap().clone();
        other.id = "other".to_owned();
        let as_plain = record.trials.iter().filter(|t| t.arm == "plain-again");
        let of_other: Vec<Trial> =
            as_plain.map(|t| Trial { arm: other.id.clone(), ..t.clone() }).collect();
        record.trials.extend(of_other);
        record.plan.arms.push(other);
        if seed % 5 == 0 {
            record.target.uncounted = Some(Uncounted::Off);
        }
        let lookup = Lookup::of(&record);
        let (there, back) = (compare(&lookup, ARM, "other"), compare(&lookup, "other", ARM));
        assert_eq!(there.len(), record.plan.workloads.len());
        for (there, back) in there.iter().zip(&back) {
            let what = format!("seed {seed}: {there:?}\n{back:?}");
            let same = |a: &Verdict, b: &Verdict| match (a, b) {
                (Verdict::Costs { percent: a }, Verdict::Costs { percent: b })
                | (Verdict::Gains { percent: a }, Verdict::Gains { percent: b })
                | (Verdict::LikelyCosts { percent: a }, Verdict::LikelyCosts { percent: b })
                | (Verdict::LikelyGains { percent: a }, Verdict::LikelyGains { percent: b }) => {
                    (a - b).abs() < 1e-6 * a.abs()
                }
                _ => std::mem::discriminant(a) == std::mem::discriminant(b),
            };
            assert!(same(&mirrored(&there.verdict), &back.verdict), "{what}");
            match there.verdict {
                Verdict::Costs { .. } | Verdict::Gains { .. } => claimed += 1,
                Verdict::LikelyCosts { .. } | Verdict::LikelyGains { .. } => kept_back += 1,
                _ => {}
            }
        }
    }
    assert!(claimed > 50 && kept_back > 20, "{claimed} {kept_back}");
}

/// A loss under load is claimed unless undisturbed pairs exclude it, and a gain only if they show it.
#[test]
fn undisturbed_pairs_decide() {
    let judged = |ratio: f64, quiet: u32, waited: f64| {
        let fixture = Fixture { accounted: true, ..Fixture::one_arm(ratio).one_workload() };
        let mut record = fixture.record();
        for trial in record.trials.iter_mut().filter(|t| t.block.is_some_and(|b| b >= quiet)) {
            let account = trial.measured.accounting.as_mut().unwrap();
            (account.other_s, account.cpu_pressure) = (2.0, Some(waited));
        }
        // Without the load plain and the arm are alike.
        for trial in record.trials.iter_mut().filter(|t| t.block.is_some_and(|b| b < quiet)) {
            if trial.arm == ARM && ratio < 0.5 {
                trial.measured.ios = (trial.measured.ios as f64 / ratio) as u64;
            }
        }
        arm_cells(&cells(&record), ARM).next().unwrap().verdict.clone().unwrap()
    };
    assert!(matches!(judged(0.6, 0, 0.5), Verdict::Costs { .. }), "none is undisturbed");
    assert!(matches!(judged(0.6, 5, 0.5), Verdict::Costs { .. }), "they agree");
    assert!(matches!(judged(0.1, 3, 0.5), Verdict::LikelyCosts { .. }), "they exclude it");
    assert!(matches!(judged(1.5, 0, 0.5), Verdict::LikelyGains { .. }));
    assert!(matches!(judged(1.5, 0, 0.05), Verdict::Gains { .. }), "nothing waited");
    assert!(matches!(judged(1.5, 5, 0.5), Verdict::Gains { .. }), "they agree");
}

/// A few disturbed pairs of many take no claim away, and change no interval.
#[test]
fn what_quiet_pairs_show_stands() {
    let fixture = Fixture { accounted: true, ..Fixture::one_arm(0.9) };
    let quiet = fixture.record();
    let mut record = fixture.record();
    for trial in record.trials.iter_mut().filter(|t| t.block.is_some_and(|b| b < 4)) {
        let account = trial.measured.accounting.as_mut().unwrap();
        (account.other_s, account.cpu_pressure) = (2.0, Some(0.5));
    }
    let json = |record: &Record| serde_json::to_value(cells(record)).unwrap();
    assert_eq!(json(&record), json(&quiet));
}
