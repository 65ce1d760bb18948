//! `cryptbench predict --validate`: compares predictions with published and measured figures.

use std::process::ExitCode;

use cryptbench_catalog::DeviceModel;
use cryptbench_cipher::ciphers;
use cryptbench_devices::Model;
use cryptbench_devices::predict::{Added, Serial, keeps, per_request_s};
use cryptbench_devices::published::{Point, atto};
use cryptbench_devices::sweep::{Load, seconds_in_series, seconds_per_request};
use cryptbench_record::{ArmRole, Pattern, Record};
use cryptbench_studies::Files;
use serde::Serialize;

use super::device::{on_model, operation, spacing, verb};
use super::rates::{CipherRate, cipher_rates};
use super::{DEFAULT_PER_REQUEST_S, SERIAL_PER_PIECE_S, text};
use crate::args::PredictArgs;
use crate::say::{note, print, print_json};

/// A prediction and the measured figure.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Checked {
    pub(super) label: String,
    /// `read` or `write`.
    #[serde(skip)]
    pub(super) operation: &'static str,
    pub(super) block_size: u64,
    /// Percent of plain speed.
    pub(super) predicted: f64,
    /// Percent of plain speed.
    pub(super) found: f64,
}

impl Checked {
    /// Relative error of the predicted rate of encrypted requests.
    pub(super) fn error(&self) -> f64 {
        self.predicted / self.found - 1.0
    }
}

/// Study A's devices, and their models.
const MODELS: [(&str, DeviceModel); 3] = [
    ("ssd", DeviceModel::SataSsd),
    ("flash", DeviceModel::UsbFlash),
    ("hdd", DeviceModel::HardDisk),
];

/// Piece size of VeraCrypt's driver for Windows, in bytes.
const PIECE: u64 = 256 << 10;

/// Predictions of one kind.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) by: String,
    pub(super) cells: Vec<Checked>,
}

/// Study A's rate for AES in RAM (figure 1: encryption 5.3 GB/s, decryption 3.8 GB/s, in binary units).
fn published_rate(operation: cryptbench_devices::Operation) -> f64 {
    let mib_s = match operation {
        cryptbench_devices::Operation::Read => 3.8 * 1024.0,
        _ => 5.3 * 1024.0,
    };
    mib_s * 1_048_576.0
}

pub(super) fn validate(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    let mut groups = published();
    for path in &args.against {
        groups.extend(of_record(args, &cryptbench_record::read(path)?)?);
    }
    if args.json {
        print_json(&groups)?;
    } else {
        print(&text::validation(&groups));
    }
    Ok(ExitCode::SUCCESS)
}

/// Study A's three devices. The software's cost per request is known only for the SSD, so that cost is used for all
/// three. To predict the SSD itself, only costs that were measured at sizes other than the predicted size are used.
fn published() -> Vec<Group> {
    let files = Files::published();
    let points = files.text("atto").ok().and_then(atto).unwrap_or_default();
    let times = |p: &Point| {
        let plain = p.load.bytes as f64 / p.mib_s / 1_048_576.0;
        let share = p.encrypted_mib_s.unwrap_or(p.mib_s) / p.mib_s;
        (plain, plain / share)
    };
    let known_of = |but: Option<&Point>, like: &Point| -> Vec<_> {
        let same = |p: &&Point| {
            p.device == "ssd"
                && p.load.operation == like.load.operation
                && but.is_none_or(|but| but.load.bytes != p.load.bytes)
        };
        let known = |p: &Point| {
            let (plain, encrypted) = times(p);
            // The published figure is a rate, from which the interval between requests follows at any queue depth.
            (plain, encrypted, p.load.bytes, 1, published_rate(p.load.operation))
        };
        points.iter().filter(same).map(known).collect()
    };
    let serial = MODELS.into_iter().filter_map(|(device, model)| in_series(&points, device, model));
    let mut groups: Vec<_> = MODELS
        .into_iter()
        .map(|(device, _)| {
            let cells = points.iter().filter(|p| p.device == device).map(|p| {
                let but = (device == "ssd").then_some(p);
                let added = Added {
                    per_request_s: per_request_s(&known_of(but, p)).unwrap_or(0.0),
                    cipher_rate: published_rate(p.load.operation),
                };
                let (plain, encrypted) = times(p);
                Checked {
                    label: verb(p.load.operation).to_owned(),
                    operation: verb(p.load.operation),
                    block_size: p.load.bytes,
                    predicted: 100.0 * keeps(plain, p.load.bytes, 1, &added),
                    found: 100.0 * plain / encrypted,
                }
            });
            Group {
                name: format!("study A, {device}"),
                by: match device {
                    "ssd" => "without the predicted size",
                    _ => "from the SSD's software cost",
                }
                .to_owned(),
                cells: cells.collect(),
            }
        })
        .collect();
    groups.extend(serial);
    groups
}

/// A device of study A with a driver that handles one request at a time, predicted only from the device's model.
fn in_series(points: &[Point], device: &str, model: DeviceModel) -> Option<Group> {
    let model = Model::named(model.as_str()).ok()?;
    let serial = Serial { piece: PIECE };
    let cell = |p: &Point| {
        let added = Added {
            per_request_s: SERIAL_PER_PIECE_S,
            cipher_rate: published_rate(p.load.operation),
        };
        let plain = seconds_per_request(&model, &p.load);
        Some(Checked {
            label: verb(p.load.operation).to_owned(),
            operation: verb(p.load.operation),
            block_size: p.load.bytes,
            predicted: 100.0 * plain / seconds_in_series(&model, &p.load, serial, &added),
            found: 100.0 * p.encrypted_mib_s? / p.mib_s,
        })
    };
    let cells = points.iter().filter(|p| p.device == device).filter_map(cell).collect();
    let by = format!(
        "from the model, one request at a time, {:.0} µs per piece",
        SERIAL_PER_PIECE_S * 1e6
    );
    Some(Group { name: format!("study A, {device}, --serial"), by, cells })
}

/// A record's encrypted arms: each cell is predicted from the other cells or, on an emulated device, only from the
/// device's model.
fn of_record(args: &PredictArgs, record: &Record) -> anyhow::Result<Vec<Group>> {
    let plain = record.plan.arms.iter().find(|arm| arm.role == ArmRole::Plain);
    let Some(plain) = plain else { return Ok(Vec::new()) };
    let model = record.target.emulated.as_ref().and_then(|e| Model::named(&e.model).ok());
    let mut groups = Vec::new();
    for arm in record.plan.arms.iter().filter(|arm| arm.role == ArmRole::Encrypted) {
        let Some(cipher) = &arm.cipher else { continue };
        let is_given = args.cipher_rate.is_some() || args.ciphers_from.is_some();
        if !is_given && !ciphers().iter().any(|own| own.name == cipher.as_str()) {
            note(&format!("{}: left out, because {cipher} cannot be measured here", arm.label));
            continue;
        }
        let unit = arm.data_unit.unwrap_or(512);
        let (rates, _) = cipher_rates(args, std::slice::from_ref(cipher), &[unit])?;
        let Some(rate) = rates.first() else { continue };
        let cells = measured(record, &plain.id, &arm.id, rate);
        let name = format!("{}, {}", place(record), arm.label);
        let left_out = cells.iter().enumerate().map(|(i, cell)| {
            let others: Vec<_> =
                cells.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, c)| c.known).collect();
            // Cells with the same operation and other sizes, if any, are the best source.
            let per_request = per_request_s(&others).unwrap_or(DEFAULT_PER_REQUEST_S);
            cell.checked(cell.known.0, per_request)
        });
        groups.push(Group {
            name: name.clone(),
            by: "without the predicted cell".to_owned(),
            cells: left_out.collect(),
        });
        if let Some(model) = &model {
            let from_model = cells.iter().map(|cell| {
                let file_bytes = record.target.scratch.size_bytes;
                let load = Load { file_bytes, ..cell.load };
                let added =
                    Added { per_request_s: DEFAULT_PER_REQUEST_S, cipher_rate: cell.known.4 };
                let plain = seconds_per_request(model, &load);
                cell.beside(100.0 * plain / on_model(model, &load, &added))
            });
            groups.push(Group {
                name,
                by: "from the model only".to_owned(),
                cells: from_model.collect(),
            });
        }
    }
    Ok(groups)
}

fn place(record: &Record) -> String {
    match &record.target.emulated {
        Some(e) => format!("EMULATED {}", e.model),
        None => format!("run {}", record.run_id),
    }
}

/// A cell of a record.
struct Measured {
    label: String,
    load: Load,
    /// Plain and encrypted seconds, bytes, queue depth, cipher rate.
    known: (f64, f64, u64, u32, f64),
}

impl Measured {
    /// The prediction that is based on this plain time.
    fn checked(&self, plain_s: f64, per_request_s: f64) -> Checked {
        let (_, _, bytes, queue_depth, cipher_rate) = self.known;
        let added = Added { per_request_s, cipher_rate };
        self.beside(100.0 * keeps(plain_s, bytes, queue_depth, &added))
    }

    /// A predicted percentage of plain speed, and the measured percentage.
    fn beside(&self, predicted: f64) -> Checked {
        let (plain, encrypted, bytes, ..) = self.known;
        Checked {
            label: self.label.clone(),
            operation: verb(self.load.operation),
            block_size: bytes,
            predicted,
            found: 100.0 * plain / encrypted,
        }
    }
}

fn measured(record: &Record, plain: &str, arm: &str, rate: &CipherRate) -> Vec<Measured> {
    let cell = |workload: &cryptbench_record::Workload| {
        let operation = operation(workload)?;
        let queue_depth = workload.in_flight();
        let bytes = workload.block_size;
        let before = spacing(record, workload, plain)?;
        let after = spacing(record, workload, arm)?;
        let random = workload.pattern != Pattern::Sequential;
        Some(Measured {
            label: format!("{} {} QD{queue_depth}", workload.pattern, workload.operation),
            load: Load { operation, random, bytes, queue_depth, file_bytes: 0, think_s: 0.0 },
            known: (before, after, bytes, queue_depth, rate.of(operation)),
        })
    };
    record.plan.workloads.iter().filter_map(cell).collect()
}
