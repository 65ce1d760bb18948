//! A comparison as text for a terminal.

use cryptbench_foreign::Measure;
use cryptbench_foreign::compare::{Compared, Side, Verdict};
use cryptbench_foreign::costs::CostChange;
use cryptbench_foreign::differences::Difference;
use cryptbench_foreign::reproduced::Reproduction;
use cryptbench_view::columns::{grid, hang, paragraph};

use super::Document;

/// The most cells shown without `--all`; those that differ most come first.
const SHOWN: usize = 40;

/// The most names shown of cells that only one side has.
const NAMED: usize = 12;

const LEGEND: &str = "B of A: % of A, ratio of geometric means [95 % interval, Welch]; ▼ slower, ▲ faster (p < 0.01 after Holm \
over the cells); = within 3 %; ~ not to be told apart; c a cache answered";

pub fn render(document: &Document, all: bool, width: usize) -> String {
    let comparison = &document.comparison;
    let mut blocks = vec![
        "UNPAIRED comparison of B with A".to_owned(),
        [side("A", &comparison.a, width), side("B", &comparison.b, width)].join("\n"),
    ];
    blocks.extend(differing(&document.differences, width));
    blocks.push(cells(document, all, width));
    if !document.costs.is_empty() {
        blocks.push(costs(&document.costs, width));
    }
    blocks.extend(document.reproduction.iter().map(|of| paragraph(&of.sentences(), width, 0)));
    for (text, names) in [
        ("Only in A", &comparison.only_a),
        ("Only in B", &comparison.only_b),
        ("Without the measure that was asked for", &comparison.without_measure),
    ] {
        if !names.is_empty() {
            let shown = if all { names.len() } else { NAMED };
            let mut list = names.iter().take(shown).cloned().collect::<Vec<_>>().join("; ");
            if names.len() > shown {
                list.push_str(&format!("; and {} more (--all)", names.len() - shown));
            }
            blocks.push(paragraph(&format!("{text} ({}): {list}", names.len()), width, 0));
        }
    }
    let sentences = document.sentences.iter().map(|s| hang("", s, width));
    blocks.push(sentences.collect::<Vec<_>>().join("\n"));
    blocks.join("\n\n")
}

/// A record, A, and one that was measured like it, B.
pub fn beside(
    differences: &[Difference],
    changes: &[CostChange],
    reproduction: Option<&Reproduction>,
    width: usize,
) -> String {
    let mut blocks = differing(differences, width);
    let Some(reproduction) = reproduction else {
        blocks.push("The two have no cost in common with 3 pairs or more in each.".to_owned());
        return blocks.join("\n\n");
    };
    blocks.push(costs(changes, width));
    blocks.push(paragraph(&reproduction.sentences(), width, 0));
    blocks.join("\n\n")
}

fn differing(differences: &[Difference], width: usize) -> Vec<String> {
    if differences.is_empty() {
        return Vec::new();
    }
    let title = "What differs between the two records besides their speeds:";
    let rows = differences.iter().map(|d| vec![d.what.clone(), d.a.clone(), d.b.clone()]);
    vec![paragraph(title, width, 0), grid(&["what", "A", "B"], rows.collect(), 3, width)]
}

fn side(name: &str, side: &Side, width: usize) -> String {
    let formats: Vec<&str> = side.formats.iter().map(|f| f.as_str()).collect();
    let runs = match side.runs {
        (1, 1) => "1 run".to_owned(),
        (one, other) if one == other => format!("{one} runs"),
        (few, many) => format!("{few} to {many} runs"),
    };
    let counted = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let mut lines = vec![hang(
        &format!("{name}  "),
        &format!(
            "{}: {}, {}, {}, {runs} each",
            side.label,
            formats.join(" and "),
            counted(side.files, "file"),
            counted(side.cells, "cell")
        ),
        width,
    )];
    lines.extend(side.remarks.iter().map(|r| hang("   remark: ", r, width)));
    lines.join("\n")
}

fn cells(document: &Document, all: bool, width: usize) -> String {
    let cells = &document.comparison.cells;
    let mut shown: Vec<&Compared> = cells.iter().collect();
    let left_out = if all { 0 } else { shown.len().saturating_sub(SHOWN) };
    if left_out > 0 {
        shown.sort_by(|x, y| y.ratio.ln().abs().total_cmp(&x.ratio.ln().abs()));
        shown.truncate(SHOWN);
    }
    let rows = shown.iter().map(|c| {
        let value =
            |v: &cryptbench_foreign::compare::Values| value(v.figure.unwrap_or(v.mean), c.measure);
        let interval = c
            .interval
            .map_or_else(String::new, |i| format!(" [{}, {}]", percent(i.low), percent(i.high)));
        vec![
            c.name.clone(),
            value(&c.a),
            value(&c.b),
            format!("{}{interval} {}", percent(c.ratio), mark(c.verdict)),
        ]
    });
    let table = grid(&["cell", "A", "B", "B of A"], rows.collect(), 1, width);
    let mut text = format!("{table}\n\n{}", paragraph(LEGEND, width, 0));
    if left_out > 0 {
        let note = format!(
            "The {SHOWN} cells that lie farthest apart; {left_out} more with --all, --csv or --json."
        );
        text.push_str(&format!("\n{}", paragraph(&note, width, 0)));
    }
    text
}

fn costs(changes: &[CostChange], width: usize) -> String {
    let rows = changes.iter().map(|c| {
        let mark = match (c.changed, c.ratio < 1.0) {
            (true, true) => '▼',
            (true, false) => '▲',
            (false, _) if c.same => '=',
            (false, _) => '~',
        };
        vec![
            c.workload.clone(),
            c.arm.clone(),
            percent(c.a),
            percent(c.b),
            format!("{} [{}, {}] {mark}", percent(c.ratio), percent(c.low), percent(c.high)),
        ]
    });
    let headings = ["workload", "arm", "A keeps", "B keeps", "B of A"];
    let note = "What each record keeps of its own plain speed, in %: paired within the records, so that a slower disk is no \
                cost, and unpaired between them.";
    format!("{}\n\n{}", paragraph(note, width, 0), grid(&headings, rows.collect(), 2, width))
}

fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "▼",
        Verdict::Faster => "▲",
        Verdict::Equivalent => "=",
        Verdict::NotToldApart => "~",
        Verdict::Cached => "c",
        Verdict::NoInterval | Verdict::TooCoarse => "",
    }
}

fn percent(ratio: f64) -> String {
    let value = ratio * 100.0;
    if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// A value with three digits and its unit.
fn value(value: f64, measure: Measure) -> String {
    let (scaled, unit) = match measure {
        Measure::Bandwidth => match value {
            v if v >= 1e9 => (v / 1e9, "GB/s"),
            v if v >= 1e6 => (v / 1e6, "MB/s"),
            v => (v / 1e3, "kB/s"),
        },
        Measure::Iops => match value {
            v if v >= 1e6 => (v / 1e6, "M IOPS"),
            v if v >= 1e3 => (v / 1e3, "k IOPS"),
            v => (v, "IOPS"),
        },
        Measure::Latency => match value {
            v if v >= 1e6 => (v / 1e6, "s"),
            v if v >= 1e3 => (v / 1e3, "ms"),
            v => (v, "µs"),
        },
    };
    let digits = match scaled {
        s if s < 9.995 => 2,
        s if s < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.digits$} {unit}")
}
