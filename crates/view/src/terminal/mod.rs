//! Text for a terminal or a log file: the answer on one screen, or all figures with header, table, legend, stop
//! reasons and sentences.

pub mod answer;
mod bars;
mod cell;
mod condensed;
mod copies;
mod curve;
mod evidence;
mod explanation;
mod files;
mod grid;
mod header;
mod heatmap;
mod identifiers;
mod layout;
mod paint;
mod peers;
mod picture;
mod ranking;
mod spark;
mod split;
mod table;
mod unlock;

use std::collections::{BTreeMap, BTreeSet};

use cryptbench_answer::wording::measure_words;
use cryptbench_record::{ArmRole, Record};

pub use self::cell::{NoSuchCell, explain};
use crate::prose;
use cryptbench_answer::Report;
use cryptbench_answer::advice::observations;
use cryptbench_answer::picture::peers::peers;
use cryptbench_answer::quantity::{NO_BREAK, is_time, thousands, unbroken};
use cryptbench_answer::remarks::remarks;
use cryptbench_answer::wording::{LEGEND, list, particulars, stop_words, verdict_mark};
use cryptbench_catalog::Presentation;
use cryptbench_estimate::cpu::Measure;
use cryptbench_estimate::device::moves_bytes;
use cryptbench_estimate::lookup::Lookup;
use cryptbench_estimate::ranking::{Ranking, ranking};
use cryptbench_text::clean;

/// Maximum number of workloads in the table; more are condensed by series.
const MOST_ROWS: usize = 24;

/// Minimum width in columns at which two sections are placed side by side.
const LEAST_BESIDE: usize = 160;

/// Maximum number of workloads that are listed individually if only some of them ended for a reason or have a
/// special property.
const MOST_NAMED: usize = 8;

/// Maximum width of text in columns that is comfortable to read; only tables and drawings are wider.
const MOST_PROSE: usize = 120;

/// How to lay out text.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Maximum width of a line in columns, limited to the range from 40 to 200.
    pub width: usize,
    /// Whether to use ANSI colours for emphasis; no meaning is expressed only by colour.
    pub colour: bool,
}

impl Style {
    fn columns(self) -> usize {
        self.width.clamp(40, 200)
    }
}

/// All figures as text, with a newline at the end. It does not move the cursor and, without [`Style::colour`],
/// does not contain escape sequences.
pub fn render(report: &Report<'_>, style: Style) -> String {
    let Report { record, lookup, answer, .. } = report;
    let width = style.columns();
    let mut parts = vec![header::facts(record, width)];
    let picture = picture::picture(lookup, width);
    let table = match record.plan.workloads.len() > MOST_ROWS {
        true => Some(table::Laid { text: condensed::table(lookup, width), detailed: false }),
        // Unlocking has no equivalent on plain storage, so its picture shows everything.
        false if picture.is_some() && record.plan.form() == Presentation::Unlock => None,
        false => Some(table::table(lookup, width)),
    };
    parts.extend(picture);
    let legend = table.as_ref().and_then(|t| legend(lookup, t.detailed, width));
    parts.extend(table.map(|t| t.text));
    parts.extend(legend);
    if record.plan.form() != Presentation::Copies {
        parts.extend(peers(lookup).map(|peers| peers::table(&peers, MOST_ROWS, width)));
    }
    let block = if width >= LEAST_BESIDE { (width - layout::BLOCK_GAP) / 2 } else { width };
    let blocks: Vec<String> = [
        explanation::section(lookup, block),
        split::table(record, block),
        evidence::section(record, block),
        ranking(lookup)
            .filter(Ranking::is_telling)
            .map(|r| ranking::table(&r, record.plan.confidence, block)),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !blocks.is_empty() {
        parts.push(layout::beside(&blocks, width));
    }
    parts.extend(crate::studies::full(
        &cryptbench_answer::studies::tested(lookup),
        width.min(MOST_PROSE),
    ));
    let remarks: Vec<String> = particular(record, width)
        .into_iter()
        .chain(stops(record, width))
        .chain(notes(record, width))
        .collect();
    if !remarks.is_empty() {
        parts.push(remarks.join("\n"));
    }
    if !report.sentences.is_empty() {
        parts.push(paragraphs(&report.sentences, width));
    }
    let open = answer.open.iter().map(|open| open.line(None)).collect();
    let advice = answer.advice().cloned().collect();
    for (title, lines) in [
        ("Advice, based only on these figures:", &advice),
        ("Open:", &open),
        ("Other observations:", &observations(lookup)),
    ] {
        if !lines.is_empty() {
            let lines = lines.iter().map(|s| wrap(s, "- ", "  ", width));
            parts.push(
                std::iter::once(title.to_owned()).chain(lines).collect::<Vec<_>>().join("\n"),
            );
        }
    }
    parts.extend(identifiers::table(&record.plan, width));
    let title = paint::bold(&header::title(record, width), style.colour);
    format!("{title}\n{}\n", paint::paint(&parts.join("\n\n"), style.colour))
}

fn paragraphs(sentences: &[String], width: usize) -> String {
    sentences.iter().map(|s| wrap(s, "", "  ", width)).collect::<Vec<_>>().join("\n")
}

/// Explains only the marks and columns that occur. `detailed` means the table with all figures.
fn legend(lookup: &Lookup<'_>, detailed: bool, width: usize) -> Option<String> {
    let cells = &lookup.cells;
    let used: Vec<char> =
        cells.iter().filter_map(|c| c.verdict.as_ref()).map(verdict_mark).collect();
    let marks: Vec<String> = LEGEND
        .iter()
        .filter(|(mark, _)| used.contains(mark))
        .map(|(mark, words)| format!("{mark} {words}"))
        .collect();
    if marks.is_empty() {
        return None;
    }
    let workloads = lookup.workloads();
    let condensed = workloads.len() > MOST_ROWS;
    let kept = match condensed {
        true => "geometric mean",
        false => "with its interval, from repeats interleaved with plain",
    };
    let mut lines = vec![format!("% of plain speed: {kept}"), marks.join(", ")];
    if workloads.iter().any(is_time) {
        lines.push("where a time is given, twice the time is half the speed".to_owned());
    }
    if let Some(null) = lookup.arms().iter().find(|a| a.role == ArmRole::NullLayer) {
        lines.push(format!("{}: the same path to the disk without encryption", null.label));
    }
    let units: BTreeSet<u32> = lookup.arms().iter().filter_map(|a| a.data_unit).collect();
    if units.len() > 1 {
        let units: Vec<String> = units.iter().map(|u| format!("{u} B")).collect();
        lines.push(format!(
            "{}: sector size; VeraCrypt and LUKS1 have 512 B, LUKS2 up to 4096 B",
            units.join(", ")
        ));
    }
    if !condensed {
        lines.push("noise: plain compared with itself, over as many repeats".to_owned());
        if workloads.iter().any(moves_bytes) {
            lines.push(format!("CPU s/GiB: {}", measure_words(Measure::of(lookup.record))));
        }
        if detailed {
            lines.push(
                "p50, p99: request latency, median over the trials; trials: speed of each trial in order, all choices \
                 of a workload on one scale"
                    .to_owned(),
            );
        }
    }
    Some(lines.iter().map(|line| wrap(line, "", "  ", width)).collect::<Vec<_>>().join("\n"))
}

/// Special properties of some workloads; workloads with the same properties are grouped.
fn particular(record: &Record, width: usize) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for workload in &record.plan.workloads {
        let words = particulars(workload);
        if words.is_empty() {
            continue;
        }
        match groups.iter_mut().find(|(w, _)| *w == words) {
            Some((_, labels)) => labels.push(&workload.label),
            None => groups.push((words, vec![&workload.label])),
        }
    }
    let all = record.plan.workloads.len();
    groups
        .into_iter()
        .map(|(words, labels)| {
            let who = match labels.len() {
                n if n == all && n > 1 => format!("All {} workloads", thousands(n as f64)),
                n if n > MOST_NAMED => {
                    format!("{} workloads, such as {}", thousands(n as f64), labels[0])
                }
                _ => list(&labels, MOST_NAMED),
            };
            wrap(&format!("{who}: {words}"), "", "  ", width)
        })
        .collect()
}

/// Why the workloads ended, with one line per reason.
fn stops(record: &Record, width: usize) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<(&str, u32)>> = BTreeMap::new();
    for stop in &record.stops {
        let label = record
            .plan
            .workloads
            .iter()
            .find(|w| w.id == stop.workload)
            .map_or(stop.workload.as_str(), |w| w.label.as_str());
        by_reason.entry(stop_words(stop.reason)).or_default().push((label, stop.pairs));
    }
    by_reason
        .into_iter()
        .map(|(reason, workloads)| {
            let all = workloads.len() == record.plan.workloads.len();
            let items: Vec<String> = match all || workloads.len() > MOST_NAMED {
                true => vec![all_alike(&workloads, all)],
                false => workloads.iter().map(|(l, pairs)| format!("{l} ({pairs})")).collect(),
            };
            wrap(&format!("Ended {reason} (repeats): {}", items.join(", ")), "", "  ", width)
        })
        .collect()
}

/// `all 8 workloads (12 to 20)`, `19 workloads (12)`.
fn all_alike(workloads: &[(&str, u32)], all: bool) -> String {
    let pairs = || workloads.iter().map(|(_, pairs)| *pairs);
    let (least, most) = (pairs().min().unwrap_or(0), pairs().max().unwrap_or(0));
    let range = match least == most {
        true => format!("{least}"),
        false => format!("{least} to {most}"),
    };
    match workloads {
        [(only, _)] => format!("{only} ({range})"),
        many => {
            let which = if all { "all " } else { "" };
            format!("{which}{} workloads ({range})", thousands(many.len() as f64))
        }
    }
}

fn notes(record: &Record, width: usize) -> Vec<String> {
    let machine = remarks(record);
    let notes = machine.iter().chain(&record.notes);
    notes.map(|note| wrap(&format!("Note: {note}"), "", "  ", width)).collect()
}

/// Like [`prose::wrap`], but limited to [`MOST_PROSE`] columns and without breaks within intervals.
fn wrap(text: &str, first: &str, next: &str, width: usize) -> String {
    // Non-breaking spaces finally become ordinary ones, so that copying and searching work as expected.
    prose::wrap(&unbroken(&clean(text)), first, next, width.min(MOST_PROSE)).replace(NO_BREAK, " ")
}
