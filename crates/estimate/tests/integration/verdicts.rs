//! Known differences are found, known equalities are not called costs, and caches get no verdict.

use cryptbench_estimate::binding::bindings;
use cryptbench_estimate::cells::{arm_cells, cell, cells};
use cryptbench_estimate::comparison::compare;
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{BusyThread, Cell, StopReason, Threads, Verdict};
use cryptbench_stats::bottleneck::Cause;

use crate::fixture::{Fixture, FixtureArm, encrypted, plain, plain_again, volume};

const PLAIN: &str = "plain";
const ARM: &str = "builtin/aes-256-xts-512-b";
const SEEDS: std::ops::Range<u64> = 0..200;

fn one(ratio: f64, seed: u64, noise_sd: f64) -> Vec<Cell> {
    let fixture = Fixture { seed, noise_sd, ..Fixture::one_arm(ratio).one_workload() };
    cells(&fixture.record())
}

#[test]
fn an_arm_slowed_by_a_tenth_costs_a_tenth_in_every_seed() {
    let mut covered = 0;
    for seed in SEEDS {
        let found = one(0.9, seed, 0.01);
        let cell = arm_cells(&found, ARM).next().unwrap();
        let kept = cell.kept.unwrap();
        covered += usize::from((kept.low..=kept.high).contains(&0.9));
        match cell.verdict {
            Some(Verdict::Costs { percent }) => assert!((percent - 10.0).abs() < 2.5, "{percent}"),
            ref other => panic!("seed {seed}: {other:?}"),
        }
    }
    // 95 % of 200 is 190 with a standard deviation of 3.1.
    assert!((181..=198).contains(&covered), "{covered} of 200 intervals hold the truth");
}

#[test]
fn equal_arms_are_rarely_called_different_and_quiet_ones_are_equivalent() {
    let mut alarms = 0;
    let mut equivalent = 0;
    for seed in SEEDS {
        match arm_cells(&one(1.0, seed, 0.01), ARM).next().unwrap().verdict {
            Some(Verdict::Costs { .. } | Verdict::Gains { .. }) => alarms += 1,
            Some(Verdict::Equivalent { .. }) => equivalent += 1,
            _ => {}
        }
    }
    assert!(alarms <= 4, "{alarms} false alarms");
    assert!(equivalent >= 190, "{equivalent} of 200 equivalent");
}

#[test]
fn drift_that_all_arms_share_does_not_widen_the_interval() {
    let width = |drift_sd| {
        let fixture = Fixture { drift_sd, ..Fixture::one_arm(0.9).one_workload() };
        let found = cells(&fixture.record());
        let kept = arm_cells(&found, ARM).next().unwrap().kept.unwrap();
        kept.high - kept.low
    };
    assert!((width(0.3) / width(0.0) - 1.0).abs() < 0.05);
}

#[test]
fn many_workloads_are_corrected_for() {
    let found = cells(&Fixture::one_arm(0.97).record());
    let own: Vec<_> = arm_cells(&found, ARM).collect();
    assert_eq!(own.len(), 8);
    let smallest = own.iter().map(|c| c.kept.unwrap().p_value).fold(1.0, f64::min);
    let adjusted = own.iter().map(|c| c.kept.unwrap().p_holm).fold(1.0, f64::min);
    assert!((adjusted / smallest - 8.0).abs() < 1e-6, "{adjusted} from {smallest}");
    assert!(own.iter().all(|c| c.kept.unwrap().p_holm >= c.kept.unwrap().p_value));
}

#[test]
fn a_cached_arm_gets_no_verdict_and_takes_no_part_in_the_correction() {
    let mut fixture = Fixture::one_arm(0.9);
    fixture.cached = vec![fixture.workloads[0].id.clone(), fixture.workloads[1].id.clone()];
    let found = cells(&fixture.record());
    for workload in &fixture.cached {
        for arm in [PLAIN, "plain-again", ARM] {
            assert!(cell(&found, workload, arm).unwrap().cached);
        }
        let cached = cell(&found, workload, ARM).unwrap();
        assert_eq!(cached.verdict, Some(Verdict::Cached));
        assert!(cached.kept.is_none());
    }
    let open: Vec<_> = arm_cells(&found, ARM).filter_map(|c| c.kept).collect();
    assert_eq!(open.len(), 6);
    let smallest = open.iter().map(|k| k.p_value).fold(1.0, f64::min);
    let adjusted = open.iter().map(|k| k.p_holm).fold(1.0, f64::min);
    assert!((adjusted / smallest - 6.0).abs() < 1e-6);
}

#[test]
fn a_cache_under_one_arm_only_spares_the_others() {
    let mut lucky = encrypted("lucky", 512, &[1.5], 0.3);
    lucky.cached = true;
    let honest = encrypted("honest", 512, &[0.9], 0.3);
    let arms = vec![plain(), plain_again(), lucky, honest];
    let found = cells(&Fixture { arms, ..Fixture::default() }.record());
    assert!(arm_cells(&found, "builtin/lucky").all(|c| c.verdict == Some(Verdict::Cached)));
    let honest = || arm_cells(&found, "builtin/honest");
    assert!(honest().all(|c| matches!(c.verdict, Some(Verdict::Costs { .. }))));
}

#[test]
fn the_device_is_only_asked_where_it_counts() {
    let mut record = Fixture::one_arm(0.9).record();
    record.trials.iter_mut().for_each(|t| t.measured.device = None);
    let found = cells(&record);
    assert!(found.iter().all(|c| !c.cached && c.device_ratio.is_none()));
    assert!(arm_cells(&found, ARM).all(|c| c.kept.is_some()));
}

#[test]
fn noise_hides_what_is_smaller_than_it() {
    for seed in 0..40 {
        let found = one(0.97, seed, 0.1);
        let verdict = arm_cells(&found, ARM).next().unwrap().verdict.clone().unwrap();
        assert!(!matches!(verdict, Verdict::Costs { percent } if percent < 5.0), "{verdict:?}");
    }
}

#[test]
fn two_pairs_are_too_few() {
    let fixture = Fixture { blocks: 2, reason: StopReason::Interrupted, ..Fixture::one_arm(0.5) };
    let found = cells(&fixture.record());
    assert!(arm_cells(&found, ARM).all(|c| c.verdict == Some(Verdict::TooFewPairs)));
    assert!(arm_cells(&found, PLAIN).all(|c| c.verdict.is_none() && c.kept.is_none()));
}

#[test]
fn cpu_time_is_summed_over_trials_before_it_is_divided() {
    let mut record = Fixture::one_arm(1.0).one_workload().record();
    for t in record.trials.iter_mut().filter(|t| t.block.is_some() && t.arm == ARM) {
        t.measured.bytes = 1 << 30;
        t.measured.elapsed_s = 2.0;
        t.measured.cpu_process_s = if t.block == Some(0) { 1.2 } else { 0.0 };
        t.measured.cpu_machine_s = 4.0;
    }
    let found = cells(&record);
    let cpu = arm_cells(&found, ARM).next().unwrap().cpu;
    assert!((cpu.process_s_per_gib - 0.1).abs() < 1e-9, "12 trials of 1 GiB, 1.2 s in all");
    assert!((cpu.machine_s_per_gib - 4.0).abs() < 1e-9);
    assert!((cpu.machine_percent - 50.0).abs() < 1e-9, "4 of 2 x 4 CPU-seconds");
}

#[test]
fn discarded_trials_enter_nothing() {
    let fixture = Fixture::one_arm(0.9);
    let mut record = fixture.record();
    let before = cells(&record);
    for t in record.trials.iter_mut().filter(|t| t.block.is_none()) {
        t.measured.ios *= 1000;
        t.measured.cpu_process_s = 1e6;
    }
    let after = cells(&record);
    assert_eq!(serde_json::to_value(&before).unwrap(), serde_json::to_value(&after).unwrap());
}

#[test]
fn percentiles_that_trials_do_not_support_stay_empty() {
    let found = cells(&Fixture::one_arm(0.9).record());
    let slow = cell(&found, "seq-read-1048576-q1", ARM).unwrap().latency;
    assert!(slow.p50_us > 0.0 && slow.p99_us.is_some() && slow.p999_us.is_none());
    let fast = cell(&found, "ran-read-4096-q32", ARM).unwrap().latency;
    assert!(fast.p999_us.is_some());
}

#[test]
fn arms_are_compared_with_each_other_by_the_same_rules() {
    let record = Fixture::default().record();
    let (small, large) = ("builtin/aes-256-xts-512-b", "builtin/aes-256-xts-4096-b");
    let compared = compare(&Lookup::of(&record), large, small);
    assert_eq!(compared.len(), 8);
    let truth = 0.94 / 0.86;
    let first = &compared[0];
    assert!((first.estimate.low..=first.estimate.high).contains(&truth));
    assert!(matches!(first.verdict, Verdict::Gains { .. }));
    assert!(matches!(compared[7].verdict, Verdict::Equivalent { .. }));
}

#[test]
fn broken_numbers_lead_to_no_estimate_rather_than_a_wrong_one() {
    let mut record = Fixture::one_arm(0.9).record();
    for (i, t) in record.trials.iter_mut().enumerate() {
        match i % 4 {
            0 => t.measured.elapsed_s = 0.0,
            1 => t.measured.ios = 0,
            2 => t.measured.latency.p50_us = f64::NAN,
            _ => t.measured.cpu_process_s = f64::INFINITY,
        }
    }
    let found = cells(&record);
    for c in &found {
        assert!(c.bandwidth.is_finite() && c.iops.is_finite() && c.latency.p50_us.is_finite());
        assert!(c.kept.is_none_or(|k| k.low.is_finite() && k.high.is_finite()));
    }
}

/// Bytes that a cache answered went through no processor at the speed that the figure has.
#[test]
fn what_a_cache_answered_has_no_cause_but_the_cache() {
    let causes = |cached: bool| {
        let arm = FixtureArm { cached, ..volume("dm-crypt", "LUKS2", 512, &[0.5]) };
        let fixture = Fixture { arms: vec![plain(), plain_again(), arm], ..Fixture::default() };
        let mut record = fixture.record();
        for trial in &mut record.trials {
            let ios = trial.measured.ios;
            let helper =
                Some(BusyThread { cpu_s: trial.measured.elapsed_s, ..BusyThread::default() });
            trial.measured.threads = Some(Threads { asked: ios, helper, ..Threads::default() });
        }
        let lookup = Lookup::of(&record);
        let found: Vec<_> = bindings(&lookup).into_iter().map(|(_, _, b)| b.bottleneck).collect();
        found.into_iter().flatten().map(|found| found.cause).collect::<Vec<_>>()
    };
    assert!(causes(false).iter().any(|cause| matches!(cause, Cause::CoreFull { .. })));
    assert_eq!(causes(true), []);
}
