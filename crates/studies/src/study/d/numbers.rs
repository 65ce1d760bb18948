//! The numbers that study D printed: the speeds in twelve figures, and by how many percent one
//! program is faster.

use std::collections::BTreeMap;

use crate::error::DataError;
use crate::files::Files;
use crate::number::{Printed, Rederived};
use crate::observation::{Dimension, Observation};
use crate::study::Numbers;
use crate::table::Table;

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
        let title =
            format!("Figure {figure}, {device}, {work}, MB/s; by how many percent which is faster");
        if tables.last().is_none_or(|t: &Table| t.title != title) {
            let headings =
                vec!["cipher", "TrueCrypt", "BestCrypt", "stated %", "derived", "faster"];
            tables.push(Table { title, headings, rows: vec![], note: "" });
        }
        let row = vec![
            cipher.trim_end_matches("-256").to_owned(),
            truecrypt.text().to_owned(),
            bestcrypt.text().to_owned(),
            percent.published.text().to_owned(),
            percent.published.finer(percent.derived),
            faster.to_owned(),
        ];
        if let Some(table) = tables.last_mut() {
            table.rows.push(row);
        }
        rederived.push(percent);
    }
    Ok(Numbers { observations, rederived, tables })
}
