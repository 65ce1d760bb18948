//! The published sweeps with which models are compared: study A's ATTO series and study D's Anvil figures, from the
//! data of the crate `studies`.

use std::collections::BTreeMap;

use crate::request::Operation;
use crate::sweep::Load;

/// One published number of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The device's name in its study.
    pub device: String,
    /// The measured load.
    pub load: Load,
    /// The load, by its name in the study.
    pub label: String,
    /// MiB per second.
    pub mib_s: f64,
    /// MiB per second with encryption, if the study has figures both with and without encryption.
    pub encrypted_mib_s: Option<f64>,
    /// Whether the printed rate agrees with the printed requests per second.
    pub consistent: bool,
}

/// The plain sweeps of `atto.csv` (study A, figures 6, 8 and 10), each with its encrypted
/// counterpart.
///
/// `None` if the text is not such a file.
pub fn atto(csv: &str) -> Option<Vec<Point>> {
    let rows = rows(csv)?;
    let of = |state: &str| -> Option<Vec<Point>> {
        let mut found = Vec::new();
        for row in rows.iter().filter(|row| row.get("state") == Some(state)) {
            let operation = operation(row.get("op")?)?;
            found.push(Point {
                device: row.get("device")?.to_owned(),
                load: Load::atto(operation, row.get("block_bytes")?.parse().ok()?),
                label: row.get("block")?.to_owned(),
                mib_s: row.get("mib_s")?.parse().ok()?,
                encrypted_mib_s: None,
                consistent: row.get("consistent")? == "yes",
            });
        }
        Some(found)
    };
    let encrypted = of("encrypted")?;
    let mut plain = of("plain")?;
    for point in &mut plain {
        let same = |other: &&Point| other.device == point.device && other.load == point.load;
        point.encrypted_mib_s = encrypted.iter().find(same).map(|other| other.mib_s);
    }
    Some(plain)
}

/// The fastest of the six encrypted series of each device and load in `anvil.csv` (study D). The
/// study has no plain series; the device itself was at least that fast.
///
/// `None` if the text is not such a file.
pub fn anvil(csv: &str) -> Option<Vec<Point>> {
    let mut best: Vec<Point> = Vec::new();
    for row in rows(csv)? {
        let (device, pattern) = (row.get("device")?, row.get("pattern")?);
        let mib_s: f64 = row.get("mb_s")?.parse().ok()?;
        if let Some(known) = best.iter_mut().find(|p| p.device == device && p.label == pattern) {
            known.mib_s = known.mib_s.max(mib_s);
            continue;
        }
        let mut words = pattern.split(' ');
        let random = words.next()? == "rand";
        let operation = operation(words.next()?)?;
        let bytes = if words.next()? == "4M" { 4 << 20 } else { 4096 };
        best.push(Point {
            device: device.to_owned(),
            load: Load::anvil(operation, random, bytes),
            label: pattern.to_owned(),
            mib_s,
            encrypted_mib_s: None,
            consistent: true,
        });
    }
    Some(best)
}

fn operation(name: &str) -> Option<Operation> {
    match name {
        "read" => Some(Operation::Read),
        "write" => Some(Operation::Write),
        _ => None,
    }
}

/// A row as a map from column names to fields.
struct Row(BTreeMap<String, String>);

impl Row {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

fn rows(csv: &str) -> Option<Vec<Row>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    reader.deserialize().map(|row| row.map(Row).ok()).collect()
}
