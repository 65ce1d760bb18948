//! One table for several records: devices in columns, systems and ciphers in rows, as in study D.
//!
//! Speeds are means of the trials, as in the studies. The comparisons are paired: each arm's percentage of plain
//! speed and the advantage of one program over another come from the blocks of their own record, so that a faster
//! device does not look like a faster system. Devices are not compared with each other.

use std::collections::BTreeSet;

use cryptbench_record::{Arm, ArmRole, Headline, Record, Workload};
use cryptbench_stats::{estimate, mean};
use serde::Serialize;

use crate::naming::Naming;

/// Several records as one table.
#[derive(Clone, Debug, Serialize)]
pub struct Joint {
    /// The devices, one per record, in the given order.
    pub devices: Vec<Device>,
    /// The workloads that are in at least two records.
    pub workloads: Vec<Work>,
    /// Names of the workloads that are in only one record.
    pub of_one_alone: Vec<String>,
    /// Confidence of the intervals.
    pub confidence: f64,
}

/// A record, as a column.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    /// `A`, `B` and so on.
    pub letter: String,
    /// The device and its file system, in words.
    pub name: String,
    /// The record's name, as given by the user.
    pub record: String,
}

/// One workload on all devices.
#[derive(Clone, Debug, Serialize)]
pub struct Work {
    /// Its identifier in a record.
    pub id: String,
    /// Its label in the record.
    pub label: String,
    /// Its name for users.
    pub name: String,
    /// The unit of [`Cell::mean`].
    pub unit: &'static str,
    /// One row per system and cipher.
    pub rows: Vec<Row>,
    /// For each cipher that several programs have: the faster program.
    pub programs: Vec<Advantage>,
    /// For each program that has several ciphers: the faster cipher.
    pub ciphers: Vec<Advantage>,
}

/// One system and cipher.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its label in the records.
    pub label: String,
    /// Its name for users.
    pub name: String,
    /// One cell per device; absent if the device was not measured.
    pub cells: Vec<Option<Cell>>,
}

/// One system on one device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Mean of the trials.
    pub mean: f64,
    /// Number of trials.
    pub trials: usize,
    /// Share of plain speed, paired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_plain: Option<Ratio>,
    /// Whether the data came from a cache, according to the record.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

/// A ratio of speeds with its interval, from pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Geometric mean.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// The fastest of several programs or ciphers, on each device.
#[derive(Clone, Debug, Serialize)]
pub struct Advantage {
    /// The cipher whose programs are compared, or the program whose ciphers are compared.
    pub of: String,
    /// One entry per device; absent if fewer than two programs or ciphers were measured on the device.
    pub cells: Vec<Option<Fastest>>,
}

/// The fastest of several programs or ciphers, compared with the slowest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fastest {
    /// The fastest.
    pub fastest: String,
    /// The slowest.
    pub slowest: String,
    /// `100 (fast / slow - 1)` for the means, as in the study.
    pub percent: f64,
    /// The ratio of the two, calculated from pairs, with its interval; absent if there are fewer than three pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paired: Option<Ratio>,
}

/// A program and its cipher.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    program: String,
    cipher: String,
}

/// Combines records side by side, each with the name given by the user; `names` are the names of their workloads and
/// arms.
pub fn joint(records: &[(String, Record)], confidence: f64, names: &dyn Naming) -> Joint {
    let mut workloads: Vec<(&Workload, usize)> = Vec::new();
    for workload in records.iter().flat_map(|(_, record)| &record.plan.workloads) {
        match workloads.iter_mut().find(|(seen, _)| seen.id == workload.id) {
            Some((_, times)) => *times += 1,
            None => workloads.push((workload, 1)),
        }
    }
    let (shared, alone): (Vec<_>, Vec<_>) =
        workloads.into_iter().partition(|(_, times)| *times > 1);
    Joint {
        devices: records.iter().enumerate().map(device).collect(),
        workloads: shared.into_iter().map(|(w, _)| work(w, records, confidence, names)).collect(),
        of_one_alone: alone.into_iter().map(|(w, _)| names.workload(w)).collect(),
        confidence,
    }
}

fn device((number, (name, record)): (usize, &(String, Record))) -> Device {
    let target = &record.target;
    let device = target.device.as_ref();
    let device = device.map(|d| d.model.as_deref().map_or(d.name.as_str(), str::trim).to_owned());
    let model = target.emulated.as_ref().map(|model| format!("EMULATED {}", model.model));
    let parts = [
        model.or(device).unwrap_or_else(|| target.source.clone()),
        target.filesystem.clone(),
        record.machine.cpu_model.clone(),
    ];
    let letter = u8::try_from(number).ok().filter(|n| *n < 26).map(|n| char::from(b'A' + n));
    Device {
        letter: letter.map_or_else(|| (number + 1).to_string(), String::from),
        name: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "),
        record: name.clone(),
    }
}

fn work(
    workload: &Workload,
    records: &[(String, Record)],
    confidence: f64,
    names: &dyn Naming,
) -> Work {
    let arms = |record: &Record| -> Vec<Arm> {
        let shown = |arm: &&Arm| matches!(arm.role, ArmRole::Plain | ArmRole::Encrypted);
        record.plan.arms.iter().filter(shown).cloned().collect()
    };
    let mut shown: Vec<Arm> = Vec::new();
    for arm in records.iter().flat_map(|(_, record)| arms(record)) {
        if shown.iter().all(|known| known.label != arm.label) {
            shown.push(arm);
        }
    }
    let unit = unit(workload);
    let row = |arm: Arm| Row {
        cells: records
            .iter()
            .map(|(_, record)| cell(record, workload, arm_called(record, &arm.label)?, confidence))
            .collect(),
        name: names.arm(&arm),
        label: arm.label,
    };
    let rows = shown.into_iter().map(row).filter(|row| row.cells.iter().any(Option::is_some));
    let kinds: BTreeSet<Kind> =
        records.iter().flat_map(|(_, record)| arms(record)).filter_map(|arm| kind(&arm)).collect();
    let advantage = |of: String, chosen: &dyn Fn(&Kind) -> bool, name: &dyn Fn(&Kind) -> String| {
        let cells: Vec<Option<Fastest>> = records
            .iter()
            .map(|(_, record)| {
                let compared: Vec<(Arm, String)> = arms(record)
                    .into_iter()
                    .filter_map(|arm| kind(&arm).filter(|k| chosen(k)).map(|k| (arm, name(&k))))
                    .collect();
                fastest(record, workload, &compared, confidence)
            })
            .collect();
        cells.iter().any(Option::is_some).then_some(Advantage { of, cells })
    };
    let ciphers: BTreeSet<&String> = kinds.iter().map(|k| &k.cipher).collect();
    let programs: BTreeSet<&String> = kinds.iter().map(|k| &k.program).collect();
    Work {
        id: workload.id.clone(),
        label: workload.label.clone(),
        name: names.workload(workload),
        unit,
        rows: rows.collect(),
        programs: ciphers
            .into_iter()
            .filter_map(|c| advantage(c.clone(), &|k| k.cipher == *c, &|k| k.program.clone()))
            .collect(),
        ciphers: programs
            .into_iter()
            .filter_map(|p| advantage(p.clone(), &|k| k.program == *p, &|k| k.cipher.clone()))
            .collect(),
    }
}

fn arm_called<'a>(record: &'a Record, label: &str) -> Option<&'a Arm> {
    record.plan.arms.iter().find(|arm| arm.label == label)
}

/// The unit of a workload's figure.
fn unit(workload: &Workload) -> &'static str {
    match workload.figure() {
        Some(Headline::Latency) => "ms",
        Some(Headline::Iops) => "IO/s",
        Some(Headline::Files) => "files/s",
        Some(Headline::Seconds) => "s",
        _ => "MB/s",
    }
}

fn cell(record: &Record, workload: &Workload, arm: &Arm, confidence: f64) -> Option<Cell> {
    let values = values(record, workload, arm);
    let plain = record.plan.arms.iter().find(|a| a.role == ArmRole::Plain);
    let of_plain = plain.filter(|plain| plain.id != arm.id);
    let results = record.results.iter().flat_map(|r| &r.cells);
    Some(Cell {
        mean: mean(&values)?,
        trials: values.len(),
        of_plain: of_plain
            .and_then(|_| ratio(record, workload, arm, &record.plan.baseline(arm), confidence)),
        cached: results.filter(|c| c.workload == workload.id && c.arm == arm.id).any(|c| c.cached),
    })
}

fn values(record: &Record, workload: &Workload, arm: &Arm) -> Vec<f64> {
    let unit = unit(workload);
    let value = |trial: &cryptbench_record::Trial| match unit {
        "ms" => trial.measured.latency.mean_us / 1000.0,
        "IO/s" | "files/s" => trial.iops(),
        "s" => trial.measured.elapsed_s,
        _ => trial.bandwidth() / 1e6,
    };
    record.trials_of(&workload.id, &arm.id).into_iter().map(|(_, t)| value(t)).collect()
}

/// Speed of `arm` divided by the mean speed of `base`, block by block.
fn ratio(
    record: &Record,
    workload: &Workload,
    arm: &Arm,
    base: &[&str],
    confidence: f64,
) -> Option<Ratio> {
    let e = estimate(&record.log_ratios(&workload.id, &arm.id, base), confidence)?;
    Some(Ratio { ratio: e.mean.exp(), low: e.low.exp(), high: e.high.exp() })
}

fn fastest(
    record: &Record,
    workload: &Workload,
    compared: &[(Arm, String)],
    confidence: f64,
) -> Option<Fastest> {
    // For times, shorter is better.
    let less_is_better = matches!(unit(workload), "ms" | "s");
    let speed = |arm: &Arm| {
        let mean = mean(&values(record, workload, arm))?;
        Some(if less_is_better { 1.0 / mean } else { mean })
    };
    let mut speeds: Vec<(f64, &Arm, &String)> =
        compared.iter().filter_map(|(arm, name)| Some((speed(arm)?, arm, name))).collect();
    speeds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (slow, slow_arm, slowest) = speeds.first()?;
    let (fast, fast_arm, fastest) = speeds.last()?;
    (fastest != slowest).then(|| Fastest {
        fastest: (*fastest).clone(),
        slowest: (*slowest).clone(),
        percent: 100.0 * (fast / slow - 1.0),
        paired: ratio(record, workload, fast_arm, &[&slow_arm.id], confidence),
    })
}

fn kind(arm: &Arm) -> Option<Kind> {
    arm.program_and_cipher().map(|(program, cipher)| Kind { program, cipher })
}
