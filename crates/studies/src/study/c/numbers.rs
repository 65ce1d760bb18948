//! The numbers that study C printed: dd's times, iozone's mean losses, and the differences between
//! identical series.

use crate::error::DataError;
use crate::files::Files;
use crate::number::{Printed, Rederived};
use crate::observation::{Dimension, Observation};
use crate::study::Numbers;
use crate::table::{Number, Table};

/// Megabytes written by dd: 128,000 blocks of 4 KiB.
const AMOUNT: f64 = 524.288;

pub(super) fn read(files: &Files) -> Result<Numbers, DataError> {
    let csv = files.csv("habr_iozone")?;
    let (mut observations, mut rederived, mut rows) = (vec![], vec![], vec![]);
    let mut plain = None;
    for row in csv.rows() {
        let system = row.text("system")?;
        // `directory (files), FUSE` is also a directory.
        let kind = row.text("volume_kind")?;
        let place = kind.split([' ', ',']).next().filter(|k| *k == "directory").unwrap_or(kind);
        let state = if system.starts_with("none") { "plain" } else { "encrypted" };
        let about = |work: &str, unit, value: &Printed| {
            Observation::new(unit, value.clone())
                .with(Dimension::Device, "hdd")
                .with(Dimension::System, system)
                .with(Dimension::Work, work)
                .with(Dimension::State, state)
                .with(Dimension::Place, place)
        };
        let series = row.number_if_any("within_series_mean_difference_pct")?;
        let lost = row.number_if_any("iozone_loss_pct_vs_plain")?;
        let seconds = row.number("dd_seconds")?;
        let speed = Rederived {
            what: format!("dd, {system}, {place}"),
            published: row.number("dd_mb_s")?,
            derived: AMOUNT / seconds.value(),
            unit: "MB/s",
        };
        let plain = *plain.get_or_insert(speed.derived);
        let larger = 100.0 * (plain - speed.derived) / plain.max(speed.derived);
        rows.push(vec![
            system.into(),
            place.into(),
            lost.as_ref().map(Printed::field).into(),
            series.as_ref().map(Printed::field).into(),
            seconds.field().into(),
            speed.published.field().into(),
            speed.published.finer(speed.derived).into(),
            Number::new(larger, 1).into(),
        ]);
        observations.extend(lost.iter().map(|v| about("iozone", "% lost", v)));
        observations.extend(series.iter().map(|v| about("iozone", "% between series", v)));
        observations.push(about("dd", "s", &seconds));
        observations.push(about("dd", "MB/s", &speed.published));
        rederived.push(speed);
    }
    let table = Table {
        title: "iozone -a and dd bs=4k of /dev/urandom; percent of the larger speed".into(),
        headings: vec![
            "system",
            "on",
            "iozone % lost",
            "% between series",
            "dd s",
            "MB/s",
            "derived",
            "dd % lost",
        ],
        rows,
        note: "dd was as slow as the generator of its random data, so its losses show little (E37).",
    };
    Ok(Numbers {
        observations,
        rederived,
        tables: vec![table],
        answers: super::causes::answers(files)?,
    })
}
