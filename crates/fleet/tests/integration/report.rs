//! Groups, pooled costs, and who is named.

use std::ops::ControlFlow;
use std::path::Path;

use cryptbench_fleet::{FAILURE, Failure, Files, Fleet, Report, Shared, stream};
use cryptbench_record::{Machine, Node, Record};

use crate::made::{FAST, Kind, Normal, WORKLOADS, damage, leave, record};

pub fn report(directory: &Path, expected: &[String]) -> Report {
    let mut fleet = Fleet::default();
    let files = Files::in_directory(directory).unwrap();
    stream(
        files.paths(),
        2,
        |path| Fleet::observe(path.to_owned(), files.read(path)),
        |observed| {
            fleet.add(observed);
            ControlFlow::<()>::Continue(())
        },
    );
    Report::of(fleet, expected, 0.95)
}

fn failure(name: &str, why: &str) -> Failure {
    Failure {
        schema: FAILURE.to_owned(),
        program_version: "0.1.0".to_owned(),
        node: Node { name: name.to_owned(), ..Node::default() },
        why: why.to_owned(),
        exit_code: 3,
        machine: Machine::default(),
    }
}

const SLOW: Kind = Kind {
    cpu: "Slow CPU 100",
    driver: "xts-aes-aesni",
    disk: "SATA Two",
    cost: [-0.03, -0.05],
    between: 0.01,
};
const OLD: Kind = Kind {
    cpu: "Old CPU 1",
    driver: "xts(ecb(aes-generic))",
    disk: "HDD Three",
    cost: [-0.01, -0.6],
    between: 0.05,
};

#[test]
fn the_known_costs_of_three_kinds_lie_in_their_intervals() {
    let dir = tempfile::tempdir().unwrap();
    let mut normal = Normal::new(3);
    for (kind, n) in [(FAST, 6), (SLOW, 5), (OLD, 5)] {
        for i in 0..n {
            let name = format!("{}{i}", &kind.cpu[..1]);
            leave(dir.path(), &record(&mut normal, &name, &kind, (12, 0.02)));
        }
    }
    let found = report(dir.path(), &[]);
    assert_eq!((found.machines, found.records, found.groups.len()), (16, 16, 3));
    assert_eq!(found.groups[0].kind.cpu_model, FAST.cpu, "the largest group is first");
    for kind in [FAST, SLOW, OLD] {
        let group = found.groups.iter().find(|g| g.kind.cpu_model == kind.cpu).unwrap();
        for (row, truth) in group.rows.iter().zip(kind.cost) {
            let share = row.pooled.unwrap();
            let held = share.next_low_ratio.ln()..share.next_high_ratio.ln();
            assert!(held.contains(&truth), "{}: {truth} not in {held:?}", row.workload);
            assert!(held.contains(&share.low_ratio.ln()) && held.contains(&share.high_ratio.ln()));
        }
    }
    assert!(found.outliers.is_empty(), "{:?}", found.outliers);
}

#[test]
fn a_machine_that_lacks_one_workload_is_one_of_its_group() {
    let dir = tempfile::tempdir().unwrap();
    let mut normal = Normal::new(7);
    for i in 0..5 {
        let mut slow = record(&mut normal, &format!("s{i}"), &SLOW, (12, 0.02));
        if let Some(lacks) = WORKLOADS.get(i) {
            slow.trials.retain(|trial| trial.workload != *lacks);
        }
        leave(dir.path(), &slow);
    }
    let found = report(dir.path(), &[]);
    let machines: Vec<usize> = found.groups[0].rows.iter().map(|row| row.machines).collect();
    assert_eq!((found.groups.len(), found.groups[0].machines, machines), (1, 5, vec![4, 4]));
}

#[test]
fn an_odd_machine_is_named_with_what_is_different_about_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut normal = Normal::new(5);
    for i in 0..12 {
        leave(dir.path(), &record(&mut normal, &format!("node{i:02}"), &FAST, (12, 0.02)));
    }
    // The same hardware with the kernel's portable code: a kind of its own, of one machine.
    let generic = Kind { driver: "xts(ecb(aes-generic))", cost: [-0.5, -1.4], ..FAST };
    let mut odd = record(&mut normal, "node17", &generic, (12, 0.02));
    odd.machine.cpu_features.retain(|feature| feature != "aes");
    leave(dir.path(), &odd);
    // The same driver, but busy with something else.
    let busy = Kind { cost: [-0.6, -0.22], ..FAST };
    let mut odd = record(&mut normal, "node18", &busy, (12, 0.02));
    odd.machine.idle_baseline = 0.5;
    leave(dir.path(), &odd);
    let found = report(dir.path(), &[]);
    let names: Vec<&str> = found.outliers.iter().map(|o| o.node.as_str()).collect();
    assert_eq!(names, ["node17", "node18"], "{:?}", found.outliers);
    let [generic, busy] = [&found.outliers[0], &found.outliers[1]];
    assert_eq!((generic.cells, generic.workload.as_str()), (2, "seq-read-1m-q1"));
    assert!((generic.ratio / (-1.4f64).exp() - 1.0).abs() < 0.1, "{}", generic.ratio);
    insta::assert_snapshot!(generic.reasons.join("\n"), @"
        its CPU has no AES instructions, or they are disabled
        its cipher driver is xts(ecb(aes-generic)), theirs xts-aes-vaes-avx512
        ");
    insta::assert_snapshot!(busy.reasons.join("\n"), @"other work kept 50 % of its CPU busy before the run");
    let small: Vec<_> = found.small().collect();
    assert_eq!((small.len(), small[0].machines), (1, 1));
    assert_eq!(small[0].rows[0].members[0].node, "node17");
}

#[test]
fn who_is_missing_failed_or_damaged_is_named_and_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut normal = Normal::new(7);
    for i in 1..=5 {
        leave(dir.path(), &record(&mut normal, &format!("node{i}"), &FAST, (6, 0.02)));
    }
    damage(dir.path(), "cut.json", "{\"schema\": \"cryptbench.record/1\", \"run");
    damage(dir.path(), "later.json", "{\"schema\": \"cryptbench.record/2\"}");
    let shared = Shared::open(dir.path()).unwrap();
    shared.leave_failure(&failure("node6", "no space\u{1b}[2J")).unwrap();
    let expected: Vec<String> = (1..=8).map(|i| format!("node{i}")).collect();
    let found = report(dir.path(), &expected);
    assert_eq!(found.missing, ["node7", "node8"]);
    assert_eq!(found.failed.len(), 1);
    assert_eq!(found.failed[0].why, "no space\\u{1b}[2J", "what steers a terminal is shown");
    let damaged: Vec<_> = found.damaged.iter().map(|d| d.path.file_name().unwrap()).collect();
    assert_eq!(damaged, ["cut.json", "later.json"]);
    let why: Vec<&str> = found.damaged.iter().map(|d| d.why.as_str()).collect();
    insta::assert_snapshot!(why.join("\n"), @r#"
        is not a cryptbench record: EOF while parsing a string at line 1 column 38
        has schema "cryptbench.record/2"; this program reads "cryptbench.record/1": use a newer cryptbench
        "#);
    assert_eq!(found.groups[0].machines, 5);
}

#[test]
fn a_machine_that_was_measured_twice_counts_once_and_as_it_was_last() {
    let dir = tempfile::tempdir().unwrap();
    let mut normal = Normal::new(9);
    for i in 0..5 {
        leave(dir.path(), &record(&mut normal, &format!("node{i}"), &FAST, (6, 0.02)));
    }
    let expected = report(dir.path(), &[]);
    // Before an update, with other costs.
    let before = Kind { cost: [-2.0, -2.0], ..FAST };
    for i in 0..5 {
        let mut old = record(&mut normal, &format!("node{i}"), &before, (6, 0.02));
        old.started = "2025-01-02T03:04:05Z".to_owned();
        old.node.as_mut().unwrap().boot = "00000000".to_owned();
        leave(dir.path(), &old);
    }
    let found = report(dir.path(), &[]);
    assert_eq!((found.records, found.machines, found.superseded), (10, 5, 5));
    let mean = |r: &Report| r.groups[0].rows[0].pooled.unwrap().mean_ratio;
    assert_eq!(mean(&found), mean(&expected));
}

#[test]
fn a_machine_cannot_speak_for_another_in_its_own_directory() {
    let dir = tempfile::tempdir().unwrap();
    let mut normal = Normal::new(3);
    for i in 1..=3 {
        let name = format!("node{i}");
        leave(&dir.path().join(&name), &record(&mut normal, &name, &FAST, (12, 0.02)));
    }
    let forged = record(&mut normal, "node2", &FAST, (12, 0.02));
    leave(&dir.path().join("node1"), &forged);
    // Nor by a record of no machine, which goes by the identifier of its run.
    let mut nameless = Record { node: None, ..forged };
    "node3".clone_into(&mut nameless.run_id);
    cryptbench_record::write(&nameless, &dir.path().join("node1/nameless.json")).unwrap();
    let shared = Shared::open(&dir.path().join("node1")).unwrap();
    shared.leave_failure(&failure("node3", "no space")).unwrap();
    let found = report(dir.path(), &[]);
    assert_eq!((found.machines, found.records, found.failed.len()), (3, 3, 0));
    let why: Vec<&str> = found.damaged.iter().map(|d| d.why.as_str()).collect();
    insta::assert_snapshot!(why.join("\n"), @r#"
        it does not name a machine, but is in the directory of one
        it is in the directory of a machine other than "node2"
        it is in the directory of a machine other than "node3"
        "#);
}
