//! The first sentence, Take and Avoid claim nothing that the cells do not: over random sets of cells, and over those of reports.

use cryptbench_answer::figure::{Figure, Mark, Value};
use cryptbench_answer::{Labelled, Report};
use cryptbench_estimate::cast::Cast;
use cryptbench_record::{Accounting, Operation, Record, Trial, Uncounted};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::fixture::{Fixture, FixtureArm, encrypted, plain, plain_again, quick, system, volume};

/// What a cell is made to show; what it does show is read from the figure.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shows {
    Loss,
    Gain,
    Same,
    NoLoss,
    Nothing,
    Cached,
    TooFew,
}

impl Shows {
    /// Mean and spread of ln(E/P).
    fn log(self) -> (f64, f64) {
        match self {
            Self::Loss => (-0.28, 0.02),
            Self::Gain => (0.2, 0.02),
            Self::Same => (0.002, 0.003),
            Self::NoLoss => (-0.01, 0.01),
            Self::Nothing => (-0.4, 0.9),
            Self::Cached | Self::TooFew => (-0.1, 0.1),
        }
    }
}

/// A run of the quick profile in which each cell shows what is wanted of it; workloads that are `None` never ran.
fn run(arms: Vec<FixtureArm>, shows: &dyn Fn(usize, usize) -> Option<Shows>) -> Record {
    let choices = arms.len();
    let fixture = Fixture {
        blocks: 6,
        noise_sd: 0.0,
        drift_sd: 0.0,
        arms: [vec![plain(), plain_again()], arms].concat(),
        ..Fixture::default()
    };
    let mut record = fixture.record();
    let place = |t: &Trial| {
        let w = record.plan.workloads.iter().position(|w| w.id == t.workload).unwrap();
        (w, record.plan.arms.iter().position(|a| a.id == t.arm).unwrap())
    };
    let places: Vec<(usize, usize)> = record.trials.iter().map(place).collect();
    let mut trials = Vec::new();
    for (mut trial, (w, arm)) in record.trials.into_iter().zip(places) {
        let all: Option<Vec<Shows>> = (0..choices).map(|arm| shows(w, arm)).collect();
        let Some(all) = all else { continue };
        let block = trial.block.unwrap_or(0);
        let sign = if block % 2 == 0 { 1.0 } else { -1.0 };
        // How plain storage differs from itself, which only the same does as well.
        let noise = 0.06 * if block % 4 < 2 { 1.0 } else { -1.0 };
        let log = match arm {
            0 => 0.0,
            1 => noise,
            _ => {
                let (mean, spread) = all[arm - 2].log();
                let shared = if all[arm - 2] == Shows::Same { noise / 2.0 } else { 0.0 };
                mean + spread * sign + shared
            }
        };
        // Nothing holds the disk to one rate.
        let rate = if record.plan.workloads[w].operation == Operation::Write { 0.9e3 } else { 1e3 };
        trial.measured.ios = (trial.measured.ios as f64 * rate * f64::exp(log)) as u64;
        trial.measured.elapsed_s *= 1e3;
        if arm >= 2 && all[arm - 2] == Shows::TooFew && block >= 2 {
            continue;
        }
        let cached = arm >= 2 && all[arm - 2] == Shows::Cached;
        trial.measured.bytes = trial.measured.ios * 4096;
        let moved = if cached { 0 } else { trial.measured.bytes };
        let device = trial.measured.device.as_mut().unwrap();
        (device.read_bytes, device.written_bytes) = (moved, moved);
        trials.push(trial);
    }
    record.trials = trials;
    record
}

fn luks() -> FixtureArm {
    volume("dm-crypt", "LUKS2", 512, &[1.0])
}

fn gocryptfs() -> FixtureArm {
    system("gocryptfs", "aes-256-gcm", &[1.0], 4.0)
}

fn floor() -> Vec<FixtureArm> {
    vec![
        encrypted("AES-256-XTS 512 B", 512, &[1.0], 0.31),
        encrypted("AES-256-XTS 4096 B", 4096, &[1.0], 0.19),
    ]
}

/// The cells of the record of a report: large reads 75 and 77 % one at a time and no loss eight at once, large writes
/// undecided, small ones without a loss or undecided.
#[test]
fn a_range_is_not_told_of_rows_without_a_verdict() {
    use Shows::{Loss, NoLoss, Nothing};
    let cells = [
        [Loss, Loss],
        [Nothing, Nothing],
        [NoLoss, NoLoss],
        [Nothing, Nothing],
        [NoLoss, Nothing],
        [NoLoss, NoLoss],
        [Nothing, NoLoss],
        [Nothing, NoLoss],
    ];
    let record = run(floor(), &|w, arm| Some(cells[w][arm]));
    let labelled = Labelled::of(&record);
    insta::assert_snapshot!(labelled.report().answer.headline.join(" "), @"Large reads, one at a time, on nvme0n1p2 run at 75 % of plain speed with AES-256 alone; 7 of 16 figures are undecided, 7 show no loss. The cipher alone is a floor: no system was measured.");
}

/// What is so for every size is said once, and a device is not told to be a larger file.
#[test]
fn a_cache_is_named_once() {
    let mut record = run(floor(), &|_, _| Some(Shows::Cached));
    for device in record.trials.iter_mut().filter_map(|t| t.measured.device.as_mut()) {
        (device.read_bytes, device.written_bytes) = (0, 0);
    }
    let said = |record: &Record| {
        let labelled = Labelled::of(record);
        let answer = labelled.report().answer;
        let larger = answer.take.into_iter().filter(|line| line.contains("served from a cache"));
        answer.headline.into_iter().chain(larger).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(said(&record), @"
    Large reads and writes and small ones were served from a cache on nvme0n1p2 with AES-256 alone.
    The cipher alone is a floor: no system was measured.
    A larger file (--size): in 8 of 8 workloads, plain storage was served from a cache.
    ");
    (record.target.kind, record.target.only_read) = (Some("device".to_owned()), true);
    insta::assert_snapshot!(said(&record), @"
        Large reads and writes and small ones were served from a cache on nvme0n1p2 with AES-256 alone.
        The cipher alone is a floor: no system was measured.
        Larger storage: in 8 of 8 workloads, plain storage was served from a cache.
        ");
}

/// As after Ctrl-C: two systems, of which one workload of eight has repeats.
#[test]
fn one_workload_of_eight_is_no_average() {
    let first = |w: usize| (w == 0).then_some(Shows::Loss);
    let record = run(vec![luks(), gocryptfs()], &|w, _| first(w));
    let labelled = Labelled::of(&record);
    let answer = labelled.report().answer;
    insta::assert_snapshot!(answer.headline.join(" "), @"Large reads, one at a time, on nvme0n1p2 run at 75 % of plain speed with LUKS2 (dm-crypt) and gocryptfs; small ones have too few repeats; 6 of 8 figures for large ones have too few repeats.");
    assert!(answer.take.iter().all(|line| !line.contains('%')), "{:?}", answer.take);
    // Six of eight are told as such.
    let record = run(vec![luks(), gocryptfs()], &|w, arm| {
        (w < 6).then_some(if arm == 0 { Shows::Same } else { Shows::Loss })
    });
    let labelled = Labelled::of(&record);
    let answer = labelled.report().answer;
    insta::assert_snapshot!([answer.headline, answer.take].concat().join("\n"), @"
    Fastest of 2 choices on nvme0n1p2: LUKS2 (dm-crypt), at 100 % of plain speed on average over 6 of 8 workloads; next: gocryptfs, at 75 %.
    One volume: LUKS2 (dm-crypt), 100.2 % (100.1-100.3) over 6 of 8 workloads.
    Separate files, as for syncing: gocryptfs, 75 % (74-76) over 6 of 8 workloads.
    ");
}

/// As on a busy machine: the slow system is decided, and the faster one is not.
#[test]
fn an_undecided_system_is_named_beside_a_slow_one() {
    let shows = |arm: usize| if arm == 1 { Shows::Loss } else { Shows::Nothing };
    let record = run(vec![luks(), gocryptfs()], &|_, arm| Some(shows(arm)));
    let labelled = Labelled::of(&record);
    insta::assert_snapshot!(labelled.report().answer.take.join("\n"), @"
    One volume: LUKS2 (dm-crypt) is undecided.
    Separate files, as for syncing: gocryptfs, 75 % (74-76).
    ");
    // Three systems: the undecided ones are not said to be as slow as the decided one.
    let arms = vec![luks(), gocryptfs(), encrypted("AES-256-XTS 4096 B", 4096, &[1.0], 0.19)];
    let record = run(arms, &|_, arm| Some(shows(arm)));
    let labelled = Labelled::of(&record);
    let said = labelled.report().sentences.join("\n");
    assert!(!said.contains("no difference was found in any workload"), "{said}");
}

/// ntfs-3g answers from a cache of its own, at 137 and 168 % of plain speed.
#[test]
fn a_cache_that_cannot_be_recognised_is_told_and_not_ranked() {
    let made = |name: &str, uncounted| {
        let mut record = run(vec![luks(), gocryptfs()], &|w, arm| {
            Some(if arm == 1 && (w == 0 || w == 2) { Shows::Gain } else { Shows::Loss })
        });
        (record.target.filesystem, record.target.uncounted) = (name.to_owned(), uncounted);
        record
    };
    let open = |record: &Record| {
        let labelled = Labelled::of(record);
        let report = labelled.report();
        let open: Vec<String> = report.answer.open.iter().map(|o| o.line(None)).collect();
        let over = Cast::of(&report.lookup).ranking.unwrap().over.len();
        (marks(&report, 1)[..2].to_vec(), over, open.join("\n"), report.answer.headline.join(" "))
    };
    for (name, uncounted) in [("fuseblk", None), ("fuse.x", Some(Uncounted::Program))] {
        let (marks, over, open, headline) = open(&made(name, uncounted));
        assert_eq!((marks, over), (vec![Mark::Undecided; 2], 6), "{name}");
        assert!(
            open.contains(&format!("{name}: a cache below this location cannot be detected")),
            "{open}"
        );
        assert!(headline.contains("on average over 6 of 8 workloads"), "{headline}");
    }
    for (name, uncounted) in [("ext4", None), ("tmpfs", Some(Uncounted::Memory))] {
        let (marks, over, open, _) = open(&made(name, uncounted));
        assert_eq!((marks, over), (vec![Mark::Faster; 2], 8), "{name}");
        assert!(!open.contains("recognised"), "{open}");
    }
}

/// The cell of a report: small reads at 369 % while other programs kept both processors busy.
#[test]
fn a_gain_on_a_busy_machine_is_marked_and_in_no_range() {
    let mut record =
        run(vec![gocryptfs()], &|w, _| Some(if w == 4 { Shows::Gain } else { Shows::Loss }));
    let said = |record: &Record| {
        let labelled = Labelled::of(record);
        let report = labelled.report();
        let open: Vec<String> = report.answer.open.iter().map(|o| o.line(None)).collect();
        (marks(&report, 0)[4], report.answer.headline.join(" "), open.join(" "))
    };
    assert_eq!(said(&record).0, Mark::Faster);
    for trial in &mut record.trials {
        trial.measured.accounting = Some(Accounting {
            other_s: 2.0 * trial.measured.elapsed_s,
            cpu_pressure: Some(0.15),
            ..Accounting::default()
        });
    }
    let (mark, headline, open) = said(&record);
    assert_eq!(mark, Mark::Undecided);
    insta::assert_snapshot!(headline, @"Large reads and writes on nvme0n1p2 run at 75 %, small ones at 75 % of plain speed with gocryptfs; 1 of 4 small ones is undecided.");
    assert!(open.contains("1 figure above 100 % is attributed to other programs."), "{open}");
}

/// The marks of a column, in the order of the figure's rows.
fn marks(report: &Report<'_>, column: usize) -> Vec<Mark> {
    let rows = rows(report);
    rows.iter().map(|(_, values)| values[column].mark).collect()
}

fn rows(report: &Report<'_>) -> Vec<(String, Vec<Value>)> {
    let Figure::Columns(columns) = &report.answer.figure else { return Vec::new() };
    columns.rows.iter().map(|row| (row.name.clone(), row.values.clone())).collect()
}

const SEEDS: u64 = 400;

#[test]
fn nothing_is_claimed_that_the_cells_do_not_show() {
    let mut seen = Seen::default();
    for seed in 0..SEEDS {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let weak = || system("encfs", "aes-256-cbc", &[1.0], 4.0);
        let arms = match random.random_range(0..6) {
            0 => floor(),
            1 => floor().split_off(1),
            2 => vec![gocryptfs()],
            3 => vec![luks(), gocryptfs()],
            4 => vec![luks(), gocryptfs(), weak()],
            _ => vec![weak(), gocryptfs()],
        };
        let usual =
            [Shows::Loss, Shows::NoLoss, Shows::Nothing, Shows::Same][random.random_range(0..4)];
        let all = [
            Shows::Loss,
            Shows::Loss,
            Shows::Gain,
            Shows::Same,
            Shows::NoLoss,
            Shows::Nothing,
            Shows::Nothing,
            Shows::Cached,
            Shows::TooFew,
        ];
        let ran = if random.random_bool(0.3) { random.random_range(1..=8) } else { 8 };
        let share = random.random_range(0.0..1.0);
        let cells: Vec<Vec<Shows>> = (0..8)
            .map(|_| {
                arms.iter()
                    .map(|_| match random.random_bool(share) {
                        true => usual,
                        false => all[random.random_range(0..all.len())],
                    })
                    .collect()
            })
            .collect();
        let record = run(arms, &|w, arm| (w < ran).then(|| cells[w][arm]));
        let labelled = Labelled::of(&record);
        let report = labelled.report();
        check(&report, seed, &mut seen);
    }
    assert!(seen.is_all(), "{seen:?}");
}

/// What the random runs had, so that the test does not pass for want of cases.
#[derive(Debug, Default)]
struct Seen {
    whole: u32,
    named: u32,
    counted: u32,
    averages: u32,
    partial_averages: u32,
    worst: u32,
    worst_decided: u32,
}

impl Seen {
    fn is_all(&self) -> bool {
        [self.whole, self.named, self.counted, self.averages, self.partial_averages, self.worst]
            .iter()
            .all(|n| *n >= 5)
            && self.worst_decided > 0
    }
}

fn check(report: &Report<'_>, seed: u64, seen: &mut Seen) {
    let cast = Cast::of(&report.lookup);
    let headline = report.answer.headline.join(" ");
    let context =
        || format!("seed {seed}: {headline}\n{:?}\n{:#?}", report.answer.take, table(report));
    // The columns of the sentence: those of the ranking that are not to be avoided, or all that are spoken of.
    let usable: Vec<&str> = cast
        .ranked()
        .map(|row| row.arm.id.as_str())
        .filter(|id| !id.starts_with("encfs"))
        .collect();
    let columns: Vec<usize> = cast
        .shown()
        .iter()
        .enumerate()
        .filter(|(_, arm)| match usable[..] {
            [] => cast.spoken().len() == 1 || !arm.id.starts_with("encfs"),
            _ => usable.contains(&arm.id.as_str()),
        })
        .map(|(i, _)| i)
        .collect();
    let cells: Vec<(String, Vec<Value>)> = {
        let all = rows(report);
        let none = Value { kept: None, mark: Mark::Unmeasured };
        // A workload that never ran has no row, and is as open as one with too few repeats.
        quick()
            .iter()
            .map(|w| report.names.workload(w).to_owned())
            .map(|name| {
                let values = all.iter().find(|(row, _)| *row == name).map(|(_, v)| v);
                let of = |c: &usize| values.map_or(none, |v| v[*c]);
                (name, columns.iter().map(of).collect())
            })
            .collect()
    };
    let is_ranked = headline.contains("on average") || headline.contains("Fastest of");
    if is_ranked {
        check_average(&cast, &headline, &cells, seen, &context);
    }
    let has_figure = headline.contains(" run at ") || headline.contains(" runs at ");
    if has_figure && !headline.contains("on average") {
        check_range(&headline, &cells, seen, &context);
    }
    let every =
        |good: &[Mark]| cells.iter().all(|(_, vs)| vs.iter().all(|v| good.contains(&v.mark)));
    if headline.starts_with("No loss was found") {
        assert!(every(&[Mark::NoLoss, Mark::Same, Mark::Faster]), "{}", context());
    }
    if headline.starts_with("Whether") {
        assert!(every(&[Mark::Undecided]), "{}", context());
    }
    if headline.starts_with("Too few repeats") {
        assert!(every(&[Mark::Unmeasured]), "{}", context());
    }
    for line in &report.answer.take {
        check_take(line, is_ranked, &cells, seen, &context);
    }
    let is_weak = cast.choices.iter().any(|arm| arm.system == "encfs");
    assert_eq!(!report.answer.avoid.is_empty(), is_weak, "{}", context());
}

fn table(report: &Report<'_>) -> Vec<String> {
    let value = |v: &Value| format!("{:.1} {:?}", 100.0 * v.kept.map_or(0.0, |k| k.ratio), v.mark);
    let row = |(name, vs): &(String, Vec<Value>)| {
        format!("{name}: {}", vs.iter().map(value).collect::<Vec<_>>().join(", "))
    };
    rows(report).iter().map(row).collect()
}

fn is_decided(value: &Value) -> bool {
    matches!(value.mark, Mark::Slower | Mark::Faster | Mark::Same | Mark::NoLoss)
}

fn check_average(
    cast: &Cast<'_>,
    headline: &str,
    cells: &[(String, Vec<Value>)],
    seen: &mut Seen,
    context: &dyn Fn() -> String,
) {
    let over = cast.ranking.as_ref().unwrap().over.len();
    let figures = cells.iter().filter(|(_, vs)| vs.iter().all(|v| v.kept.is_some())).count();
    assert!(2 * over >= cells.len() && figures >= over, "{}", context());
    for column in 0..cells[0].1.len() {
        let decided = cells.iter().filter(|(_, vs)| is_decided(&vs[column])).count();
        assert!(2 * decided >= cells.len(), "{}", context());
    }
    let told = headline.contains(&format!("on average over {over} of {} workloads", cells.len()));
    assert_eq!(told, over < cells.len(), "{}", context());
    seen.averages += 1;
    seen.partial_averages += u32::from(told);
}

/// Each part of the sentence with a percentage names figures that have one, all of them, and no others.
fn check_range(
    headline: &str,
    cells: &[(String, Vec<Value>)],
    seen: &mut Seen,
    context: &dyn Fn() -> String,
) {
    let (percentages, rest) = headline.split_once(" of plain speed with ").unwrap();
    for part in percentages.split_inclusive(" %").filter(|part| part.contains(" at ")) {
        let (subject, range) = part.trim_end_matches(" %").rsplit_once(" at ").unwrap();
        let subject = subject.trim_end_matches(" run").trim_end_matches(" runs");
        let subject = subject.trim_end_matches(" on nvme0n1p2").trim_start_matches(", ");
        let subject = subject.trim_end_matches(',').to_lowercase();
        let class = if subject.contains("large") { "Large" } else { "Small" };
        let of_class: Vec<&(String, Vec<Value>)> =
            cells.iter().filter(|(name, _)| name.starts_with(class)).collect();
        let all: Vec<Value> = of_class.iter().flat_map(|(_, vs)| vs.clone()).collect();
        let within = |v: &&Value| matches!(v.mark, Mark::Slower | Mark::Faster | Mark::Same);
        let percent: Vec<&Value> = all.iter().filter(within).collect();
        let (n, of) = (percent.len(), all.len());
        if let Some((_, values)) = of_class.iter().find(|(name, _)| name.to_lowercase() == subject)
        {
            assert!(values.iter().all(|v| within(&v)) && values.len() == n, "{}", context());
            seen.named += 1;
        } else if subject.starts_with(&format!("{n} of {of} ")) {
            assert!(2 * n <= of, "{}", context());
            seen.counted += 1;
        } else {
            assert!(
                2 * n > of && !subject.starts_with(|c: char| c.is_ascii_digit()),
                "{}",
                context()
            );
            seen.whole += 1;
            counts(rest, &class.to_lowercase(), &all, cells, context);
        }
        let ratios = || percent.iter().map(|v| 100.0 * v.kept.unwrap().ratio);
        let ends = [ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max)];
        let told: Vec<f64> = range.split(" to ").map(|end| end.parse().unwrap()).collect();
        assert!((told[0] - ends[0]).abs() <= 0.51, "{}", context());
        assert!((told[told.len() - 1] - ends[1]).abs() <= 0.51, "{}", context());
    }
}

/// What a size as a whole has beside its percentages is counted, by itself or with the other sizes.
fn counts(
    rest: &str,
    class: &str,
    all: &[Value],
    cells: &[(String, Vec<Value>)],
    context: &dyn Fn() -> String,
) {
    let count = |values: &[Value], mark| values.iter().filter(|v| v.mark == mark).count();
    let of_size = |size: &str| -> Vec<Value> {
        let of_size = cells.iter().filter(|(name, _)| name.starts_with(size));
        of_size.flat_map(|(_, vs)| vs.clone()).collect()
    };
    let sizes = ["Large", "Small"].map(of_size);
    let figures: usize = sizes.iter().map(Vec::len).sum();
    // Of a size without percentages, what is faster or the same shows no loss.
    let told = |values: &Vec<Value>, mark| match mark {
        Mark::NoLoss if count(values, Mark::Slower) == 0 => {
            count(values, mark) + count(values, Mark::Same) + count(values, Mark::Faster)
        }
        _ => count(values, mark),
    };
    let in_all = |mark| sizes.iter().map(|values| told(values, mark)).sum::<usize>();
    for (mark, words) in [
        (Mark::NoLoss, "no loss"),
        (Mark::Undecided, "undecided"),
        (Mark::Cached, "from a cache"),
        (Mark::Unmeasured, "too few repeats"),
    ] {
        let n = count(all, mark);
        if n == 0 {
            continue;
        }
        let alone = format!("{n} of {} ", all.len());
        let summed = format!("{} of {figures} figures ", in_all(Mark::Undecided));
        let of_all = format!("{} ", in_all(mark));
        let is_told = rest.split(". ").next().unwrap_or_default().split("; ").any(|part| {
            let of_class = format!("{class} ones ");
            let is_alone = part.starts_with(&alone) && part.contains(&of_class);
            let is_among = |of: &str| of.starts_with(&of_all) && of.contains(words);
            is_alone && part.contains(words)
                || part.starts_with(&summed) && part.split(", ").any(is_among)
        });
        assert!(is_told, "{n} {mark:?} are not counted; {}", context());
    }
}

fn check_take(
    line: &str,
    is_ranked: bool,
    cells: &[(String, Vec<Value>)],
    seen: &mut Seen,
    context: &dyn Fn() -> String,
) {
    let values: Vec<Value> = cells.iter().flat_map(|(_, vs)| vs.clone()).collect();
    if line.contains("no loss was found in any") {
        let good = |v: &Value| matches!(v.mark, Mark::NoLoss | Mark::Same | Mark::Faster);
        assert!(values.iter().all(good), "{}", context());
    } else if let Some((_, figure)) = line.split_once("case is acceptable: ") {
        let told: f64 =
            figure.split(" at ").last().unwrap().split(' ').next().unwrap().parse().unwrap();
        let least = |marks: &[Mark]| {
            let of = values.iter().filter(|v| marks.contains(&v.mark)).filter_map(|v| v.kept);
            of.map(|kept| 100.0 * kept.ratio).fold(f64::INFINITY, f64::min)
        };
        assert!((told - least(&[Mark::Slower])).abs() <= 0.51, "{}", context());
        let is_worse = least(&[Mark::Undecided]) < least(&[Mark::Slower]);
        assert_eq!(line.contains("worst decided case"), is_worse, "{}", context());
        seen.worst += 1;
        seen.worst_decided += u32::from(is_worse);
    } else if line.contains("% (") && !line.starts_with("4096-byte") {
        // A mean of one choice that is left of several is told without a ranking.
        assert!(is_ranked || cells[0].1.len() == 1, "{line}; {}", context());
    }
}
