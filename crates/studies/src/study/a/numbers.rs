//! The numbers that study A printed: ciphers and key derivation in RAM, and ATTO and HD Tune on
//! three devices.

use std::collections::BTreeMap;

use crate::check::size;
use crate::error::DataError;
use crate::files::Files;
use crate::number::{Printed, Rederived};
use crate::observation::{Dimension, Observation};
use crate::study::Numbers;
use crate::study::a::causes;
use crate::table::{Field, Number, Table};

pub(super) fn read(files: &Files) -> Result<Numbers, DataError> {
    let mut numbers = Numbers::default();
    ciphers(files, &mut numbers)?;
    key_derivation(files, &mut numbers)?;
    atto(files, &mut numbers)?;
    hdtune(files, &mut numbers)?;
    let (answers, fits) = causes::answers(files)?;
    numbers.answers = answers;
    numbers.tables.push(fits);
    Ok(numbers)
}

fn ciphers(files: &Files, numbers: &mut Numbers) -> Result<(), DataError> {
    let csv = files.csv("veracrypt_cipher_benchmark")?;
    let mut rows = Vec::new();
    for row in csv.rows() {
        let name = row.text("algorithm")?;
        for work in ["encrypt", "decrypt"] {
            let column = format!("{work}_mib_s");
            numbers.observations.push(
                Observation::new("MiB/s", row.number(&column)?)
                    .with(Dimension::Device, "ram")
                    .with(Dimension::System, "VeraCrypt")
                    .with(Dimension::Cipher, name)
                    .with(Dimension::Work, work),
            );
        }
        let (encrypt, decrypt) = (row.number("encrypt")?, row.number("decrypt")?);
        let unit = if row.text("mean_unit")? == "GB/s" { "GB/s" } else { "MB/s" };
        let in_unit = |p: &Printed, column| -> Result<f64, DataError> {
            Ok(match (row.text(column)?, unit) {
                ("MB/s", "GB/s") => p.value() / 1024.0,
                ("GB/s", "MB/s") => p.value() * 1024.0,
                _ => p.value(),
            })
        };
        let both = [in_unit(&encrypt, "encrypt_unit")?, in_unit(&decrypt, "decrypt_unit")?];
        let mean = Rederived {
            what: format!("mean of {name}"),
            published: row.number("mean")?,
            derived: crate::trimmed_mean(&both, 0).unwrap_or(f64::NAN),
            unit,
        };
        rows.push(vec![
            name.into(),
            encrypt.field().unit(row.text("encrypt_unit")?).into(),
            decrypt.field().unit(row.text("decrypt_unit")?).into(),
            mean.published.field().unit(unit).into(),
            mean.published.finer(mean.derived).into(),
        ]);
        numbers.rederived.push(mean);
    }
    numbers.tables.push(Table {
        title: "Ciphers in RAM, 50 MB, 8 threads (figure 1)".into(),
        headings: vec!["cipher", "encrypt", "decrypt", "mean", "derived"],
        rows,
        note: "",
    });
    Ok(())
}

fn key_derivation(files: &Files, numbers: &mut Numbers) -> Result<(), DataError> {
    let csv = files.csv("prf_times")?;
    let mut rows = Vec::new();
    for row in csv.rows() {
        let (prf, setting) = (row.text("prf")?, row.text("setting")?);
        let (iterations, time) = (row.number("iterations")?, row.number("time_ms")?);
        let each = 1000.0 * time.value() / iterations.value();
        rows.push(vec![
            prf.into(),
            setting.into(),
            iterations.field().into(),
            time.field().into(),
            Number::new(each, 3).into(),
        ]);
        let each = Printed::parse(&format!("{each:.3}"));
        for (unit, value) in
            [("iterations", Some(iterations)), ("ms", Some(time)), ("us/iteration", each)]
        {
            let Some(value) = value else { continue };
            numbers.observations.push(
                Observation::new(unit, value)
                    .with(Dimension::Device, "ram")
                    .with(Dimension::System, "VeraCrypt")
                    .with(Dimension::Cipher, prf)
                    .with(Dimension::Work, "derive key")
                    .with(Dimension::State, setting),
            );
        }
    }
    numbers.tables.push(Table {
        title: "Key derivation (figures 3 and 4; the large PIM is 9999)".into(),
        headings: vec!["PRF", "PIM", "iterations", "ms", "us per iteration"],
        rows,
        note: "",
    });
    Ok(())
}

/// MB/s of one block size: plain and encrypted, written and read.
type Cells<'a> = BTreeMap<(&'a str, &'a str), Printed>;

fn atto(files: &Files, numbers: &mut Numbers) -> Result<(), DataError> {
    let csv = files.csv("atto")?;
    let mut devices: Vec<(String, BTreeMap<u64, Cells<'_>>)> = Vec::new();
    for row in csv.rows() {
        let (device, op, state) = (row.text("device")?, row.text("op")?, row.text("state")?);
        let block = row.number("block_bytes")?.value() as u64;
        for (unit, column) in [("MiB/s", "mib_s"), ("IO/s", "iops")] {
            numbers.observations.push(
                Observation::new(unit, row.number(column)?.without_zeros())
                    .with(Dimension::Device, device)
                    .with(Dimension::System, "VeraCrypt")
                    .with(Dimension::Cipher, "AES")
                    .with(Dimension::Work, op)
                    .with(Dimension::State, state)
                    .block(block),
            );
        }
        let title = format!("{}, {device}, MiB/s ({})", row.text("model")?, row.text("figure")?);
        if devices.last().is_none_or(|(t, _)| *t != title) {
            devices.push((title, BTreeMap::new()));
        }
        if let Some((_, blocks)) = devices.last_mut() {
            blocks.entry(block).or_default().insert((op, state), row.number("mib_s")?);
        }
    }
    for (title, blocks) in devices {
        let rows = blocks.iter().map(|(block, cells)| {
            let mut row = vec![Field::from(size(*block))];
            for op in ["write", "read"] {
                let of = |state| cells.get(&(op, state)).map(Printed::value);
                let field = |v: Option<f64>| Field::from(v.map(|v| Number::new(v, 2)));
                let (plain, encrypted) = (of("plain"), of("encrypted"));
                let both = plain.zip(encrypted);
                let change = both.map(|(p, e)| Number::percent(100.0 * (e / p - 1.0)).signed());
                row.extend([field(plain), field(encrypted), change.into()]);
            }
            row
        });
        numbers.tables.push(Table {
            title,
            headings: vec![
                "block",
                "write plain",
                "encrypted",
                "change",
                "read plain",
                "encrypted",
                "change",
            ],
            rows: rows.collect(),
            note: "",
        });
    }
    Ok(())
}

fn hdtune(files: &Files, numbers: &mut Numbers) -> Result<(), DataError> {
    let csv = files.csv("hdtune")?;
    let mut rows = Vec::new();
    for row in csv.rows() {
        let (device, quantity, state) =
            (row.text("device")?, row.text("quantity")?, row.text("state")?);
        let value = row.number_if_any("value")?;
        let unit = row.text("unit")?.split(' ').next().unwrap_or_default();
        let shown = match &value {
            Some(value) => value.field().unit(unit).into(),
            None => format!("not legible {unit}").into(),
        };
        rows.push(vec![device.into(), quantity.into(), state.into(), shown]);
        let work = match quantity {
            q if q.starts_with("access time ") => "access time of five runs",
            q => q,
        };
        let Some(value) = value else { continue };
        let unit = match unit {
            "ms" => "ms",
            "MB/s" => "MB/s",
            // Only differences in CPU usage have survived; absolute values would have the unit `% CPU`.
            _ => "% more CPU",
        };
        numbers.observations.push(
            Observation::new(unit, value)
                .with(Dimension::Device, device)
                .with(Dimension::System, "VeraCrypt")
                .with(Dimension::Work, work)
                .with(Dimension::State, state),
        );
    }
    numbers.tables.push(Table {
        title: "HD Tune (figures 5, 7 and 9, and the ranges in the text)".into(),
        headings: vec!["device", "what", "state", "value"],
        rows,
        note: "",
    });
    Ok(())
}
