//! A comparison as text for a terminal.

use cryptbench_answer::quantity::{latency, megabytes, requests};
use cryptbench_foreign::Measure;
use cryptbench_foreign::compare::{Compared, Side, Verdict};
use cryptbench_foreign::costs::CostChange;
use cryptbench_foreign::differences::Difference;
use cryptbench_foreign::reproduced::Reproduction;
use cryptbench_view::columns::{grid, hang, paragraph};

use super::Document;

/// Maximum number of cells shown without `--all`; the cells that differ most come first.
const SHOWN: usize = 40;

/// Maximum number of cells listed by name among those that only one side has.
const NAMED: usize = 12;

const SHARES: &str = "% of plain speed. Each record is compared with its own plain speed, so a slower disk does not \
count as a loss.";

const LEGEND: &str = "B of A: % of A [95 % interval]. ▼ smaller, ▲ larger (proven); = the same within 3 %; ~ no \
difference found; c served from a cache";

pub fn render(document: &Document, all: bool, width: usize) -> String {
    let comparison = &document.comparison;
    let mut blocks = vec![paragraph(&document.answer.join(" "), width, 0)];
    blocks.push([side("A", &comparison.a, width), side("B", &comparison.b, width)].join("\n"));
    if !document.costs.is_empty() {
        blocks.push(costs(&document.costs, width));
    }
    blocks.push(cells(document, all, width));
    blocks.extend(differing(&document.differences, width));
    for (text, names) in [
        ("Only in A", &comparison.only_a),
        ("Only in B", &comparison.only_b),
        ("Without the requested measure", &comparison.without_measure),
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
    blocks.extend(remarks([&comparison.a, &comparison.b], width));
    let sentences = document.sentences.iter().map(|s| hang("", s, width));
    blocks.push(sentences.collect::<Vec<_>>().join("\n"));
    blocks.join("\n\n")
}

/// Renders the comparison of record A with record B, which was measured in the same way.
pub fn beside(
    differences: &[Difference],
    changes: &[CostChange],
    reproduction: Option<&Reproduction>,
    width: usize,
) -> String {
    let mut blocks = match reproduction {
        Some(of) => vec![
            paragraph(&of.sentences(), width, 0),
            costs(changes, width),
            paragraph(LEGEND, width, 0),
        ],
        None => vec![
            "Too few repeats to compare: both records need at least 3 repeats of a workload."
                .to_owned(),
        ],
    };
    blocks.extend(differing(differences, width));
    blocks.join("\n\n")
}

fn differing(differences: &[Difference], width: usize) -> Vec<String> {
    if differences.is_empty() {
        return Vec::new();
    }
    let title = "Other differences between A and B:";
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
    hang(
        &format!("{name}  "),
        &format!(
            "{}: {}, {}, {}, {runs} each",
            side.label,
            formats.join(" and "),
            counted(side.files, "file"),
            counted(side.cells, "result")
        ),
        width,
    )
}

/// The remarks about both sides; a remark that applies to both is printed once.
fn remarks([a, b]: [&Side; 2], width: usize) -> Option<String> {
    let of_a = a.remarks.iter().map(|remark| {
        let first = if b.remarks.contains(remark) { "A, B  " } else { "A  " };
        hang(first, remark, width)
    });
    let of_b = b.remarks.iter().filter(|remark| !a.remarks.contains(remark));
    let lines: Vec<String> = of_a.chain(of_b.map(|remark| hang("B  ", remark, width))).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
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
            c.title.clone(),
            value(&c.a),
            value(&c.b),
            format!("{}{interval} {}", percent(c.ratio), mark(c.verdict)),
        ]
    });
    let title = paragraph("Raw speeds: the mean of all runs.", width, 0);
    let table = grid(&["", "A", "B", "B of A"], rows.collect(), 1, width);
    let mut text = format!("{title}\n\n{table}\n\n{}", paragraph(LEGEND, width, 0));
    if left_out > 0 {
        let note = format!(
            "These are the {SHOWN} largest differences; to see {left_out} more, use --all, --csv or --json."
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
            c.workload_name.clone(),
            c.arm_name.clone(),
            percent(c.a),
            percent(c.b),
            format!("{} [{}, {}] {mark}", percent(c.ratio), percent(c.low), percent(c.high)),
        ]
    });
    let headings = ["workload", "choice", "A", "B", "B of A"];
    format!("{}\n\n{}", paragraph(SHARES, width, 0), grid(&headings, rows.collect(), 2, width))
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

/// A value with its unit, in the form used in the answer for a run.
fn value(value: f64, measure: Measure) -> String {
    match measure {
        Measure::Bandwidth => megabytes(value),
        Measure::Iops => requests(value),
        Measure::Latency => latency(value),
    }
}
