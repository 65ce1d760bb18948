//! The times of key derivation as a self-contained HTML page: meaning, charts, tables, assumptions.

use maud::{Markup, PreEscaped, html};

use crate::drawing::{Bar, Bars, Role};
use crate::html::compact;
use crate::pages::{Frame, of_chart, pairs};

/// Style rules that only this page uses.
const MORE_STYLE: &str = "
.rests { max-width: 74ch; padding-left: 20px; color: var(--muted); font-size: 15px; }
.rests li { margin-top: 6px; }
";

/// Everything that the page shows.
#[derive(Clone, Debug)]
pub struct KdfPage {
    /// Version of the program that took the measurements.
    pub program_version: String,
    /// The method of measurement, in a sentence.
    pub method: String,
    /// Facts about the machine, as pairs of name and text.
    pub facts: Vec<(String, String)>,
    /// The meaning of the figures, in sentences; the first sentence is at the top of the page.
    pub meaning: Vec<String>,
    /// Bars.
    pub charts: Vec<KdfChart>,
    /// The figures.
    pub tables: Vec<KdfTable>,
    /// The basis of the figures, in sentences.
    pub assumptions: Vec<String>,
}

/// A chart of bars.
#[derive(Clone, Debug)]
pub struct KdfChart {
    /// Heading, such as `Time of one iteration`.
    pub title: String,
    /// Unit of the lengths.
    pub unit: &'static str,
    /// From top to bottom.
    pub bars: Vec<KdfBar>,
}

/// A function and its bar.
#[derive(Clone, Debug)]
pub struct KdfBar {
    /// Name of the function.
    pub label: String,
    /// Length, in the unit of the chart.
    pub value: f64,
    /// The length in words, such as `352 ms`.
    pub words: String,
}

/// A table: names in the first column, figures in the others.
#[derive(Clone, Debug)]
pub struct KdfTable {
    /// Heading.
    pub title: String,
    /// What the table shows; may be empty.
    pub about: String,
    /// Names of the columns.
    pub heading: Vec<String>,
    /// Rows, each as long as the heading.
    pub rows: Vec<Vec<String>>,
}

/// The whole page. It needs neither a network nor a script, and uses the reader's colour scheme.
pub fn kdf_page(page: &KdfPage) -> String {
    Frame {
        version: &page.program_version,
        title: "Time of key derivation",
        heading: "Time of key derivation",
        style: PreEscaped(MORE_STYLE),
        opening: meaning(&page.meaning),
        facts: pairs(&page.facts),
        main: html! {
            @for (index, chart) in page.charts.iter().enumerate() { (bars(index, chart)) }
            @for table in &page.tables { (numbers(table)) }
            section aria-labelledby="rests" {
                h2 #rests { "What it rests on" }
                ul.rests {
                    li { (page.method) "." }
                    @for sentence in &page.assumptions { li { (sentence) } }
                }
            }
        },
    }
    .page()
}

fn meaning(sentences: &[String]) -> Markup {
    html! {
        @if let Some((first, others)) = sentences.split_first() {
            section.verdict aria-labelledby="meaning" {
                h2 #meaning { "What it means" }
                p.lede { (first) }
                ul { @for sentence in others { li { (sentence) } } }
            }
        }
    }
}

fn bars(index: usize, chart: &KdfChart) -> Markup {
    let bar = |bar: &KdfBar| Bar::new(&bar.label, bar.words.clone(), Role::Encrypted(0), bar.value);
    let rows: Vec<Bar> = chart.bars.iter().map(bar).collect();
    let tick = |v: f64| format!("{} {}", compact(v), chart.unit);
    let (title, end) = (chart.title.clone(), Bars::end_for(&rows, 0.0));
    let drawing = Bars { title, rows, end, reference: None, band: None, tick: &tick }.draw();
    of_chart(&format!("bars-{index}"), &drawing)
}

fn numbers(table: &KdfTable) -> Markup {
    html! {
        section {
            h2 { (table.title) }
            @if !table.about.is_empty() { p.about { (table.about) } }
            div.scroll role="region" tabindex="0" aria-label=(table.title) {
                table {
                    thead { tr {
                        @for (column, name) in table.heading.iter().enumerate() {
                            @if column == 0 { th { (name) } } @else { th.number { (name) } }
                        }
                    } }
                    tbody {
                        @for row in &table.rows { tr {
                            @for (column, cell) in row.iter().enumerate() {
                                @if column == 0 { th scope="row" { (cell) } }
                                @else { td.number { (cell) } }
                            }
                        } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(label: &str, value: f64) -> KdfPage {
        let bar = |value| KdfBar { label: label.to_owned(), value, words: "so long".to_owned() };
        KdfPage {
            program_version: "0".to_owned(),
            method: "made up".to_owned(),
            facts: vec![("CPU".to_owned(), label.to_owned())],
            meaning: vec!["first".to_owned(), label.to_owned()],
            charts: vec![KdfChart {
                title: "chart".to_owned(),
                unit: "s",
                bars: vec![bar(value), bar(value / 4.0)],
            }],
            tables: vec![KdfTable {
                title: "table".to_owned(),
                about: String::new(),
                heading: vec!["function".to_owned(), "time".to_owned()],
                rows: vec![vec![label.to_owned(), "1 s".to_owned()]],
            }],
            assumptions: vec![label.to_owned()],
        }
    }

    #[test]
    fn bars_are_to_scale_and_the_page_loads_nothing() {
        let text = kdf_page(&page("SHA-512", 2.0));
        let widths: Vec<f64> = text
            .split("h-")
            .skip(1)
            .filter_map(|rest| rest.split_once('z')?.0.parse().ok())
            .collect();
        assert!((widths[0] / widths[1] - 4.0).abs() < 0.01, "{widths:?}");
        assert_eq!(text.matches("SHA-512").count(), 10);
        for outside in ["http:", "https:", "<script", "url("] {
            assert!(!text.contains(outside), "{outside}");
        }
    }

    #[test]
    fn foreign_text_and_odd_numbers_do_no_harm() {
        let text = kdf_page(&page("<b>&", f64::NAN));
        assert!(!text.contains("<b>&") && text.contains("&lt;b&gt;&amp;"));
        assert!(!kdf_page(&page("x", 0.0)).contains("NaN"));
    }
}
