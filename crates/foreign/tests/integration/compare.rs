//! Two sets against each other: known ratios, verdicts by simulation, what is in one only, study C's percent.

use std::path::{Path, PathBuf};

use cryptbench_foreign::answer::answer;
use cryptbench_foreign::compare::{Comparison, Options, Verdict, compare, sentences};
use cryptbench_foreign::costs::CostChange;
use cryptbench_foreign::estimator::Estimator;
use cryptbench_foreign::reproduced::reproduction;
use cryptbench_foreign::{Cell, Format, Key, Measure, Run, Set, read};

fn key(operation: &str, block_size: u64) -> Key {
    Key {
        pattern: "sequential".into(),
        operation: operation.into(),
        block_size: Some(block_size),
        ..Key::default()
    }
}

fn set(format: Format, cells: Vec<(Key, Vec<f64>)>) -> Set {
    let run = |v: f64| Run { bandwidth: Some(v), source: PathBuf::from("x"), ..Run::default() };
    let cells = cells.into_iter().map(|(key, values)| Cell {
        key,
        runs: values.into_iter().map(run).collect(),
        title: None,
        cached: false,
    });
    Set {
        label: "x".into(),
        formats: vec![format],
        files: vec!["x".into()],
        cells: cells.collect(),
        remarks: Vec::new(),
    }
}

/// Noise that is the same each time: quantiles of a normal distribution, shuffled by a fixed rule.
fn noisy(mean: f64, sd: f64, runs: usize) -> Vec<f64> {
    let z = [-0.3, 1.1, 0.2, -1.3, 0.7, -0.8, 1.6, -0.1, 0.4, -1.5];
    (0..runs).map(|i| mean * (sd * z[i % z.len()]).exp()).collect()
}

/// The answer and what follows.
fn said(c: &Comparison) -> Vec<String> {
    [answer(c, &[], None), sentences(c)].concat()
}

#[test]
fn ratio_and_interval_are_welchs() {
    let a = set(Format::Fio, vec![(key("read", 4096), vec![100.0, 110.0, 90.0, 105.0])]);
    let b = set(Format::Fio, vec![(key("read", 4096), vec![50.0, 60.0, 55.0])]);
    let c = compare(&a, &b, Options::default());
    let cell = &c.cells[0];
    let i = cell.interval.unwrap();
    // By hand: 4.286647 degrees of freedom, whose t quantile by numerical integration is 2.704735.
    assert!((cell.ratio - 0.543_194_3).abs() < 1e-6, "{}", cell.ratio);
    assert!((i.low - 0.451_963_3).abs() < 1e-5 && (i.high - 0.652_840_7).abs() < 1e-5, "{i:?}");
    assert!((i.p_value - 0.000_615_38).abs() < 1e-7, "{i:?}");
    assert_eq!((cell.verdict, c.unpaired), (Verdict::Slower, true));
}

#[test]
fn verdicts_and_their_words() {
    let cells = |factors: [f64; 4], runs: usize| {
        let named = ["write", "read", "rewrite", "reread"];
        let sd = [0.01, 0.01, 0.002, 0.2];
        (0..4).map(|i| (key(named[i], 4096), noisy(1e8 * factors[i], sd[i], runs))).collect()
    };
    let a = set(Format::Iozone, cells([1.0; 4], 8));
    let b = set(Format::Iozone, cells([0.7, 1.2, 1.001, 1.1], 8));
    let c = compare(&a, &b, Options::default());
    let verdicts: Vec<Verdict> = c.cells.iter().map(|c| c.verdict).collect();
    use Verdict::{Equivalent, Faster, NotToldApart, Slower};
    assert_eq!(verdicts, [Slower, Faster, Equivalent, NotToldApart]);
    insta::assert_snapshot!(said(&c).join("\n"), @"
    B is slower in 1 and faster in 1 of 4 results, most of all in seq. write 4 KiB: 70 % of A's speed (95 % interval 69 to 71). Chance alone shows such a difference in fewer than 1 of 100 comparisons.
    Unpaired: A and B were not interleaved, so every speed includes the drift between them.
    The intervals cover only chance from run to run. They do not cover drift of the disk or the machine, the content of a cache, or a different location on the device. `cryptbench run` interleaves A and B.
    Over 4 cells B loses 1.0 % on average, in percent of the larger of the two (differences without sign: mean 14.0 %, largest 30.0 %). 8 identical series of A differ by 5.7 % on average, at most 12.6 %; they would be said to lose up to 12.6 %. 8 identical series of B differ by 5.7 % on average, at most 12.6 %; they would be said to lose up to 12.6 %. So identical series show as much.
    ");
}

#[test]
fn longer_latency_is_slower() {
    let of = |factor: f64| {
        let mut set = set(Format::Fio, vec![(key("read", 4096), noisy(100.0, 0.01, 6))]);
        for run in &mut set.cells[0].runs {
            run.latency_us = run.bandwidth.map(|v| v * factor);
        }
        set
    };
    let options = Options { measure: Some(Measure::Latency), ..Options::default() };
    let c = compare(&of(1.0), &of(1.5), options);
    assert_eq!(c.cells[0].verdict, Verdict::Slower);
    insta::assert_snapshot!(said(&c)[0], @"B is slower than A: seq. read 4 KiB: 150 % of A's latency (95 % interval 148 to 152). Chance alone shows such a difference in fewer than 1 of 100 comparisons.");
    let iops = Options { measure: Some(Measure::Iops), ..Options::default() };
    let c = compare(&of(1.0), &of(1.5), iops);
    assert_eq!((c.cells.len(), c.without_measure.len()), (0, 1));
}

#[test]
fn single_runs_have_a_ratio_and_no_interval() {
    let one = |v: f64| set(Format::DiskMark, vec![(key("read", 4096), vec![v])]);
    let c = compare(&one(100.0), &one(80.0), Options::default());
    assert!(c.cells[0].interval.is_none());
    assert!((c.cells[0].ratio - 0.8).abs() < 1e-12);
    assert_eq!(c.cells[0].verdict, Verdict::NoInterval);
    insta::assert_snapshot!(said(&c).join("\n"), @"
    A and B cannot be judged: distinguishing a difference from chance requires 3 runs on each side. The largest difference is in seq. read 4 KiB: 80 % of A's speed.
    Unpaired: A and B were not interleaved, so every speed includes the drift between them.
    The result has fewer than 3 runs on a side, and therefore no interval.
    The intervals cover only chance from run to run. They do not cover drift of the disk or the machine, the content of a cache, or a different location on the device. `cryptbench run` interleaves A and B.
    ");
}

#[test]
fn runs_without_any_spread_are_no_certainty() {
    let a = set(Format::Iozone, vec![(key("read", 4096), vec![100.0; 3])]);
    let b = set(Format::Iozone, vec![(key("read", 4096), vec![124.0; 3])]);
    let c = compare(&a, &b, Options::default());
    assert_eq!(c.cells[0].verdict, Verdict::TooCoarse);
    assert!(c.cells[0].interval.is_none());
    insta::assert_snapshot!(said(&c).join("\n"), @"
    A and B cannot be judged: all runs of a side have the same printed value. The largest difference is in seq. read 4 KiB: 124 % of A's speed.
    Unpaired: A and B were not interleaved, so every speed includes the drift between them.
    One result has the same printed value in all runs of a side, and no interval: the program's resolution hides how runs differ.
    The intervals cover only chance from run to run. They do not cover drift of the disk or the machine, the content of a cache, or a different location on the device. `cryptbench run` interleaves A and B.
    ");
}

#[test]
fn cells_of_one_side_are_named_and_unlike_ones_are_not_paired() {
    let a = set(Format::Fio, vec![(key("read", 4096), vec![1.0]), (key("write", 4096), vec![1.0])]);
    let b = set(Format::Fio, vec![(key("read", 4096), vec![1.0]), (key("read", 8192), vec![1.0])]);
    let c = compare(&a, &b, Options::default());
    assert_eq!(c.cells.len(), 1);
    assert_eq!(c.only_a, ["seq. write 4 KiB"]);
    assert_eq!(c.only_b, ["seq. read 8 KiB"]);
    // What a format does not tell may be anything, as long as there is no choice.
    let told = Key { queue_depth: Some(1), ..key("read", 4096) };
    let other = Key { queue_depth: Some(8), ..key("read", 4096) };
    let one = set(Format::Fio, vec![(told.clone(), vec![1.0])]);
    assert_eq!(compare(&a, &one, Options::default()).cells.len(), 1);
    let two = set(Format::Fio, vec![(told, vec![1.0]), (other, vec![1.0])]);
    assert_eq!(compare(&a, &two, Options::default()).cells.len(), 0);
}

#[test]
fn false_verdicts_over_many_cells_are_rare() {
    // 200 cells of the same distribution on both sides, drawn by a small generator: Holm leaves none.
    let mut state = 12_345_u64;
    let mut uniform = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut draw = |cells: u64| {
        let mut value = || 1e8 * (0.05 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)).exp();
        let runs = |v: &mut dyn FnMut() -> f64| (0..5).map(|_| v()).collect::<Vec<f64>>();
        (0..cells).map(|i| (key("read", 4096 * (i + 1)), runs(&mut value))).collect::<Vec<_>>()
    };
    let (a, b) = (set(Format::Fio, draw(200)), set(Format::Fio, draw(200)));
    let c = compare(&a, &b, Options::default());
    let claimed = |c: &&cryptbench_foreign::compare::Compared| {
        matches!(c.verdict, Verdict::Slower | Verdict::Faster)
    };
    assert_eq!(c.cells.iter().filter(claimed).count(), 0);
    // Without the correction some would have been.
    assert!(c.cells.iter().any(|c| c.interval.unwrap().p_value < 0.01));
}

#[test]
fn percent_of_study_c_over_iozone_series() {
    let fixture =
        |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let a = read(&[fixture("iozone/plain")]).unwrap();
    let b = read(&[fixture("iozone/layered")]).unwrap();
    let options = Options { estimator: Some(Estimator::CellwisePercent), ..Options::default() };
    let c = compare(&a, &b, options);
    let percent = c.percent.unwrap();
    assert_eq!((percent.cells, c.only_a.len(), c.only_b.len()), (234, 0, 0));
    // The same over the reports themselves.
    let mean = |cell: &Cell| {
        cell.runs.iter().map(|r| r.bandwidth.unwrap()).sum::<f64>() / cell.runs.len() as f64
    };
    let losses = a.cells.iter().zip(&b.cells).map(|(x, y)| {
        assert_eq!(x.key, y.key);
        let (x, y) = (mean(x), mean(y));
        100.0 * (x - y) / if x > y { x } else { y }
    });
    let expected = losses.sum::<f64>() / 234.0;
    assert!((percent.loss - expected).abs() < 1e-9);
    let noise = c.a.noise.unwrap();
    assert_eq!((noise.series, noise.cells), (3, 234));
    assert!(noise.mean > 0.0 && noise.largest >= noise.mean && noise.largest_loss <= noise.largest);
    // A set against itself loses nothing.
    let same = compare(&a, &a, options).percent.unwrap();
    assert!(same.loss.abs() < 1e-12 && same.largest < 1e-12);
}

#[test]
fn a_result_is_reproduced_contradicted_or_neither() {
    let change = |changed: bool, same: bool, power: f64| CostChange {
        workload: "w".into(),
        arm: "a".into(),
        workload_name: "Small reads".into(),
        arm_name: "LUKS2".into(),
        a: 0.8,
        b: 0.8,
        ratio: 1.0,
        low: 0.99,
        high: 1.01,
        p_value: 1.0,
        p_holm: 1.0,
        pairs: (9, 9),
        changed,
        same,
        power: Some(power),
    };
    let said = |changes: &[CostChange]| {
        let text = include_str!("../../../cli/tests/fixtures/readme.json");
        let record: cryptbench_record::Record = serde_json::from_str(text).unwrap();
        reproduction(&record, changes).unwrap().sentences()
    };
    let (same, open) = (change(false, true, 0.99), change(false, false, 0.1));
    insta::assert_snapshot!([
        said(&[same.clone(), same.clone()]),
        said(&[same.clone(), open.clone(), open]),
        said(&[same, change(true, false, 0.9)]),
    ].join("\n"), @"
    Reproduced: all 2 costs are the same within 3 %. A difference of 3 % would have been found with a probability of 99 %.
    Not contradicted: no cost differs beyond chance, and 1 of 3 are shown to be the same within 3 %. A difference of 3 % would have been found with a probability of 10 % to 99 % (median 10 %).
    Not reproduced. Beyond chance: 1 of 2 costs. The same within 3 %: 1. A difference of 3 % would have been found with a probability of 90 % to 99 % (median 94 %).
    ");
}

/// Of two records: what changed in the shares of plain speed, before raw speeds.
#[test]
fn the_answer_begins_with_shares_of_plain_speed() {
    let change = |b: f64, changed: bool, same: bool| CostChange {
        workload: "rand. read 4 KiB QD32".into(),
        arm: "dm-crypt aes".into(),
        workload_name: "Small reads, 32 at once".into(),
        arm_name: "LUKS2".into(),
        a: 0.8,
        b,
        ratio: b / 0.8,
        low: b / 0.8 - 0.03,
        high: b / 0.8 + 0.03,
        p_value: 1.0,
        p_holm: 1.0,
        pairs: (9, 9),
        changed,
        same,
        power: Some(0.5),
    };
    let text = include_str!("../../../cli/tests/fixtures/readme.json");
    let record: cryptbench_record::Record = serde_json::from_str(text).unwrap();
    let a = set(Format::Record, vec![(key("read", 4096), noisy(1e8, 0.01, 8))]);
    let compared = compare(&a, &a, Options::default());
    let first = |changes: &[CostChange]| {
        answer(&compared, changes, reproduction(&record, changes).as_ref())[..2].join(" ")
    };
    let (lower, higher) = (change(0.7, true, false), change(0.9, true, false));
    let (same, open) = (change(0.8, false, true), change(0.79, false, false));
    insta::assert_snapshot!([
        first(&[lower, same.clone(), open.clone()]),
        first(&[higher, same.clone()]),
        first(&[same.clone(), same.clone()]),
        first(&[same, open.clone()]),
        first(&[open]),
    ].join("\n"), @"
    B's share of plain speed is smaller in 1 of 3 cases, most of all in Small reads, 32 at once with LUKS2: 70 % instead of 80 %, which is 13 % less (95 % interval 9.5 to 16). Chance alone shows such a difference in fewer than 1 of 100 comparisons. Raw speeds are the same: the only result differs by less than 3 %.
    B's share of plain speed is larger in 1 of 2 cases, most of all in Small reads, 32 at once with LUKS2: 90 % instead of 80 %, which is 12 % more (95 % interval 9.5 to 16). Chance alone shows such a difference in fewer than 1 of 100 comparisons. Raw speeds are the same: the only result differs by less than 3 %.
    A and B are the same: all 2 shares of plain speed within 3 %. A difference of 3 % would have been found with a probability of 50 %. Raw speeds are the same: the only result differs by less than 3 %.
    A and B are indistinguishable: no share of plain speed differs beyond chance, and 1 of 2 are the same within 3 %. A difference of 3 % would have been found with a probability of 50 %. Raw speeds are the same: the only result differs by less than 3 %.
    A and B are indistinguishable: no share of plain speed differs beyond chance. A difference of 3 % would have been found with a probability of 50 %. Raw speeds are the same: the only result differs by less than 3 %.
    ");
}

#[test]
fn estimators_are_shown_and_judge_nothing() {
    let runs = vec![100.0, 10.0, 20.0, 20.0, 20.0];
    let a = set(Format::Fio, vec![(key("read", 4096), runs.clone())]);
    let plain = compare(&a, &a, Options::default());
    let options = Options { estimator: Some(Estimator::TrimmedMean), ..Options::default() };
    let c = compare(&a, &a, options);
    assert_eq!(c.cells[0].a.figure, Some(20.0));
    assert_eq!(c.cells[0].ratio.to_bits(), plain.cells[0].ratio.to_bits());
    assert_eq!(c.cells[0].verdict, plain.cells[0].verdict);
    insta::assert_snapshot!(said(&c).join("\n"), @"
    A and B are indistinguishable: seq. read 4 KiB: 100 % of A's speed (95 % interval 29 to 346), which chance explains.
    Unpaired: A and B were not interleaved, so every speed includes the drift between them.
    The intervals cover only chance from run to run. They do not cover drift of the disk or the machine, the content of a cache, or a different location on the device. `cryptbench run` interleaves A and B.
    The figures shown are each side's mean without the smallest and the largest; verdicts are always based on geometric means and Welch's interval.
    ");
}
