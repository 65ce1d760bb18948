//! Arms that are measured in turns, on the disk of this machine.

use std::collections::BTreeSet;

use cryptbench_record::{DEVICE_FLUSH, Record, Trial};

use crate::sandbox::{Sandbox, text};

fn measured_trials(record: &Record) -> impl Iterator<Item = &Trial> {
    record.trials.iter().filter(|trial| trial.block.is_some())
}

/// A tiny run whose trials are long enough to be sliced.
fn measured(more: &[&str]) -> Record {
    with_trials_of("120ms", more)
}

fn with_trials_of<'a>(length: &'a str, more: &[&'a str]) -> Record {
    let s = Sandbox::new();
    let mut args = s.tiny(more);
    args.push("--json");
    args.iter_mut().filter(|arg| **arg == "10ms").for_each(|arg| *arg = length);
    let done = s.run(&args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
    serde_json::from_slice(&done.stdout).unwrap()
}

#[test]
fn the_arms_of_a_block_take_turns() {
    let record = measured(&[]);
    if !record.target.engine.direct {
        eprintln!("SKIPPED: this file system has no direct I/O, so that no arm takes turns");
        return;
    }
    for trial in measured_trials(&record) {
        let slices =
            trial.measured.slices.as_ref().expect("every workload of this profile can be cut");
        assert_eq!(slices.at_us.len(), slices.ios.len());
        assert_eq!(slices.ios.iter().sum::<u64>(), trial.measured.ios);
        let flush = trial.measured.parts.get(DEVICE_FLUSH).copied().unwrap_or_default();
        let sum = slices.elapsed_us.iter().sum::<u64>() as f64 / 1e6;
        let rounding = 1e-6 * slices.ios.len() as f64;
        assert!((trial.measured.elapsed_s - flush - sum).abs() <= rounding, "{trial:?}");
        let account = trial.measured.accounting.as_ref().unwrap();
        // Inline arms run in the generator, and the process's clock covers the same time.
        assert!(account.generator_s > 0.0 && trial.measured.cpu_process_s > 0.0, "{account:?}");
    }
    for workload in &record.plan.workloads {
        let mut turns: Vec<(u64, &str)> = measured_trials(&record)
            .filter(|trial| trial.workload == workload.id && trial.block == Some(0))
            .flat_map(|t| {
                t.measured.slices.iter().flat_map(|s| &s.at_us).map(|at| (*at, t.arm.as_str()))
            })
            .collect();
        turns.sort_unstable();
        let changes = turns.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
        let arms: BTreeSet<_> = turns.iter().map(|(_, arm)| arm).collect();
        assert_eq!(arms.len(), record.plan.arms.len());
        assert!(changes >= arms.len(), "each arm once, one after the other: {turns:?}");
    }
}

#[test]
fn whole_trials_are_to_be_had_and_short_ones_stay_whole() {
    let whole = measured(&["--no-slices"]);
    assert!(whole.plan.slice_s.is_none());
    assert!(measured_trials(&whole).all(|trial| trial.measured.slices.is_none()));
    let short = with_trials_of("8ms", &[]);
    assert!(short.plan.slice_s.is_none(), "8 ms are less than two slices");
    assert!(measured_trials(&short).all(|trial| trial.measured.slices.is_none()));
}
