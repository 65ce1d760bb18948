//! A study's table computed from the user's own records with the study's estimator.
//!
//! The tables contain plain and trimmed means, unpaired and without intervals, like those of the studies, so that they
//! can be compared with the studies' tables. Only CPU usage has intervals, and its increase is paired. For conclusions
//! use the report of each record, because it pairs the trials.

use cryptbench_catalog as catalog;
use cryptbench_record::{Arm, ArmRole, Headline, Operation, Record, Trial, Workload};
use cryptbench_stats::percent_of_larger;

use crate::check::size;
use crate::cpu::{Usage, with_interval};
use crate::files::Files;
use crate::study::a::here;
use crate::study::{Answer, Letter};
use crate::table::{Field, Number, Table};
use crate::{trimmed, trimmed_mean};

const MIB: f64 = 1_048_576.0;

/// The patterns of Anvil that study D used.
const FOUR: [&str; 4] = ["seq-read-4m", "seq-write-4m", "rand-read-4k-q1", "rand-write-4k-q1"];

/// The tables of one study from records of its profiles; records of other profiles yield no tables.
pub fn own(study: Letter, records: &[Record]) -> Vec<Table> {
    let of = |profile: &str| records.iter().find(|r| r.plan.profile == profile);
    match study {
        Letter::A => {
            let sweep = of("atto").into_iter().flat_map(atto);
            let surface = of("hdtune").or_else(|| of("hdtune-whole"));
            sweep.chain(surface.into_iter().flat_map(hd_tune)).collect()
        }
        Letter::B => of("dd-removable").map(copies).into_iter().collect(),
        Letter::C => losses(of("iozone"), of("dd-copy")).into_iter().collect(),
        Letter::D => {
            of("anvil").into_iter().flat_map(|r| [Some(anvil(r)), programs(r)]).flatten().collect()
        }
    }
}

/// A study's own models, applied to records of its profiles.
pub fn answers(study: Letter, records: &[Record]) -> Vec<Answer> {
    let sweep = records.iter().find(|r| study == Letter::A && r.plan.profile == "atto");
    let answers = sweep.and_then(|record| here::answers(&Files::published(), record).ok());
    answers.unwrap_or_default()
}

/// Plain first, then the encrypted arms; the studies have neither a repeated plain arm nor pass-throughs.
fn arms(record: &Record) -> impl Iterator<Item = &Arm> {
    let of = |role: ArmRole| record.plan.arms.iter().filter(move |a| a.role == role);
    of(ArmRole::Plain).take(1).chain(of(ArmRole::Encrypted))
}

fn encrypted(record: &Record) -> impl Iterator<Item = &Arm> {
    arms(record).filter(|a| a.role == ArmRole::Encrypted)
}

pub(crate) fn values(
    record: &Record,
    workload: &Workload,
    arm: &Arm,
    of: impl Fn(&Trial) -> f64,
) -> Vec<f64> {
    record.trials_of(&workload.id, &arm.id).into_iter().map(|(_, t)| of(t)).collect()
}

/// Mean of the trials in the unit of the workload's headline.
fn mean(record: &Record, workload: &Workload, arm: &Arm) -> Option<f64> {
    let value = |t: &Trial| match workload.figure() {
        Some(Headline::Latency) => t.measured.latency.mean_us / 1000.0,
        Some(Headline::Iops) => t.iops(),
        Some(Headline::Seconds) => t.measured.elapsed_s,
        _ => t.bandwidth() / MIB,
    };
    trimmed_mean(&values(record, workload, arm, value), 0)
}

fn unit(workload: &Workload) -> &'static str {
    match workload.figure() {
        Some(Headline::Latency) => "ms",
        Some(Headline::Iops) => "IO/s",
        Some(Headline::Seconds) => "s",
        _ => "MiB/s",
    }
}

pub(crate) fn plain(record: &Record) -> Option<&Arm> {
    arms(record).find(|a| a.role == ArmRole::Plain)
}

fn number(value: Option<f64>) -> Field {
    let places = |v: f64| match v.abs() {
        a if a < 10.0 => 3,
        a if a < 100.0 => 2,
        _ => 1,
    };
    value.map(|v| Number::new(v, places(v))).into()
}

/// The change relative to plain in percent, as in study A.
fn change(plain: Option<f64>, arm: Option<f64>) -> Field {
    let both = plain.zip(arm).filter(|(p, _)| *p > 0.0);
    both.map(|(p, e)| Number::percent(100.0 * (e / p - 1.0)).signed()).into()
}

/// ATTO's and HD Tune's figures for a trial.
#[derive(Clone, Copy)]
enum Quantity {
    Speed,
    Rate,
    /// Percentage of all CPUs, as in HD Tune.
    Cpu,
}

impl Quantity {
    fn name(self) -> &'static str {
        match self {
            Self::Speed => "MiB/s",
            Self::Rate => "IO/s",
            Self::Cpu => "% CPU",
        }
    }

    /// The means of plain storage and of an arm, and the change as in study A; for CPU usage, the increase in
    /// percentage points.
    fn cells(self, record: &Record, workload: &Workload, plain: &Arm, arm: &Arm) -> [Field; 3] {
        let means = |value: fn(&Trial) -> f64| {
            let mean = |arm| trimmed_mean(&values(record, workload, arm, value), 0);
            let (p, e) = (mean(plain), mean(arm));
            [number(p), number(e), change(p, e)]
        };
        match self {
            Self::Speed => means(|t| t.bandwidth() / MIB),
            Self::Rate => means(Trial::iops),
            Self::Cpu => {
                let usage = Usage::of(record);
                let of = |arm: &Arm| record.trials_of(&workload.id, &arm.id);
                let (p, e) = (of(plain), of(arm));
                let rise = with_interval(&usage.more(&e, &p)).map(Number::signed);
                let [p, e] = [p, e].map(|trials| with_interval(&usage.all(&trials)).into());
                [p, e, rise.into()]
            }
        }
    }
}

fn atto(record: &Record) -> Vec<Table> {
    let Some(plain) = plain(record) else { return Vec::new() };
    let by = |operation: &Operation, block: u64| {
        let same = |w: &&Workload| w.operation == *operation && w.block_size == block;
        record.plan.workloads.iter().find(same)
    };
    let mut blocks: Vec<u64> = record.plan.workloads.iter().map(|w| w.block_size).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let table = |arm: &Arm, what: Quantity| Table {
        title: format!("ATTO, {}: plain against {}", what.name(), arm.label),
        headings: vec![
            "block",
            "write plain",
            "encrypted",
            "change",
            "read plain",
            "encrypted",
            "change",
        ],
        rows: blocks
            .iter()
            .map(|block| {
                let mut row = vec![Field::from(size(*block))];
                for operation in [Operation::Write, Operation::Read] {
                    let found = by(&operation, *block);
                    row.extend(
                        found.map(|w| what.cells(record, w, plain, arm)).unwrap_or_default(),
                    );
                }
                row
            })
            .collect(),
        note: match what {
            Quantity::Cpu => {
                "Percent of all processors, and the increase in percentage points, with 95 % intervals."
            }
            Quantity::Speed | Quantity::Rate => "Means of the trials (study A: of five).",
        },
    };
    let all = [Quantity::Speed, Quantity::Rate, Quantity::Cpu];
    encrypted(record).flat_map(|arm| all.map(|what| table(arm, what))).collect()
}

fn hd_tune(record: &Record) -> Vec<Table> {
    let Some(plain) = plain(record) else { return Vec::new() };
    let table = |arm: &Arm| Table {
        title: format!("HD Tune: plain against {}", arm.label),
        headings: vec!["what", "unit", "plain", "encrypted", "change", "% CPU", "encrypted"],
        rows: record
            .plan
            .workloads
            .iter()
            .map(|w| {
                let (p, e) = (mean(record, w, plain), mean(record, w, arm));
                let [cpu, more, _] = Quantity::Cpu.cells(record, w, plain, arm);
                vec![
                    w.label.clone().into(),
                    unit(w).into(),
                    number(p),
                    number(e),
                    change(p, e),
                    cpu,
                    more,
                ]
            })
            .collect(),
        note: "Means of the trials. % CPU: of all processors, with 95 % intervals.",
    };
    encrypted(record).map(table).collect()
}

/// Study B: times, without the longest and the shortest time.
fn copies(record: &Record) -> Table {
    let mut rows = Vec::new();
    for workload in &record.plan.workloads {
        let mut first = None;
        for arm in arms(record) {
            let times = values(record, workload, arm, |t| t.measured.elapsed_s);
            let (Some(kept), Some(bytes)) = (trimmed(&times, 1), workload.trial_bytes) else {
                continue;
            };
            let mean = kept.iter().sum::<f64>() / kept.len() as f64;
            let squares: f64 = kept.iter().map(|t| (t - mean).powi(2)).sum();
            let deviation = (kept.len() > 1).then(|| (squares / (kept.len() - 1) as f64).sqrt());
            let plain = *first.get_or_insert(mean);
            rows.push(vec![
                workload.label.clone().into(),
                arm.label.clone().into(),
                number(Some(mean)),
                number(deviation),
                number(Some(bytes as f64 / mean / 1e6)),
                Number::new(mean / plain, 2).into(),
            ]);
        }
    }
    Table {
        title: "dd bs=1M count=128: seconds, MB/s, times as long as plain".into(),
        headings: vec!["of", "volume", "mean s", "s.d.", "MB/s", "times"],
        rows,
        note: "The longest and the shortest trial are dropped (study B: of ten). The data is generated before the \
            clock starts.",
    }
}

/// Study C: iozone's mean loss as a percentage of the larger value over all cells, the same figure between identical
/// series, and dd's times.
fn losses(iozone: Option<&Record>, dd: Option<&Record>) -> Option<Table> {
    let mut rows = Vec::new();
    let record = iozone.or(dd)?;
    // dd was measured at more locations.
    let is_new = |arm: &&Arm| arms(record).all(|known| known.id != arm.id);
    for arm in arms(record).chain(dd.into_iter().flat_map(arms).filter(is_new)) {
        let (lost, between) =
            iozone.map_or((None, None), |r| (lost(r, arm), between_series(r, arm)));
        let copy = dd.and_then(|r| {
            let workload = r.plan.workloads.first()?;
            let own = arms(r).find(|a| a.id == arm.id)?;
            let seconds =
                |arm| trimmed_mean(&values(r, workload, arm, |t| t.measured.elapsed_s), 0);
            let (time, base) = (seconds(own)?, seconds(plain(r)?)?);
            let speed = workload.trial_bytes? as f64 / time / 1e6;
            // Computed from speeds: the shorter time has the larger speed.
            let loss = 100.0 * (1.0 / base - 1.0 / time) / (1.0 / base).max(1.0 / time);
            Some((time, speed, loss))
        });
        let percent = |v: Option<f64>| Field::from(v.map(|v| Number::new(v, 1)));
        // Plain storage loses nothing against itself.
        let loss = |v: Option<f64>| percent(v.filter(|_| arm.role != ArmRole::Plain));
        rows.push(vec![
            arm.label.clone().into(),
            loss(lost),
            percent(between),
            number(copy.map(|c| c.0)),
            number(copy.map(|c| c.1)),
            loss(copy.map(|c| c.2)),
        ]);
    }
    Some(Table {
        title: "iozone -a and dd bs=4k of random data; percent of the larger speed".into(),
        headings: vec!["system", "iozone % lost", "% between series", "dd s", "MB/s", "dd % lost"],
        rows,
        note: "Means cell by cell. A loss smaller than the difference between identical series does not count (E35). \
               dd's data is generated before the clock starts.",
    })
}

fn lost(record: &Record, arm: &Arm) -> Option<f64> {
    let plain = plain(record)?;
    let cell =
        |w: &Workload| Some(percent_of_larger(mean(record, w, plain)?, mean(record, w, arm)?));
    let cells: Vec<f64> = record.plan.workloads.iter().filter_map(cell).collect();
    trimmed_mean(&cells, 0)
}

/// The mean difference over the cells, averaged over all pairs of series.
fn between_series(record: &Record, arm: &Arm) -> Option<f64> {
    let mut differences = Vec::new();
    for workload in &record.plan.workloads {
        let speeds = values(record, workload, arm, Trial::bandwidth);
        for (i, one) in speeds.iter().enumerate() {
            differences.extend(speeds[i + 1..].iter().map(|o| percent_of_larger(*one, *o).abs()));
        }
    }
    trimmed_mean(&differences, 0)
}

/// Study D: each pattern, system and cipher, with its advantage over the slowest.
fn anvil(record: &Record) -> Table {
    let mut rows = Vec::new();
    for workload in record.plan.workloads.iter().filter(|w| FOUR.contains(&w.id.as_str())) {
        let speeds: Vec<(&Arm, f64)> = arms(record)
            .filter_map(|a| {
                let mb = trimmed_mean(&values(record, workload, a, |t| t.bandwidth() / 1e6), 0)?;
                Some((a, mb))
            })
            .collect();
        let of_encrypted = || speeds.iter().filter(|(a, _)| a.role == ArmRole::Encrypted);
        let slowest = of_encrypted().map(|(_, v)| *v).fold(f64::INFINITY, f64::min);
        for (arm, speed) in &speeds {
            let better = (arm.role == ArmRole::Encrypted)
                .then(|| Number::percent(100.0 * (speed / slowest - 1.0)));
            rows.push(vec![
                workload.label.clone().into(),
                arm.label.clone().into(),
                number(Some(*speed)),
                better.into(),
            ]);
        }
    }
    Table {
        title: "Anvil's Storage Utilities, MB/s; lead over the slowest encrypted choice".into(),
        headings: vec!["test", "system and cipher", "MB/s", "better by"],
        rows,
        note: "Means of the trials (study D: of ten). The study did not measure plain storage.",
    }
}

/// Study D: the advantage of one program over the other with each cipher, as 100 (fast / slow - 1) %.
fn programs(record: &Record) -> Option<Table> {
    let mut rows = Vec::new();
    for workload in record.plan.workloads.iter().filter(|w| FOUR.contains(&w.id.as_str())) {
        let mut speeds: Vec<(String, String, f64)> = encrypted(record)
            .filter_map(|arm| {
                let (program, cipher) = arm.program_and_cipher()?;
                let program = catalog::find(&program).map_or(program, catalog::System::usual_title);
                let cipher = catalog::cipher_title(&cipher);
                let speed =
                    trimmed_mean(&values(record, workload, arm, |t| t.bandwidth() / 1e6), 0)?;
                Some((cipher, program, speed))
            })
            .collect();
        speeds.sort_by(|a, b| a.0.cmp(&b.0).then(b.2.total_cmp(&a.2)));
        for same in speeds.chunk_by(|a, b| a.0 == b.0) {
            let [(cipher, fast, most), .., (_, slow, least)] = same else { continue };
            if fast == slow {
                continue;
            }
            rows.push(vec![
                workload.label.clone().into(),
                cipher.clone().into(),
                fast.clone().into(),
                number(Some(*most)),
                slow.clone().into(),
                number(Some(*least)),
                Number::new(100.0 * (most / least - 1.0), 2).unit("%").into(),
            ]);
        }
    }
    (!rows.is_empty()).then(|| Table {
        title: "Comparison of the programs, MB/s; which program is faster, and by how much".into(),
        headings: vec!["test", "cipher", "faster", "MB/s", "than", "MB/s", "by"],
        rows,
        note: "The report of the record shows whether a difference is more than noise.",
    })
}
