//! Small files as bars that show files per second, and as a table.

use cryptbench_answer::picture::files;
use cryptbench_answer::picture::files::{FileRow, Files, big_file_gain};
use cryptbench_answer::quantity::{NONE, digits, files as per_second, megabytes};
use cryptbench_answer::reading::Reading;
use cryptbench_record::Operation;
use maud::html;

use super::{Figure, Part, Picture, View, kept, numbers};
use crate::drawing::{Bar, Bars, Drawing, arm_role};
use crate::html::scrolling;

pub(super) fn picture(view: &View<'_>) -> Option<Picture> {
    let found = files::files(view.lookup)?;
    let charts = found.rows.iter().map(|row| {
        let drawing = chart(view, &found, row);
        Figure { caption: row.workload.label.clone(), drawing }
    });
    let charts = vec![Part::Charts(charts.collect())];
    let mut headings = vec!["Action".to_owned()];
    for (i, arm) in found.arms.iter().enumerate() {
        headings.push(arm.label.clone());
        if i > 0 {
            headings.push("% of plain".to_owned());
        }
    }
    let rows: Vec<_> = found.rows.iter().map(fields).collect();
    Some(Picture {
        heading: "Small files".to_owned(),
        about: html! {
            "Files per second, median of the trials. Each chart has its own scale."
            @for (direction, done) in [(Operation::Write, "written"), (Operation::Read, "read")] {
                @if let Some(gain) = big_file_gain(&found, 0, &direction) {
                    " On plain storage, one big file with the same amount of data is " (done) " "
                    (digits(gain)) " times as fast as many small ones."
                }
            }
        },
        left_out: found.left_out,
        charts,
        table: scrolling("Files per second by action and choice", &numbers(&headings, &rows)),
    })
}

fn speed(row: &FileRow<'_>, r: &Reading) -> String {
    match row.workload.files {
        Some(_) => per_second(r.iops),
        None => megabytes(r.bandwidth),
    }
}

fn fields(row: &FileRow<'_>) -> (String, Vec<String>) {
    let mut fields = Vec::new();
    for (i, reading) in row.readings.iter().enumerate() {
        fields.push(reading.as_ref().map_or_else(|| NONE.to_owned(), |r| speed(row, r)));
        if i > 0 {
            fields.push(kept(reading.as_ref()));
        }
    }
    (row.workload.label.clone(), fields)
}

fn chart(view: &View<'_>, found: &Files<'_>, row: &FileRow<'_>) -> Drawing {
    let rows: Vec<Bar> = found
        .arms
        .iter()
        .zip(&row.readings)
        .filter_map(|(arm, reading)| {
            let r = reading.as_ref()?;
            let value = if row.workload.files.is_some() { r.iops } else { r.bandwidth / 1e6 };
            Some(Bar::new(&arm.label, speed(row, r), arm_role(view.arms(), arm), value))
        })
        .collect();
    let bars = Bars {
        title: format!("Speed, {}", row.workload.label),
        end: Bars::end_for(&rows, 0.0),
        rows,
        reference: None,
        band: None,
        tick: &crate::html::figures::compact,
    };
    bars.draw()
}
