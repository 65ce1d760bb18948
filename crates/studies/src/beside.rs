//! Compares a record of this machine with the most similar published device.
//!
//! The most similar device is the one whose plain speeds have the smallest mean of |ln(ours / theirs)| over the
//! comparable cells: the same operation, sequential, with the same block size. A study's caches, queue depth
//! and computer are unknown, so the comparison only shows which published device resembles this one.

use std::collections::BTreeMap;

use cryptbench_record::{Arm, ArmRole, Operation, Pattern, Record, Workload};
use serde::Serialize;

use crate::observation::{Dimension, Observation};
use crate::replay::Replay;
use crate::study::Letter;

const MIB: f64 = 1_048_576.0;

/// A published device and its distance from a record.
#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    /// The study that measured the device.
    pub study: Letter,
    /// `flash`, `ssd`, `hdd` or `microsd`.
    pub device: String,
    /// Mean |ln(ours / theirs)| of the plain speeds; its exponential is the factor between the two.
    pub distance: f64,
    /// The cells that both sides measured.
    pub cells: Vec<Cell>,
}

/// One cell that both sides measured. Speeds are in MiB/s; the MB/s of studies B and C are not converted.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The record's workload.
    pub workload: String,
    /// Our plain speed: mean of the trials.
    pub ours: f64,
    /// The study's plain speed.
    pub theirs: f64,
    /// Our loss from encryption in percent for each encrypted arm, by its label: paired, geometric
    /// mean.
    pub our_drops: Vec<(String, f64)>,
    /// The study's loss in percent by system, computed from speeds.
    pub their_drops: Vec<(String, f64)>,
}

/// Every comparable published device, most similar first.
pub fn beside(record: &Record, replays: &[Replay]) -> Vec<Beside> {
    let mut found: Vec<Beside> = replays.iter().flat_map(|r| devices(record, r)).collect();
    found.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    found
}

fn devices(record: &Record, replay: &Replay) -> Vec<Beside> {
    let mut by_device: BTreeMap<String, Vec<Cell>> = BTreeMap::new();
    for workload in &record.plan.workloads {
        let Some(ours) = plain_speed(record, workload) else { continue };
        let speeds = |state: &'static str| {
            replay
                .observations
                .iter()
                .filter(move |o| o.about(Dimension::State) == state && comparable(o, workload))
        };
        for plain in speeds("plain") {
            let theirs = plain.value.value();
            let drop = |o: &Observation| {
                (o.about(Dimension::System).to_owned(), 100.0 * (1.0 - o.value.value() / theirs))
            };
            let same_device =
                |o: &&Observation| o.about(Dimension::Device) == plain.about(Dimension::Device);
            by_device.entry(plain.about(Dimension::Device).to_owned()).or_default().push(Cell {
                workload: workload.label.clone(),
                ours,
                theirs,
                our_drops: drops(record, workload),
                their_drops: speeds("encrypted").filter(same_device).map(drop).collect(),
            });
        }
    }
    let study = replay.about.letter;
    let near = |(device, cells): (String, Vec<Cell>)| {
        let logs: Vec<f64> = cells.iter().map(|c| (c.ours / c.theirs).ln().abs()).collect();
        let distance = crate::trimmed_mean(&logs, 0)?;
        distance.is_finite().then_some(Beside { study, device, distance, cells })
    };
    by_device.into_iter().filter_map(near).collect()
}

/// Whether a published speed belongs to the same work. ATTO's figures must match in operation and
/// block size. dd's figures, whose data is zeros or random, match only copies of a fixed amount.
fn comparable(o: &Observation, workload: &Workload) -> bool {
    if workload.pattern != Pattern::Sequential {
        return false;
    }
    let copy = workload.operation == Operation::Write && workload.trial_bytes.is_some();
    let zeros = workload.content.as_deref() == Some("zeros");
    match (o.unit, o.about(Dimension::Work)) {
        ("MiB/s", work) => {
            work == workload.operation.as_str() && o.block == Some(workload.block_size)
        }
        ("MB/s", "random") => copy && !zeros,
        ("MB/s", "zero") => copy && zeros,
        ("MB/s", "dd") => copy && !zeros && workload.block_size == 4096,
        _ => false,
    }
}

fn plain_speed(record: &Record, workload: &Workload) -> Option<f64> {
    let plain = record.plan.arms.iter().find(|a| a.role == ArmRole::Plain)?;
    let trials = record.trials_of(&workload.id, &plain.id);
    let speeds: Vec<f64> = trials.iter().map(|(_, t)| t.bandwidth() / MIB).collect();
    crate::trimmed_mean(&speeds, 0).filter(|v| *v > 0.0)
}

fn drops(record: &Record, workload: &Workload) -> Vec<(String, f64)> {
    let encrypted = record.plan.arms.iter().filter(|a| a.role == ArmRole::Encrypted);
    let of = |arm: &Arm| record.log_ratios(&workload.id, &arm.id, &record.plan.baseline(arm));
    let drop = |arm: &Arm| {
        let mean = crate::trimmed_mean(&of(arm), 0)?;
        Some((arm.label.clone(), 100.0 * (1.0 - mean.exp())))
    };
    encrypted.filter_map(drop).collect()
}
