//! Fits study A's models to a record of its protocol: the time that an arm adds to requests of each size, and whether
//! it agrees with the study's numbers.

use cryptbench_catalog::DeviceModel;
use cryptbench_record::{Arm, ArmRole, Operation, Record, Trial};

use super::causes::{aes, cells, percent};
use super::models::{Cell, Fitted, MIB, fitted};
use crate::check::size;
use crate::error::DataError;
use crate::files::Files;
use crate::own::{plain, values};
use crate::study::Answer;
use crate::trimmed_mean;

/// The study's devices, with their names and models.
const DEVICES: [(&str, &str, DeviceModel); 3] = [
    ("flash", "flash drive", DeviceModel::UsbFlash),
    ("ssd", "SSD", DeviceModel::SataSsd),
    ("hdd", "HDD", DeviceModel::HardDisk),
];

/// Requests of at least this size show the time per KiB.
const LARGE: f64 = 262_144.0;

/// The results of a record of the profile `atto` for its encrypted arms.
pub(crate) fn answers(files: &Files, record: &Record) -> Result<Vec<Answer>, DataError> {
    let mut lines: Vec<String> = late(record).into_iter().collect();
    for arm in record.plan.arms.iter().filter(|arm| arm.role == ArmRole::Encrypted) {
        for read in [true, false] {
            lines.extend(line(files, record, arm, read)?);
        }
    }
    let question =
        "How does the time of an encrypted request grow with its size, here and in the study?";
    Ok(Some(Answer { question, lines })
        .filter(|answer| !answer.lines.is_empty())
        .into_iter()
        .collect())
}

/// If at least this share of an emulated device's requests is late, the device is too slow for the test, or the
/// machine is too busy.
const LATE: f64 = 0.05;

fn late(record: &Record) -> Option<String> {
    let emulated = record.target.emulated.as_ref()?;
    let share = emulated.late_share.filter(|share| *share > LATE)?;
    Some(format!(
        "{:.0} % of the emulated device's requests completed late, by {:.0} µs on average: the machine was busy, and \
         the following figures also reflect this.",
        100.0 * share,
        emulated.late_us?
    ))
}

/// One arm in one direction, with the study's most similar device.
fn line(
    files: &Files,
    record: &Record,
    arm: &Arm,
    read: bool,
) -> Result<Option<String>, DataError> {
    let ours = measured(record, arm, read);
    let Some(ours_told) = cipher_mib_s(record, arm, read).and_then(|cipher| told(&ours, cipher))
    else {
        return Ok(None);
    };
    let way = if read { "reads" } else { "writes" };
    let mut line = format!("{}, {way}: {ours_told}", arm.label);
    let (op, column) = match read {
        true => ("read", "decrypt_mib_s"),
        false => ("write", "encrypt_mib_s"),
    };
    let csv = files.csv("atto")?;
    let mut nearest: Option<(f64, &str, Vec<Cell>)> = None;
    let emulated =
        record.target.emulated.as_ref().and_then(|emulated| DeviceModel::of(&emulated.model));
    for (device, name, model) in DEVICES {
        let (theirs, _) = cells(&csv, device, op)?;
        let far = if emulated == Some(model) { 0.0 } else { distance(&ours, &theirs) };
        if nearest.as_ref().is_none_or(|(least, ..)| far < *least) {
            nearest = Some((far, name, theirs));
        }
    }
    if let Some((_, name, theirs)) = nearest
        && let Some(told) = told(&theirs, aes(files, column)?)
        && let Some(apart) = apart(&ours, &theirs)
    {
        line.push_str(&format!(" The study's {name}: {told} {apart}"));
    }
    Ok(Some(line))
}

/// Median times of plain storage and of an arm, by size. A mean of a few trials would depend on the worst trial.
fn measured(record: &Record, arm: &Arm, read: bool) -> Vec<Cell> {
    let operation = if read { Operation::Read } else { Operation::Write };
    let Some(plain) = plain(record) else { return Vec::new() };
    let of = record.plan.workloads.iter().filter(|w| w.operation == operation && w.block_size > 0);
    let mut cells: Vec<Cell> = of
        .filter_map(|w| {
            let us = |arm: &Arm| {
                let rates = values(record, w, arm, Trial::bandwidth);
                cryptbench_stats::median(&rates).map(|rate| w.block_size as f64 / rate * 1e6)
            };
            let (plain_us, encrypted_us) = (us(plain)?, us(arm)?);
            Some(Cell { bytes: w.block_size as f64, plain_us, encrypted_us })
        })
        .collect();
    cells.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
    cells
}

/// The speed of an arm's cipher on one thread.
fn cipher_mib_s(record: &Record, arm: &Arm, read: bool) -> Option<f64> {
    let name = arm.cipher.as_ref()?;
    let alone = record.why.as_ref().and_then(|why| {
        let same = |c: &&_| is_of(c, name, arm.data_unit);
        let speed = why.ciphers.iter().find(same)?;
        let rate = if read { speed.decrypt_bytes_per_s } else { speed.encrypt_bytes_per_s };
        Some(rate / MIB)
    });
    alone.or_else(|| {
        let in_ram = record.in_ram.as_ref()?;
        let speed = in_ram.ciphers.iter().find(|c| c.cipher == *name)?;
        let rate = if read { speed.decrypt_mb_s } else { speed.encrypt_mb_s };
        Some(rate * 1e6 / MIB / f64::from(in_ram.threads.max(1)))
    })
}

fn is_of(speed: &cryptbench_record::CipherSpeed, name: &str, data_unit: Option<u32>) -> bool {
    speed.cipher == name && Some(speed.data_unit) == data_unit
}

/// The model that fits best, and the time per KiB of large requests.
fn told(cells: &[Cell], cipher: f64) -> Option<String> {
    let best = *fitted(cells, cipher).first()?;
    let kib = |us: fn(&Cell) -> f64| slope(cells, us);
    let series = kib(|c| c.plain_us)? + 1024.0 / MIB / cipher * 1e6;
    let encrypted = kib(|c| c.encrypted_us)?;
    Some(format!(
        "{}, off by {}; a KiB of large requests takes {encrypted:.2} µs, bus and cipher in series {series:.2}.",
        of_model(&best),
        percent(&best)
    ))
}

fn of_model(best: &Fitted) -> String {
    let added = best.added_us.map(|us| format!(" of {us:.0} µs"));
    let rate = best.rate.map(|rate| format!(", at most {rate:.0} MiB/s"));
    format!("\"{}\"{}{}", best.model.told(), added.unwrap_or_default(), rate.unwrap_or_default())
}

/// Microseconds by which the time of a large request grows with each KiB: the median from one size to the next.
fn slope(cells: &[Cell], us: impl Fn(&Cell) -> f64) -> Option<f64> {
    let large: Vec<&Cell> = cells.iter().filter(|c| c.bytes >= LARGE).collect();
    let each = |pair: &[&Cell]| (us(pair[1]) - us(pair[0])) / (pair[1].bytes - pair[0].bytes);
    let slopes: Vec<f64> = large.windows(2).map(each).collect();
    cryptbench_stats::median(&slopes).map(|slope| 1024.0 * slope)
}

/// Cells of the same size on both sides.
fn pairs<'a>(ours: &'a [Cell], theirs: &'a [Cell]) -> impl Iterator<Item = (&'a Cell, &'a Cell)> {
    ours.iter().filter_map(|own| Some((own, theirs.iter().find(|c| c.bytes == own.bytes)?)))
}

/// The distance between plain storage here and on a published device: mean |ln(ours / theirs)|.
fn distance(ours: &[Cell], theirs: &[Cell]) -> f64 {
    let all: Vec<f64> =
        pairs(ours, theirs).map(|(a, b)| (a.plain_us / b.plain_us).ln().abs()).collect();
    trimmed_mean(&all, 0).unwrap_or(f64::INFINITY)
}

/// The difference between the percentages of plain speed.
fn apart(ours: &[Cell], theirs: &[Cell]) -> Option<String> {
    let share = |c: &Cell| 100.0 * c.plain_us / c.encrypted_us;
    let all: Vec<(f64, f64)> =
        pairs(ours, theirs).map(|(a, b)| (share(a) - share(b), a.bytes)).collect();
    let mean = trimmed_mean(&all.iter().map(|(off, _)| off.abs()).collect::<Vec<_>>(), 0)?;
    let (most, at) = all.into_iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
    Some(format!(
        "The share of plain speed that is kept differs from the study's by {mean:.0} points on average, by {most:+.0} at \
         most ({}).",
        size(at as u64)
    ))
}
