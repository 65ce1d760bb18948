//! One self-contained HTML page: verdict first, method last, nothing loaded from anywhere.

mod chart;
mod condensed;
mod evidence;
mod explanation;
mod figures;
mod glance;
mod machine;
mod method;
mod numbers;
mod palette;
mod picture;
mod ranking;
mod trials;

pub(super) use palette::light as light_colours;

use base64ct::{Base64, Encoding as _};
use cryptbench_record::{Arm, Record, Results, Workload};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use super::surroundings::{occasion, surroundings, title};
use crate::lookup::Lookup;
use crate::presentation::MOST_LISTED;
use crate::quantity::unbroken;

const STYLE: &str = include_str!("page.css");

/// uPlot's own style (crates/report/vendor/uplot).
const PLOT_STYLE: &str = include_str!("../../../vendor/uplot/uPlot.min.css");

/// uPlot, then what makes the page interactive. All that the page says is there without them.
const SCRIPT: &str =
    concat!(include_str!("../../../vendor/uplot/uPlot.iife.min.js"), "\n", include_str!("page.js"));

/// Bytes that a page has at most: what a mail or a ticket takes, and a telephone opens.
pub const MOST_BYTES: usize = 1_000_000;

/// How much a page shows; each step leaves out more, for records that are too large for the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    /// All.
    Whole,
    /// Of the charts only the picture and what is kept of plain speed.
    FewCharts,
    /// No charts but the picture.
    NoCharts,
    /// Nor the table of all numbers, nor a row for each workload.
    Least,
}

impl Detail {
    const ALL: [Self; 4] = [Self::Whole, Self::FewCharts, Self::NoCharts, Self::Least];

    /// What is left out, to follow "leaves out".
    fn left_out(self) -> Option<&'static str> {
        match self {
            Self::Whole => None,
            Self::FewCharts => Some(
                "the charts of throughput, CPU time, latency, trials over time, sweeps and steps",
            ),
            Self::NoCharts => Some("the charts of its workloads"),
            Self::Least => Some("the charts of its workloads and most numbers"),
        }
    }
}

/// The whole page of at most [`MOST_BYTES`]. It loads nothing, follows the reader's colour scheme, and is complete
/// without its script but for the table of raw trials.
pub fn page(record: &Record, results: &Results) -> String {
    let mut view = View::new(record, results);
    let frame = document(&view, &html! {}).into_string().len();
    for detail in Detail::ALL {
        view.detail = detail;
        let content = content(&view);
        let used = frame + content.0.len() + SECTION_BYTES;
        if used <= MOST_BYTES || detail == Detail::Least {
            let trials = trials::section(&view, MOST_BYTES.saturating_sub(used));
            return document(&view, &html! { (content) (trials) }).into_string();
        }
    }
    unreachable!("the least of a page is always returned")
}

/// Bytes that the section of trials takes besides the record in it.
const SECTION_BYTES: usize = 2_000;

/// The page with every chart, whatever the page itself leaves out.
pub(super) fn drawn(record: &Record, results: &Results) -> String {
    content(&View::new(record, results)).into_string()
}

fn document(view: &View<'_>, main: &Markup) -> Markup {
    let record = view.record;
    let title = title(record);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "cryptbench " (record.program_version) };
                title { (title) " – cryptbench" }
                style { (PreEscaped(palette::rules())) (PreEscaped(PLOT_STYLE)) (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.eyebrow { "cryptbench " (record.program_version) " · " (occasion(record)) }
                    h1 { (title) }
                    (verdict(view.results))
                    (facts(record))
                }
                main { (main) }
                footer {
                    p { "Run " code { (record.run_id) } ". All figures follow from the raw trials above." }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// Nothing is loaded, and no script runs but the page's own, known by its hash.
fn policy() -> String {
    let hash = Base64::encode_string(&Sha256::digest(SCRIPT));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'"
    )
}

/// All but the raw trials.
fn content(view: &View<'_>) -> Markup {
    let condense = view.workloads().len() > MOST_LISTED || view.detail >= Detail::Least;
    html! {
        (advice(view.results))
        @if let Some(what) = view.detail.left_out() {
            p.about {
                "The record is too large for one page, which leaves out " (what) ". "
                code { "cryptbench report RECORD --charts DIR" } " draws every chart, "
                code { "--format csv --table cells" } " has every number."
            }
        }
        (picture::section(view))
        (ranking::section(view))
        @match condense {
            true => (condensed::section(view)),
            false => (glance::section(view)),
        }
        (explanation::sections(view))
        (figures::sections(view))
        (evidence::section(view.record))
        (numbers::section(view))
        (method::section(view))
    }
}

/// What every section reads.
struct View<'a> {
    record: &'a Record,
    results: &'a Results,
    lookup: Lookup<'a>,
    detail: Detail,
}

impl<'a> View<'a> {
    fn new(record: &'a Record, results: &'a Results) -> Self {
        Self { record, results, lookup: Lookup::new(record, results), detail: Detail::Whole }
    }

    /// Whether charts are drawn that show what tables show as well.
    fn draws(&self) -> bool {
        self.detail < Detail::FewCharts
    }

    fn cell(&self, workload: &Workload, arm: &Arm) -> Option<&'a cryptbench_record::Cell> {
        self.lookup.cell(workload, arm)
    }

    fn workloads(&self) -> &'a [Workload] {
        &self.record.plan.workloads
    }

    fn arms(&self) -> &'a [Arm] {
        &self.record.plan.arms
    }
}

fn verdict(results: &Results) -> Markup {
    html! {
        section.verdict aria-labelledby="verdict" {
            h2 #verdict { "Verdict" }
            @match results.sentences.split_first() {
                Some((first, rest)) => {
                    p.lede { (unbroken(first)) }
                    @if !rest.is_empty() {
                        ul { @for sentence in rest { li { (unbroken(sentence)) } } }
                    }
                }
                None => p.lede { "There are no measured pairs, and so no verdict." }
            }
        }
    }
}

fn advice(results: &Results) -> Markup {
    html! {
        @if !results.advice.is_empty() {
            section aria-labelledby="advice" {
                h2 #advice { "Advice" }
                p.about { "From the figures of this run alone; what they do not carry is not said." }
                ul { @for sentence in &results.advice { li { (unbroken(sentence)) } } }
            }
        }
    }
}

fn facts(record: &Record) -> Markup {
    html! {
        dl.facts {
            @for (name, words) in surroundings(record) {
                div { dt { (name) } dd { (words) } }
            }
        }
        @if !record.notes.is_empty() {
            ul.notes aria-label="Notes" { @for note in &record.notes { li { (note) } } }
        }
    }
}

/// A table that scrolls sideways within itself on narrow screens, reachable by keyboard.
fn scrolling(label: &str, table: &Markup) -> Markup {
    html! { div.scroll role="region" tabindex="0" aria-label=(label) { (table) } }
}
