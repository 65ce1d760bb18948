//! `cryptbench compare --joint`: several records in one table, as text or as comma-separated values.

use std::path::Path;
use std::process::ExitCode;

use cryptbench_answer::names::{Gathered, of_system};
use cryptbench_catalog::cipher_title;
use cryptbench_foreign::joint::{Advantage, Cell, Joint, Work, joint};
use cryptbench_record::Record;
use cryptbench_text::shown;
use cryptbench_view::columns::{grid, hang, paragraph};
use serde::Serialize;

use super::args::CompareArgs;
use super::{Called, record_of, refuse_other_sets};
use crate::exit::Refusal;
use crate::say::{print, print_json, terminal_style};

/// Number of devices side by side in 80 columns.
const BESIDE: usize = 3;

/// Minimum width of a system's name in columns.
const NAME: usize = 20;

/// Width of a device's column.
const DEVICE: usize = 19;

const LEGEND: &str = "Speeds are means of the trials; in brackets: % of that device's plain speed ± its 95 % \
interval, from pairs. Faster by: 100 (fast / slow - 1) of the means; ?: the paired interval includes 0. \
Devices are not compared with each other. c: served from a cache";

/// The output of `--json`.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    #[serde(flatten)]
    joint: Joint,
}

pub fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let mut records: Vec<(String, Record)> = Vec::new();
    for path in &args.joint {
        let Some(record) = record_of(path, &[])? else {
            let reason =
                "is not a record; a joint table needs records, each with its own plain storage";
            return Err(Refusal::input(path, reason).into());
        };
        if let Some((first, before)) = records.first() {
            refuse_other_sets((path, &record), (Path::new(first), before))?;
        }
        records.push((shown(path), record));
    }
    if records.len() < 2 {
        let reason = "--joint needs at least two records; to show one, use cryptbench report";
        return Err(Refusal::usage(&args.joint[0], reason).into());
    }
    let names = Called(Gathered::names(records.iter().map(|(_, record)| &record.plan)));
    let joint = joint(&records, 0.95, &names);
    if joint.workloads.is_empty() {
        let reason = "has no workload in common with the others";
        return Err(Refusal::input(&args.joint[1], reason).into());
    }
    if args.csv {
        print(csv(&joint).trim_end());
    } else if args.json {
        print_json(&Document { schema: "cryptbench.joint/1", joint })?;
    } else {
        print(&text(&joint, terminal_style(false).width));
    }
    Ok(ExitCode::SUCCESS)
}

fn text(joint: &Joint, width: usize) -> String {
    let devices = joint.devices.iter();
    let named = devices
        .map(|d| hang(&format!("{}  ", d.letter), &format!("{} ({})", d.name, d.record), width));
    let mut blocks = vec![named.collect::<Vec<_>>().join("\n")];
    let beside = (width.saturating_sub(NAME) / DEVICE).max(BESIDE);
    for work in &joint.workloads {
        let mut from = 0;
        while from < joint.devices.len() {
            let to = (from + beside).min(joint.devices.len());
            blocks.push(table(joint, work, from..to, width));
            from = to;
        }
    }
    if !joint.of_one_alone.is_empty() {
        let names = format!("In only one record: {}", joint.of_one_alone.join("; "));
        blocks.push(paragraph(&names, width, 0));
    }
    blocks.push(paragraph(LEGEND, width, 0));
    blocks.join("\n\n")
}

fn table(joint: &Joint, work: &Work, devices: std::ops::Range<usize>, width: usize) -> String {
    let title = format!("{}, {}", work.name, work.unit);
    let mut headings = vec![title.as_str()];
    headings.extend(joint.devices[devices.clone()].iter().map(|d| d.letter.as_str()));
    let empty = || "-".to_owned();
    let mut rows: Vec<Vec<String>> = work
        .rows
        .iter()
        .map(|row| {
            let cells = row.cells[devices.clone()].iter();
            let shown = cells.map(|cell| cell.as_ref().map_or_else(empty, in_words));
            std::iter::once(row.name.clone()).chain(shown).collect()
        })
        .collect();
    let mut add = |what: &str, advantages: &[Advantage], names: [fn(&str) -> String; 2]| {
        let [of, fastest_of] = names;
        for one in advantages {
            let cells = one.cells[devices.clone()].iter().map(|cell| {
                cell.as_ref().map_or_else(empty, |fastest| {
                    let sure = fastest.paired.is_some_and(|p| p.low > 1.0);
                    let mark = if sure { "" } else { "?" };
                    let name = fastest_of(&fastest.fastest);
                    format!("{name} +{}%{mark}", three(fastest.percent))
                })
            });
            rows.push(std::iter::once(format!("{}: {what}", of(&one.of))).chain(cells).collect());
        }
    };
    add("faster by", &work.programs, [cipher_title, of_system]);
    add("best cipher", &work.ciphers, [of_system, cipher_title]);
    grid(&headings, rows, 1, width)
}

/// `59.1 (98.2 ±0.3)`.
fn in_words(cell: &Cell) -> String {
    let cached = if cell.cached { " c" } else { "" };
    let share = cell.of_plain.map_or_else(String::new, |share| {
        let half = 100.0 * (share.high - share.low) / 2.0;
        format!(" ({} ±{})", three(100.0 * share.ratio), three(half))
    });
    format!("{}{share}{cached}", three(cell.mean))
}

/// Three significant figures.
fn three(value: f64) -> String {
    match value.abs() {
        v if v < 0.995 => format!("{value:.2}"),
        v if v < 9.95 => format!("{value:.1}"),
        v if v < 999.5 => format!("{value:.0}"),
        _ => cryptbench_answer::quantity::thousands(value),
    }
}

const HEAD: [&str; 17] = [
    "kind",
    "workload",
    "unit",
    "row",
    "device",
    "record",
    "trials",
    "mean",
    "of_plain",
    "of_plain_low",
    "of_plain_high",
    "fastest",
    "slowest",
    "faster_by_percent",
    "paired_ratio",
    "workload_name",
    "row_name",
];

/// Returns the name of the program or cipher with which another program or cipher is compared.
type Naming = fn(&str) -> String;

/// One line for each workload, row and device; `kind` is `speed`, `program` or `cipher`.
fn csv(joint: &Joint) -> String {
    let mut lines = vec![HEAD.map(str::to_owned).to_vec()];
    let number = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
    for work in &joint.workloads {
        let line = |kind: &str, row: [&str; 2], device: usize, rest: [String; 9]| {
            let [row, name] = row;
            let device = &joint.devices[device];
            [kind, &work.id, work.unit, row, &device.name, &device.record]
                .map(str::to_owned)
                .into_iter()
                .chain(rest)
                .chain([work.name.clone(), name.to_owned()])
                .collect::<Vec<_>>()
        };
        for row in &work.rows {
            for (device, cell) in row.cells.iter().enumerate() {
                let Some(cell) = cell else { continue };
                let share = cell.of_plain;
                let mut rest: [String; 9] = Default::default();
                rest[0] = cell.trials.to_string();
                rest[1] = cell.mean.to_string();
                rest[2] = number(share.map(|s| s.ratio));
                rest[3] = number(share.map(|s| s.low));
                rest[4] = number(share.map(|s| s.high));
                lines.push(line("speed", [&row.label, &row.name], device, rest));
            }
        }
        let advantages: [(_, _, Naming); 2] =
            [("program", &work.programs, cipher_title), ("cipher", &work.ciphers, of_system)];
        for (kind, all, name) in advantages {
            for one in all {
                for (device, fastest) in one.cells.iter().enumerate() {
                    let Some(fastest) = fastest else { continue };
                    let mut rest: [String; 9] = Default::default();
                    rest[5].clone_from(&fastest.fastest);
                    rest[6].clone_from(&fastest.slowest);
                    rest[7] = fastest.percent.to_string();
                    rest[8] = number(fastest.paired.map(|p| p.ratio));
                    lines.push(line(kind, [&one.of, &name(&one.of)], device, rest));
                }
            }
        }
    }
    cryptbench_view::table::csv::lines(lines)
}
