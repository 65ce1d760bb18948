//! The numbers that study D printed: the speeds in twelve figures, and the percentages by which one program is
//! faster.

use std::collections::BTreeMap;

use crate::error::DataError;
use crate::files::Files;
use crate::number::{Printed, Rederived};
use crate::observation::{Dimension, Observation};
use crate::study::Numbers;
use crate::study::d::causes;
use crate::table::{Field, Table};

/// A cell: figure, device, pattern and cipher.
type Cell<'a> = (&'a str, &'a str, &'a str, &'a str);

pub(super) fn read(files: &Files) -> Result<Numbers, DataError> {
    let speeds_csv = files.csv("anvil")?;
    let mut observations = Vec::new();
    let mut speeds: BTreeMap<(Cell<'_>, &str), Printed> = BTreeMap::new();
    for row in speeds_csv.rows() {
        let (figure, device, work) =
            (row.text("figure")?, row.text("device")?, row.text("pattern")?);
        let (cipher, system, speed) =
            (row.text("algorithm")?, row.text("software")?, row.number("mb_s")?);
        speeds.insert(((figure, device, work, cipher), system), speed.clone());
        observations.push(
            Observation::new("MB/s", speed)
                .with(Dimension::Device, device)
                .with(Dimension::System, system)
                .with(Dimension::Cipher, cipher)
                .with(Dimension::Work, work)
                .with(Dimension::State, "encrypted"),
        );
    }
    let stated_csv = files.csv("anvil_percent_check")?;
    let (mut rederived, mut tables) = (vec![], vec![]);
    for row in stated_csv.rows() {
        let (figure, device, work) =
            (row.text("figure")?, row.text("device")?, row.text("pattern")?);
        let cipher = row.text("algorithm")?;
        let (faster, stated) = (row.text("faster_software")?, row.number("stated_faster_by_pct")?);
        let of = |system| speeds.get(&((figure, device, work, cipher), system));
        let (Some(truecrypt), Some(bestcrypt)) = (of("TrueCrypt"), of("BestCrypt")) else {
            continue;
        };
        let (fast, slow) = match faster {
            "TrueCrypt" => (truecrypt, bestcrypt),
            _ => (bestcrypt, truecrypt),
        };
        let percent = Rederived {
            what: format!("figure {figure}, {device}, {work}, {cipher}: {faster} faster"),
            published: stated,
            derived: 100.0 * (fast.value() / slow.value() - 1.0),
            unit: "%",
        };
        let title = format!(
            "Figure {figure}, {device}, {work}, MB/s; which program is faster, and by how much"
        );
        if tables.last().is_none_or(|t: &Table| t.title != title) {
            let headings =
                vec!["cipher", "TrueCrypt", "BestCrypt", "stated %", "derived", "faster"];
            tables.push(Table { title, headings, rows: vec![], note: "" });
        }
        let row = vec![
            cipher.trim_end_matches("-256").into(),
            truecrypt.field().into(),
            bestcrypt.field().into(),
            percent.published.field().into(),
            percent.published.finer(percent.derived).into(),
            faster.into(),
        ];
        if let Some(table) = tables.last_mut() {
            table.rows.push(row);
        }
        rederived.push(percent);
    }
    tables.push(sensitivity(&speeds));
    Ok(Numbers { observations, rederived, tables, answers: causes::answers(files)? })
}

/// For each device, the program that is faster with all three ciphers, according to the study.
const STATED: [(&str, &str); 3] =
    [("hdd", "TrueCrypt"), ("sshd", "BestCrypt"), ("ssd", "BestCrypt")];

/// How many of the three ciphers are faster with the stated program, by each interpretation of "better".
fn sensitivity(speeds: &BTreeMap<(Cell<'_>, &str), Printed>) -> Table {
    type Reading = fn(&[f64]) -> bool;
    let readings: [(&str, Reading); 4] = [
        ("in more than half of the patterns", |r| 2 * faster_in(r) > r.len()),
        ("in every pattern", |r| faster_in(r) == r.len()),
        ("in half of the patterns or more", |r| 2 * faster_in(r) >= r.len()),
        ("in the mean of the ratios (geometric)", |r| r.iter().map(|r| r.ln()).sum::<f64>() > 0.0),
    ];
    let mut rows = Vec::new();
    for (device, better) in STATED {
        for (reading, holds) in readings {
            let ciphers = ["AES-256", "Serpent-256", "Twofish-256"];
            let found = ciphers.map(|cipher| holds(&ratios(speeds, device, cipher, better)));
            let count = found.iter().filter(|holds| **holds).count();
            let mut row: Vec<Field> = vec![device.into(), better.into(), reading.into()];
            row.extend(found.map(|holds| Field::from(if holds { "yes" } else { "no" })));
            row.push(if count == found.len() { "holds" } else { "does not" }.into());
            rows.push(row);
        }
    }
    Table {
        title: "\"All three ciphers do better with ...\": what it depends on".into(),
        headings: vec!["device", "with", "better: faster", "AES", "Serpent", "Twofish", "so it"],
        rows,
        note: "The verdicts below take the first reading.",
    }
}

/// For each pattern, the speed with `better` as a multiple of the speed with the other program.
fn ratios(
    speeds: &BTreeMap<(Cell<'_>, &str), Printed>,
    device: &str,
    cipher: &str,
    better: &str,
) -> Vec<f64> {
    let of_cell = |((cell, system), speed): (&(Cell<'_>, &str), &Printed)| {
        let (_, its_device, _, its_cipher) = cell;
        if (*its_device, *its_cipher, *system) != (device, cipher, better) {
            return None;
        }
        let other = speeds.iter().find(|((c, s), _)| c == cell && *s != better)?;
        Some(speed.value() / other.1.value())
    };
    speeds.iter().filter_map(of_cell).collect()
}

fn faster_in(ratios: &[f64]) -> usize {
    ratios.iter().filter(|ratio| **ratio > 1.0).count()
}
