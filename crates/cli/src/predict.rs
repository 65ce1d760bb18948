//! `cryptbench predict`: predicts the cost of encryption on a device, in milliseconds instead of the minutes of a
//! run.

mod device;
mod rates;
mod text;
mod validate;

use std::path::Path;
use std::process::ExitCode;

use cryptbench_catalog::DeviceModel;
use cryptbench_devices::predict::{Added, Serial};
use serde::Serialize;

use crate::args::PredictArgs;
use crate::names;
use crate::say::{print, print_json};
use device::{Plain, Profile};
use rates::{CipherRate, cipher_rates};

/// Time in seconds that the inline built-in engine adds to a request, not including its cipher: the median of eight
/// values between 0.2 and 2.3 µs, measured with random 4 KiB requests at queue depth 1 in two runs of the profile
/// `quick` on a virtual disk (docs/devices.md). `cryptbench predict --record RECORD` derives the time from a record.
/// Other systems add more.
const DEFAULT_PER_REQUEST_S: f64 = 0.5e-6;

/// Time in seconds that a serial driver adds to a piece, not including its cipher. Two figures from study A agree on
/// this time: the increase in the SSD's access time, and the time added to each request to the flash drive (`cryptbench
/// studies A`).
const SERIAL_PER_PIECE_S: f64 = 16e-6;

/// One predicted cell.
#[derive(Clone, Debug, Serialize)]
struct Cell {
    cipher: String,
    data_unit: u32,
    workload: String,
    operation: &'static str,
    block_size: u64,
    queue_depth: u32,
    plain_mib_s: f64,
    encrypted_mib_s: f64,
    keeps_percent: f64,
    extra_us: f64,
}

/// All predictions, and the data on which they are based.
#[derive(Clone, Debug, Serialize)]
struct Prediction {
    schema: &'static str,
    device: String,
    /// The source of the plain times.
    plain_from: String,
    /// Whether the plain times come from a model instead of a measurement.
    emulated: bool,
    per_request_us: f64,
    per_request_from: String,
    /// Piece size of a serial driver, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    serial_piece: Option<u64>,
    ciphers_from: String,
    ciphers: Vec<CipherRate>,
    cells: Vec<Cell>,
    remarks: Vec<String>,
}

pub fn predict(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    if args.validate {
        return validate::validate(args);
    }
    let profile =
        Profile::find(args.device.as_deref().unwrap_or(Path::new(DeviceModel::SataSsd.as_str())))?;
    let (ciphers, ciphers_from) = cipher_rates(args, &args.cipher, &args.data_unit)?;
    let (per_request_s, per_request_from) = per_request(args, &ciphers)?;
    let serial = args.serial.map(|piece| Serial { piece });
    let mut cells = Vec::new();
    for cipher in &ciphers {
        for plain in profile.plain(args.queue_depth) {
            if plain.bytes.is_multiple_of(cipher.data_unit.into()) {
                cells.extend(cell(&profile, cipher, &plain, per_request_s, serial));
            }
        }
    }
    let prediction = Prediction {
        schema: "cryptbench.prediction/1",
        device: profile.name(),
        plain_from: profile.words(),
        emulated: profile.is_model(),
        per_request_us: per_request_s * 1e6,
        per_request_from,
        serial_piece: args.serial,
        ciphers_from,
        ciphers,
        cells,
        remarks: profile.remarks(serial),
    };
    if args.json {
        print_json(&prediction)?;
    } else {
        print(&text::prediction(&prediction));
    }
    Ok(ExitCode::SUCCESS)
}

/// Predicts a cell, if the profile contains enough data.
fn cell(
    profile: &Profile,
    cipher: &CipherRate,
    plain: &Plain,
    per_request_s: f64,
    serial: Option<Serial>,
) -> Option<Cell> {
    let added = Added { per_request_s, cipher_rate: cipher.of(plain.operation) };
    let encrypted = profile.encrypted_s(plain, &added, serial)?;
    let mib_s = |seconds: f64| plain.bytes as f64 / seconds / 1_048_576.0;
    let extra =
        serial.map_or(added.seconds(plain.bytes), |serial| serial.seconds(plain.bytes, &added));
    Some(Cell {
        cipher: cipher.cipher.clone(),
        data_unit: cipher.data_unit,
        workload: plain.label.clone(),
        operation: device::verb(plain.operation),
        block_size: plain.bytes,
        queue_depth: plain.queue_depth,
        plain_mib_s: mib_s(plain.seconds),
        encrypted_mib_s: mib_s(encrypted),
        keeps_percent: 100.0 * plain.seconds / encrypted,
        extra_us: extra * 1e6,
    })
}

/// Seconds that the software adds per request, and their source.
fn per_request(args: &PredictArgs, ciphers: &[CipherRate]) -> anyhow::Result<(f64, String)> {
    if let Some(us) = args.per_request {
        return Ok((us * 1e-6, "as given".to_owned()));
    }
    if args.serial.is_some() {
        let from = "the increase in access time of study A's SSD (cryptbench studies A)";
        return Ok((SERIAL_PER_PIECE_S, from.to_owned()));
    }
    let Some(path) = &args.record else {
        let from = "the default, measured for the inline built-in engine (docs/devices.md)";
        return Ok((DEFAULT_PER_REQUEST_S, from.to_owned()));
    };
    let record = cryptbench_record::read(path)?;
    let is_system = |name: &str| record.plan.arms.iter().any(|arm| arm.system == name);
    let arm = match args.arm.as_deref() {
        Some(name) if !is_system(name) => Some(names::arm(&record, path, name)?),
        as_asked => as_asked.map(str::to_owned),
    };
    let found = device::per_request_of(&record, ciphers, arm.as_deref())?;
    Ok((found.seconds, format!("{} in run {}{}", found.arm, record.run_id, found.fit)))
}
