//! Replayed studies as text for a terminal.

use cryptbench_studies::beside::Beside;
use cryptbench_studies::{Answer, Field, Replay, Replayed, Table, Verdict};
use cryptbench_view::columns::{grid, hang, paragraph};

/// Number of devices for which all cells are shown next to a record; for the other devices, only the distance is shown.
const SHOWN: usize = 1;

/// Every study in one row.
pub fn list(studies: &[Replay], width: usize) -> String {
    let headings = ["study", "by", "devices", "systems", "agree", "disagree", "unchecked"];
    let rows = studies.iter().map(|s| {
        let count = |v| s.count(v).to_string();
        vec![
            s.about.letter.to_string(),
            format!("{}, {}", s.about.author, s.about.year),
            s.about.devices.join(", "),
            s.about.systems.join(", "),
            count(Verdict::Agrees),
            count(Verdict::Disagrees),
            count(Verdict::CannotBeChecked),
        ]
    });
    let table = grid(&headings, rows.collect(), 4, width);
    let total: usize = studies.iter().map(|s| s.conclusions.len()).sum();
    let agree: usize = studies.iter().map(|s| s.count(Verdict::Agrees)).sum();
    let sum = format!(
        "{agree} of {total} conclusions agree with the numbers published with them. \"Unchecked\": the numbers were \
         not published. `cryptbench studies A` prints a study in full; `cryptbench studies A --beside RECORD` \
        compares your record with its nearest device."
    );
    format!("{table}\n\n{}", paragraph(&sum, width, 0))
}

/// A study in full.
pub fn study(study: &Replay, width: usize) -> String {
    let about = study.about;
    let fact = |name: &str, value: &str| hang(&format!("{name:<10}"), value, width);
    let mut blocks = vec![
        [
            paragraph(&format!("Study {}: {}", about.letter, about.title), width, 0),
            fact("by", &format!("{}, {}", about.author, about.year)),
            fact("source", about.source),
            fact("devices", &about.devices.join(", ")),
            fact("systems", &about.systems.join(", ")),
            fact("estimator", about.estimator),
        ]
        .join("\n"),
    ];
    blocks.push(section("Method"));
    let parameters = study.parameters.iter();
    let rows = parameters.map(|p| vec![p.group.clone(), p.name.clone(), p.value.clone()]);
    blocks.push(grid(&["of", "what", "value"], rows.collect(), 3, width));
    blocks.push(section("Published tables"));
    blocks.extend(study.tables.iter().map(|t| table(t, width)));
    let count = |v| study.count(v);
    blocks.push(section(&format!(
        "Conclusions: {} agree with the study's figures, {} disagree, {} cannot be checked",
        count(Verdict::Agrees),
        count(Verdict::Disagrees),
        count(Verdict::CannotBeChecked)
    )));
    blocks.extend(study.conclusions.iter().map(|c| conclusion(c, width)));
    blocks.push(section("Errors"));
    blocks.extend(study.errors.iter().map(|e| {
        let instead =
            if e.instead.is_empty() { String::new() } else { format!(" Instead: {}", e.instead) };
        hang(
            &format!("{} ", e.id),
            &format!("{} ({}): {}{instead}", e.kind, e.source, e.description),
            width,
        )
    }));
    if !study.answers.is_empty() {
        blocks.push(section("Open questions, answered from the study's figures"));
        blocks.extend(study.answers.iter().map(|answer| answered(answer, width)));
    }
    blocks.join("\n\n")
}

/// A question and its answer.
pub fn answered(answer: &Answer, width: usize) -> String {
    let lines = answer.lines.iter().map(|line| hang("- ", line, width));
    let question = paragraph(answer.question, width, 0);
    std::iter::once(question).chain(lines).collect::<Vec<_>>().join("\n")
}

/// A record compared with the devices of the published studies.
pub fn beside(near: &[Beside], width: usize) -> String {
    let mut blocks = Vec::new();
    let rows = near.iter().map(|b| {
        let (cells, factor) = (b.cells.len().to_string(), format!("{:.1}", b.distance.exp()));
        vec![format!("{} of study {}", b.device, b.study), cells, factor]
    });
    blocks
        .push("Published devices, nearest first (factor: mean ratio of plain speeds):".to_owned());
    blocks.push(grid(&["device", "cells", "factor"], rows.collect(), 1, width));
    for device in near.iter().take(SHOWN) {
        blocks.push(paragraph(
            &format!(
                "Your record and the {} of study {}. MB/s means MiB/s. Drop is the loss caused by encryption: for your \
                 record, the paired mean of each choice; for the study, calculated from single published speeds.",
                device.device, device.study
            ),
            width,
            0,
        ));
        let rows = device.cells.iter().flat_map(|c| {
            let there = c.their_drops.first().map_or(String::new(), |(_, d)| format!("{d:.1} %"));
            let speeds = [c.workload.clone(), format!("{:.1}", c.ours), format!("{:.1}", c.theirs)];
            let arms = c.our_drops.iter().enumerate().map(move |(i, (arm, drop))| {
                // Properties that a cell's arms share are printed only in its first row.
                let of_cell = |text: &String| if i == 0 { text.clone() } else { String::new() };
                let mut row: Vec<String> = speeds.iter().map(of_cell).collect();
                row.extend([arm.clone(), format!("{drop:.1} %"), of_cell(&there)]);
                row
            });
            arms.collect::<Vec<_>>()
        });
        let headings = ["workload", "here", "there", "choice", "drop here", "there"];
        blocks.push(grid(&headings, rows.collect(), 1, width));
    }
    blocks.join("\n\n")
}

fn conclusion(c: &Replayed, width: usize) -> String {
    let mut lines =
        vec![hang("- ", &format!("{} ({}): {}", c.text, c.source, c.finding.verdict), width)];
    lines.extend(c.finding.numbers.iter().map(|n| paragraph(n, width, 4)));
    if !c.note.is_empty() {
        lines.push(paragraph(&format!("note: {}", c.note), width, 4));
    }
    lines.join("\n")
}

pub fn table(t: &Table, width: usize) -> String {
    // Names are left-aligned. The columns of numbers start with the first column that has a number in the first row.
    let is_number = |field: &Field| matches!(field, Field::Number(_));
    let first = t.rows.first().and_then(|row| row.iter().skip(1).position(is_number));
    let mut text = paragraph(&t.title, width, 0);
    text.push('\n');
    text.push_str(&grid(
        &t.headings,
        t.lines().collect(),
        first.map_or(t.headings.len(), |i| i + 1),
        width,
    ));
    if !t.note.is_empty() {
        text.push('\n');
        text.push_str(&paragraph(t.note, width, 0));
    }
    text
}

fn section(title: &str) -> String {
    format!("{title}\n{}", "═".repeat(textwrap::core::display_width(title)))
}
