//! The numbers that study B printed: means and standard deviations of dd's times.

use std::collections::BTreeMap;

use crate::error::DataError;
use crate::files::Files;
use crate::number::Rederived;
use crate::observation::{Dimension, Observation};
use crate::study::Numbers;
use crate::table::{Number, Table};

/// Megabytes by which the study divides its times.
const AMOUNT: f64 = 512.0;

pub(super) fn read(files: &Files) -> Result<Numbers, DataError> {
    let csv = files.csv("blog_dd")?;
    let mut plain = BTreeMap::new();
    for row in csv.rows().filter(|r| r.text("drive") == Ok("plain")) {
        plain.insert(row.text("data")?, row.number("mean_s")?.value());
    }
    let (mut observations, mut rederived, mut rows) = (vec![], vec![], vec![]);
    for row in csv.rows() {
        let (data, drive) = (row.text("data")?, row.text("drive")?);
        let about = |o: Observation| {
            o.with(Dimension::Device, "microsd")
                .with(Dimension::System, "encrypted volume of Mac OS")
                .with(Dimension::Work, data)
                .with(Dimension::State, drive)
        };
        let (mean, sd) = (row.number("mean_s")?, row.number("sd_s")?);
        let speed = Rederived {
            what: format!("speed, {data} data, {drive}"),
            published: row.number("speed_mbyte_s")?,
            derived: AMOUNT / mean.value(),
            unit: "MB/s",
        };
        let times = plain.get(data).map(|p| Number::new(mean.value() / p, 2));
        rows.push(vec![
            data.into(),
            drive.into(),
            mean.field().into(),
            sd.field().into(),
            Number::percent(100.0 * sd.value() / mean.value()).into(),
            speed.published.field().into(),
            speed.published.finer(speed.derived).into(),
            times.into(),
        ]);
        observations.push(about(Observation::new("s", mean)));
        observations.push(about(Observation::new("s, sd", sd)));
        observations.push(about(Observation::new("MB/s", speed.published.clone())));
        rederived.push(speed);
    }
    for row in files.csv("parameters")?.rows() {
        if row.text("doc")? == "002" && row.text("name")? == "count" {
            observations.push(
                Observation::new("blocks", row.number("value")?).with(Dimension::Work, "count"),
            );
        }
    }
    let table = Table {
        title: "dd, 8 of 10 runs each".into(),
        headings: vec![
            "data",
            "drive",
            "mean s",
            "sd s",
            "sd/mean",
            "MB/s",
            "derived",
            "times plain",
        ],
        rows,
        note: "The speeds hold if 512 MB were written; the script says 128 (E26).",
    };
    Ok(Numbers { observations, rederived, tables: vec![table], ..Numbers::default() })
}
