//! The device for which to predict, which is a model or a record, and the times of its plain requests.

use std::path::Path;

use cryptbench_catalog::DeviceModel;
use cryptbench_devices::predict::{Added, Serial, per_request_s, spacing_s};
use cryptbench_devices::sweep::{Load, seconds_in_series, seconds_per_request};
use cryptbench_devices::{Model, Operation};
use cryptbench_record::{ArmRole, Operation as Does, Pattern, Record, Workload};
use cryptbench_stats::cost_model::fit;
use cryptbench_stats::{SizePoint, median};

use super::rates::CipherRate;

/// The source of plain times.
pub(super) enum Profile {
    Model(Box<Model>),
    Record(Box<Record>),
}

/// Plain requests of one kind.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    pub(super) label: String,
    pub(super) operation: Operation,
    pub(super) pattern: Pattern,
    pub(super) bytes: u64,
    pub(super) queue_depth: u32,
    /// Seconds between two completions.
    pub(super) seconds: f64,
    /// The requests as simulated on a model; `None` for a record.
    pub(super) load: Option<Load>,
}

/// Seconds between two encrypted requests on a model.
pub(super) fn on_model(model: &Model, load: &Load, added: &Added) -> f64 {
    seconds_per_request(model, &Load { think_s: added.seconds(load.bytes), ..*load })
}

/// Sizes for which a model is simulated, in order.
const SIZES: [u64; 6] = [512, 4096, 16_384, 65_536, 262_144, 1 << 20];

/// Size of the file that is accessed by the requests to a model.
const FILE: u64 = 1 << 30;

impl Profile {
    /// A built-in model, a model file, or a record.
    pub(super) fn find(path: &Path) -> anyhow::Result<Self> {
        if path.is_dir() || path.extension().is_some_and(|e| e == "json") {
            return Ok(Self::Record(Box::new(cryptbench_record::read(path)?)));
        }
        Ok(Self::Model(Box::new(Model::named_or_file(path)?)))
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Model(model) => model.name.clone(),
            Self::Record(record) => format!("run {}", record.run_id),
        }
    }

    pub(super) fn is_model(&self) -> bool {
        match self {
            Self::Model(_) => true,
            Self::Record(record) => record.target.emulated.is_some(),
        }
    }

    pub(super) fn words(&self) -> String {
        match self {
            Self::Model(model) => {
                format!("the model: {} (parameters {})", model.about, model.hash())
            }
            Self::Record(record) => match &record.target.emulated {
                Some(e) => format!("run {}, EMULATED {}", record.run_id, e.model),
                None => format!("run {} in {}", record.run_id, record.target.directory),
            },
        }
    }

    /// The most important reasons why predictions for this device may be wrong (docs/devices.md has the figures).
    pub(super) fn remarks(&self, serial: Option<Serial>) -> Vec<String> {
        let words = match self {
            Self::Model(model) if serial.is_some() && model.rotates() => {
                "This prediction failed for study A's published sweep of a hard disk: the loss (37 % for large \
                 requests) was larger than the cost of such a driver; see cryptbench predict --validate."
            }
            Self::Model(_) if serial.is_some() => {
                "This prediction agrees with study A's published sweeps for large reads. For small requests it \
                 predicts a larger loss than was published, because the time of an individual request is only an \
                 assumption of the model; see cryptbench predict --validate."
            }
            Self::Record(_) if serial.is_some() => {
                "Predictions cover only cells whose plain time at queue depth 1 is known from a workload of this \
                 record or from its additional measurements of plain storage."
            }
            Self::Model(model)
                if model.rotates()
                    || DeviceModel::of(&model.name) == Some(DeviceModel::UsbFlash) =>
            {
                "This prediction failed for study A's published sweeps of the hard disk and the flash drive: \
                 encryption cost far more there than the cipher and the software account for. No device model \
                 explains this."
            }
            Self::Model(_) => {
                "For study A's published sweep of an SSD, the error of this prediction was at most about 11 % of the \
                 rate where the sweep is regular; see cryptbench predict --validate."
            }
            Self::Record(_) => {
                "Plain times were measured; cryptbench predict --validate RECORD prints the error of predictions from \
                 this record."
            }
        };
        vec![words.to_owned()]
    }

    /// Seconds between two encrypted requests. On a model, they are simulated, because the model continues to read
    /// ahead and to write back its caches while the CPU is busy. On a record, they are calculated from the plain time
    /// only. `None` if a serial driver is requested for which the record lacks plain times.
    pub(super) fn encrypted_s(
        &self,
        plain: &Plain,
        added: &Added,
        serial: Option<Serial>,
    ) -> Option<f64> {
        match (self, &plain.load, serial) {
            // Encryption never makes a request faster, although the caches can be in different states in the two
            // simulations.
            (Self::Model(model), Some(load), None) => {
                Some(on_model(model, load, added).max(plain.seconds))
            }
            (Self::Model(model), Some(load), Some(serial)) => {
                Some(seconds_in_series(model, load, serial, added))
            }
            (Self::Record(record), _, Some(serial)) => {
                Some(one_at_a_time(record, plain, serial)? + serial.seconds(plain.bytes, added))
            }
            _ => Some(spacing_s(plain.seconds, plain.bytes, plain.queue_depth, added)),
        }
    }

    /// The device's plain requests; on a model, `queue_depth` requests are in flight.
    pub(super) fn plain(&self, queue_depth: u32) -> Vec<Plain> {
        match self {
            Self::Model(model) => of_model(model, queue_depth),
            Self::Record(record) => of_record(record),
        }
    }
}

pub(super) fn verb(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "read",
        _ => "write",
    }
}

fn of_model(model: &Model, queue_depth: u32) -> Vec<Plain> {
    let mut found = Vec::new();
    for random in [false, true] {
        for operation in [Operation::Read, Operation::Write] {
            for bytes in SIZES {
                let load =
                    Load { operation, random, bytes, queue_depth, file_bytes: FILE, think_s: 0.0 };
                let pattern = if random { Pattern::Random } else { Pattern::Sequential };
                found.push(Plain {
                    label: format!("{pattern} {}", verb(operation)),
                    operation,
                    pattern,
                    bytes,
                    queue_depth,
                    seconds: seconds_per_request(model, &load),
                    load: Some(load),
                });
            }
        }
    }
    found
}

fn of_record(record: &Record) -> Vec<Plain> {
    let Some(arm) = record.plan.arms.iter().find(|arm| arm.role == ArmRole::Plain) else {
        return Vec::new();
    };
    let plain = |workload: &Workload| {
        Some(Plain {
            label: format!("{} {}", workload.pattern, workload.operation),
            operation: operation(workload)?,
            pattern: workload.pattern.clone(),
            bytes: workload.block_size,
            queue_depth: workload.in_flight(),
            seconds: spacing(record, workload, &arm.id)?,
            load: None,
        })
    };
    record.plan.workloads.iter().filter_map(plain).collect()
}

/// Seconds that a record's device takes for a request that is split into pieces, with only one piece in flight at a
/// time.
fn one_at_a_time(record: &Record, plain: &Plain, serial: Serial) -> Option<f64> {
    let does = match plain.operation {
        Operation::Read => Does::Read,
        _ => Does::Write,
    };
    let piece = plain.bytes.min(serial.piece);
    let arm = record.plan.arms.iter().find(|arm| arm.role == ArmRole::Plain)?;
    let is_same = |workload: &&Workload| {
        workload.in_flight() == 1
            && workload.block_size == piece
            && workload.operation == does
            && workload.pattern == plain.pattern
    };
    let measured = record.plan.workloads.iter().find(is_same);
    let seconds =
        measured.and_then(|workload| spacing(record, workload, &arm.id)).or_else(|| {
            let curve = record.why.as_ref()?.curve.iter().filter(|point| {
                (point.depth, point.block_size) == (1, piece)
                    && point.operation == does
                    && point.pattern == plain.pattern
            });
            median(&curve.map(|point| 1.0 / point.iops()).collect::<Vec<_>>())
        })?;
    Some(seconds * serial.pieces(plain.bytes) as f64)
}

/// The operation of a workload that only reads or only writes blocks.
pub(super) fn operation(workload: &Workload) -> Option<Operation> {
    if workload.block_size == 0 || !workload.is_of_requests() {
        return None;
    }
    match workload.operation {
        Does::Read => Some(Operation::Read),
        Does::Write => Some(Operation::Write),
        _ => None,
    }
}

/// Interval between two requests of an arm in seconds: the median over its trials.
pub(super) fn spacing(record: &Record, workload: &Workload, arm: &str) -> Option<f64> {
    let times: Vec<f64> =
        record.trials_of(&workload.id, arm).iter().map(|(_, t)| 1.0 / t.iops()).collect();
    median(&times).filter(|t| t.is_finite() && *t > 0.0)
}

/// The time that an arm of a record adds to each request.
pub(super) struct PerRequest {
    pub(super) seconds: f64,
    pub(super) arm: String,
    /// Describes the line that was fitted through the times for all sizes; empty if there are too few sizes.
    pub(super) fit: String,
}

/// The time of the encrypted arm that the user requested or, if none was requested, of the record's first arm with a
/// known cipher rate.
pub(super) fn per_request_of(
    record: &Record,
    ciphers: &[CipherRate],
    asked: Option<&str>,
) -> anyhow::Result<PerRequest> {
    let none = |why: String| {
        anyhow::anyhow!("cannot derive a cost per request from run {}: {why}", record.run_id)
    };
    let plain = record.plan.arms.iter().find(|arm| arm.role == ArmRole::Plain);
    let plain = plain.ok_or_else(|| none("it did not measure plain storage".to_owned()))?;
    let rate_of = |arm: &cryptbench_record::Arm| {
        let named = arm.cipher.as_deref()?;
        let same = ciphers.iter().find(|c| c.cipher == named && Some(c.data_unit) == arm.data_unit);
        same.or_else(|| ciphers.iter().find(|c| c.cipher == named))
    };
    let mut arms = record.plan.arms.iter().filter(|arm| arm.role == ArmRole::Encrypted);
    let (arm, rate) = arms
        .find_map(|arm| {
            let wanted = asked.is_none_or(|id| arm.id == id || arm.system == id);
            wanted.then(|| rate_of(arm).map(|rate| (arm, rate))).flatten()
        })
        .ok_or_else(|| {
            none("it has no encrypted choice with a cipher whose rate is known".to_owned())
        })?;
    let (mut known, mut points) = (Vec::new(), Vec::new());
    for workload in &record.plan.workloads {
        let Some(operation) = operation(workload) else { continue };
        let (Some(before), Some(after)) =
            (spacing(record, workload, &plain.id), spacing(record, workload, &arm.id))
        else {
            continue;
        };
        known.push((before, after, workload.block_size, workload.in_flight(), rate.of(operation)));
        let times = |id: &str| -> Vec<f64> {
            record.trials_of(&workload.id, id).iter().map(|(_, t)| 1.0 / t.iops()).collect()
        };
        points.extend(SizePoint::of(
            workload.block_size as f64,
            &times(&plain.id),
            &times(&arm.id),
        ));
    }
    let seconds = per_request_s(&known)
        .ok_or_else(|| none("the two choices have no block workload in common".to_owned()))?;
    let line = fit(&points, record.plan.confidence).map_or_else(String::new, |line| {
        let us = |x: f64| x * 1e6;
        let a = &line.per_request_s;
        format!(
            "; line fitted to its request sizes: {:.2} µs [{:.2}, {:.2}] + {:.0} ns per KiB, misfit {:.1}",
            us(a.value),
            us(a.low),
            us(a.high),
            line.per_byte_s.value * 1024e9,
            line.misfit
        )
    });
    Ok(PerRequest { seconds, arm: arm.label.clone(), fit: line })
}
