//! The times of key derivation as one self-contained HTML page: meaning, charts, tables, assumptions.

use maud::{Markup, html};

use super::html_page::{Frame, pairs};

/// Style of this page alone; the hue is one of Okabe and Ito (2008), shifted for contrast, as in reports.
const MORE_STYLE: &str = "
:root { --bar: #0068ad; }
@media screen and (prefers-color-scheme: dark) { :root { --bar: #5ba9e6; } }
.bars { max-width: 760px; margin: 12px 0 0; padding: 0; list-style: none; font-size: 14px; }
.bars li { display: flex; flex-wrap: wrap; justify-content: space-between; margin-top: 10px; }
.bars div { flex: none; height: 12px; margin-right: 100%; background: var(--bar); print-color-adjust: exact; }
.rests { max-width: 74ch; padding-left: 20px; color: var(--muted); font-size: 15px; }
.rests li { margin-top: 6px; }
";

/// Everything that the page shows.
#[derive(Clone, Debug)]
pub struct KdfPage {
    /// Version of the program that measured.
    pub program_version: String,
    /// How it was measured, in a sentence.
    pub method: String,
    /// Names and words about the machine.
    pub facts: Vec<(String, String)>,
    /// The meaning of the figures, in sentences; the first stands at the top.
    pub meaning: Vec<String>,
    /// Bars.
    pub charts: Vec<KdfChart>,
    /// The figures.
    pub tables: Vec<KdfTable>,
    /// What the figures are based on, in sentences.
    pub assumptions: Vec<String>,
}

/// A chart of bars.
#[derive(Clone, Debug)]
pub struct KdfChart {
    /// Heading, such as `Time of one iteration`.
    pub title: String,
    /// From top to bottom.
    pub bars: Vec<KdfBar>,
}

/// A function and its bar.
#[derive(Clone, Debug)]
pub struct KdfBar {
    /// Name of the function.
    pub label: String,
    /// Length, in the chart's unit.
    pub value: f64,
    /// The same in words, such as `352 ms`.
    pub words: String,
}

/// A table: names in the first column, figures in the others.
#[derive(Clone, Debug)]
pub struct KdfTable {
    /// Heading.
    pub title: String,
    /// What it is about; may be empty.
    pub about: String,
    /// Names of the columns.
    pub heading: Vec<String>,
    /// Rows, each as long as the heading.
    pub rows: Vec<Vec<String>>,
}

/// The whole page. It needs no network and no script, and follows the reader's colour scheme.
pub fn kdf_page(page: &KdfPage) -> String {
    Frame {
        version: &page.program_version,
        title: "Time of key derivation",
        heading: "Time of key derivation",
        style: MORE_STYLE,
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
    let values = chart.bars.iter().map(|bar| bar.value).filter(|value| value.is_finite());
    let longest = values.fold(0.0, f64::max);
    let width = |value: f64| match longest > 0.0 && value.is_finite() {
        true => format!("width: {:.1}%", value / longest * 100.0),
        false => "width: 0".to_owned(),
    };
    let id = format!("bars-{index}");
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (chart.title) }
            ul.bars {
                @for bar in &chart.bars {
                    li {
                        span { (bar.label) } span { (bar.words) }
                        div style=(width(bar.value)) {}
                    }
                }
            }
        }
    }
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
        assert!(text.contains("width: 100.0%") && text.contains("width: 25.0%"), "{text}");
        assert_eq!(text.matches("SHA-512").count(), 6);
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
