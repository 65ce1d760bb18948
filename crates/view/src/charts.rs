//! Every chart of the HTML report as a separate file: an SVG that needs no style sheet, a PDF and, with the
//! feature `png`, a PNG.

use std::collections::HashSet;

use cryptbench_answer::Report;
use cryptbench_answer::surroundings::{is_emulated, labelled};

use crate::drawing::{Drawing, Ink, pdf, svg};
use crate::html;

/// The name of the chart that shows a whole run or study.
const OVERVIEW: &str = "overview";

/// One chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// A file name without extension, such as `speed-kept-sequential-read-1-mib-qd1`.
    pub name: String,
    /// The content.
    pub drawing: Drawing,
    /// The run that it shows.
    pub run: String,
}

impl Chart {
    /// The chart as a separate SVG document, in light colours, with its title and its legend.
    pub fn svg(&self) -> String {
        svg(&self.drawing, Ink::File(&self.run)).into_string()
    }

    /// A single-page PDF file, in light colours, with the chart's title and legend.
    pub fn pdf(&self) -> Vec<u8> {
        pdf(&self.drawing, &self.run)
    }

    /// A PNG file with three pixels per CSS pixel.
    #[cfg(feature = "png")]
    pub fn png(&self) -> Result<Vec<u8>, png::EncodingError> {
        crate::drawing::png(&self.drawing)
    }
}

/// The charts of a record, in the order of the page. They include those that the page of a large record omits.
pub fn charts(report: &Report<'_>) -> Vec<Chart> {
    let mut names = HashSet::new();
    let has_overview = html::has_overview(report);
    html::drawings(report)
        .into_iter()
        .enumerate()
        .map(|(i, mut drawing)| {
            // The overview's title is a sentence, so it is not used as a name.
            let title = if i == 0 && has_overview { OVERVIEW } else { &drawing.title };
            let name = unused(&slug(title), &mut names);
            drawing.title = labelled(report.record, &drawing.title);
            Chart { name, drawing, run: report.record.run_id.clone() }
        })
        .collect()
}

/// The overview of several runs, such as those of a study; `None` if no system is ranked.
pub fn overview(reports: &[Report<'_>]) -> Option<Chart> {
    let mut drawing = html::of_runs(reports)?;
    if let Some(report) = reports.iter().find(|report| is_emulated(report.record)) {
        drawing.title = labelled(report.record, &drawing.title);
    }
    let runs: Vec<&str> = reports.iter().map(|report| report.record.run_id.as_str()).collect();
    Some(Chart { name: OVERVIEW.to_owned(), drawing, run: runs.join(", ") })
}

/// The title in lower case, with a hyphen for every character that is neither a letter nor a digit.
fn slug(title: &str) -> String {
    /// Maximum number of characters of a title in a file name. Longer names, with an extension or in encrypted
    /// form, could exceed the limits of file systems.
    const LONGEST: usize = 100;
    let mut out = String::new();
    for c in title.chars().take(LONGEST) {
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            _ if out.is_empty() || out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    match out.trim_end_matches('-') {
        "" => "chart".to_owned(),
        name => name.to_owned(),
    }
}

fn unused(name: &str, used: &mut HashSet<String>) -> String {
    let mut found = name.to_owned();
    let mut n = 1;
    while !used.insert(found.clone()) {
        n += 1;
        found = format!("{name}-{n}");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_charts_show_and_differ() {
        assert_eq!(slug("Speed kept, seq. read 1 MiB QD1"), "speed-kept-seq-read-1-mib-qd1");
        assert_eq!(slug("../µ/"), "chart");
        let mut used = HashSet::new();
        assert_eq!(["a", "a", "a-2"].map(|n| unused(n, &mut used)), ["a", "a-2", "a-2-2"]);
    }
}
