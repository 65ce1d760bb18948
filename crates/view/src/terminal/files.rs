//! The table of small files: files per second by operation and arm, and the speed of one big file.

use cryptbench_answer::picture::files::{FileRow, Files, big_file_gain};
use cryptbench_answer::quantity::{NONE, digits, files, megabytes};
use cryptbench_answer::reading::Reading;
use cryptbench_record::Operation;

use super::layout::{add, clean, empty, fitted, heading, text, widest};
use super::picture::share;
use super::wrap;

pub(super) fn draw(table: &Files<'_>, width: usize) -> String {
    let title = "Files per second and % of plain:";
    let wide = by_action(table);
    let body = match widest(&text(&wide)) <= width {
        true => text(&wide),
        false => fitted(by_arm(table), width),
    };
    let mut parts = vec![wrap(title, "", "  ", width), body];
    parts.extend(one_big_file(table).map(|words| wrap(&words, "", "  ", width)));
    parts.join("\n")
}

fn by_action(table: &Files<'_>) -> comfy_table::Table {
    let labels = table.arms.iter().map(|arm| heading(&clean(&arm.label)));
    let mut made = empty(["action".to_owned()].into_iter().chain(labels).collect());
    for row in &table.rows {
        let values = row.readings.iter().map(|r| value(row, r.as_ref()));
        add(&mut made, [clean(&row.workload.label)].into_iter().chain(values).collect());
    }
    made
}

fn by_arm(table: &Files<'_>) -> comfy_table::Table {
    let mut made = empty(["action", "speed"].map(str::to_owned).into());
    for row in &table.rows {
        add(&mut made, vec![clean(&row.workload.label), String::new()]);
        for (arm, reading) in table.arms.iter().zip(&row.readings) {
            let label = format!("  {}", clean(&arm.label));
            add(&mut made, vec![label, value(row, reading.as_ref())]);
        }
    }
    made
}

fn value(row: &FileRow<'_>, reading: Option<&Reading>) -> String {
    let Some(r) = reading else { return NONE.to_owned() };
    let speed = if row.workload.files.is_some() { files(r.iops) } else { megabytes(r.bandwidth) };
    match (r.ratio, r.mark) {
        (None, None) => speed,
        (ratio, mark) => format!("{speed} {:>4}", share(ratio, mark)),
    }
}

/// How much faster the same data is transferred as one file, for plain storage and for the first other arm.
fn one_big_file(table: &Files<'_>) -> Option<String> {
    let gains = |arm: usize| -> Vec<String> {
        [(Operation::Write, "written"), (Operation::Read, "read")]
            .into_iter()
            .filter_map(|(direction, done)| {
                let gain = big_file_gain(table, arm, &direction)?;
                Some(format!("{done} {} times as fast", digits(gain)))
            })
            .collect()
    };
    let words: Vec<String> = (0..table.arms.len().min(2))
        .map(|arm| (arm, gains(arm)))
        .filter(|(_, gains)| !gains.is_empty())
        .map(|(arm, gains)| format!("on {} {}", clean(&table.arms[arm].label), gains.join(" and ")))
        .collect();
    (!words.is_empty())
        .then(|| format!("One big file instead of many small ones is {}.", words.join("; ")))
}
