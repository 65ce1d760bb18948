//! Text for a terminal or a log file: header, table, legend, stop reasons, sentences.

mod header;
mod paint;
mod table;

use std::collections::BTreeMap;

use cryptbench_record::{Record, Results};

use crate::cpu::Measure;
use crate::quantity::{NO_BREAK, unbroken};
use crate::wording::{LEGEND, stop_words, verdict_mark};

/// How to lay text out.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Columns that a line may take; fewer than 40 are treated as 40, more than 200 as 200.
    pub width: usize,
    /// Whether to emphasise with ANSI colours; nothing is told by colour alone.
    pub colour: bool,
}

impl Style {
    fn columns(self) -> usize {
        self.width.clamp(40, 200)
    }
}

/// The whole report as text, ending with a newline. Holds no cursor movement; without
/// [`Style::colour`] no escape sequence at all.
pub fn render(record: &Record, results: &Results, style: Style) -> String {
    let width = style.columns();
    let mut parts = vec![header::header(record, width), table::table(record, results, width)];
    parts.extend(legend(record, results, width));
    let remarks: Vec<String> =
        stops(record, width).into_iter().chain(notes(record, width)).collect();
    if !remarks.is_empty() {
        parts.push(remarks.join("\n"));
    }
    if !results.sentences.is_empty() {
        parts.push(paragraphs(&results.sentences, width));
    }
    paint::paint(&parts.join("\n\n"), style.colour) + "\n"
}

/// Only the sentences, wrapped, ending with a newline.
pub fn summary(_record: &Record, results: &Results, style: Style) -> String {
    paint::paint(&paragraphs(&results.sentences, style.columns()), style.colour) + "\n"
}

fn paragraphs(sentences: &[String], width: usize) -> String {
    sentences.iter().map(|s| wrap(s, "", "  ", width)).collect::<Vec<_>>().join("\n")
}

/// Explains the marks that occur, and nothing else.
fn legend(record: &Record, results: &Results, width: usize) -> Option<String> {
    let used: Vec<char> =
        results.cells.iter().filter_map(|c| c.verdict.as_ref()).map(verdict_mark).collect();
    let marks: Vec<String> = LEGEND
        .iter()
        .filter(|(mark, _)| used.contains(mark))
        .map(|(mark, words)| format!("{mark} {words}"))
        .collect();
    if marks.is_empty() {
        return None;
    }
    let kept = format!("kept: % of plain speed [interval]; {}", marks.join(", "));
    let noise = "noise: what plain differs from itself by over as many pairs";
    let cpu = format!("CPU s/GiB: {}", Measure::of(record).words());
    Some([&kept, noise, &cpu].map(|line| wrap(line, "", "  ", width)).join("\n"))
}

/// Why the workloads ended, one line per reason.
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
            let items: Vec<String> = match workloads.len() == record.plan.workloads.len() {
                true => vec![all_alike(&workloads)],
                false => workloads.iter().map(|(l, pairs)| format!("{l} ({pairs})")).collect(),
            };
            wrap(&format!("Ended {reason} (pairs): {}", items.join(", ")), "", "  ", width)
        })
        .collect()
}

/// `all 8 workloads (12 to 20)`.
fn all_alike(workloads: &[(&str, u32)]) -> String {
    let pairs = || workloads.iter().map(|(_, pairs)| *pairs);
    let (least, most) = (pairs().min().unwrap_or(0), pairs().max().unwrap_or(0));
    let range = match least == most {
        true => format!("{least}"),
        false => format!("{least} to {most}"),
    };
    match workloads {
        [(only, _)] => format!("{only} ({range})"),
        all => format!("all {} workloads ({range})", all.len()),
    }
}

fn notes(record: &Record, width: usize) -> Vec<String> {
    record.notes.iter().map(|note| wrap(&format!("Note: {note}"), "", "  ", width)).collect()
}

/// Wraps to `width`; words longer than a line are broken rather than overflow. Control characters
/// of foreign text (labels, mount options) become spaces so that they cannot steer the terminal.
fn wrap(text: &str, first: &str, next: &str, width: usize) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(next)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    // Ordinary spaces in the end, so that what is copied or searched is what it looks like.
    textwrap::fill(&unbroken(&clean), options).replace(NO_BREAK, " ")
}
