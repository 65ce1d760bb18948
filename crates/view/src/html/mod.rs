//! A self-contained HTML page: the answer is at the start and the method at the end, and nothing is loaded from
//! elsewhere.

mod answer;
mod condensed;
mod evidence;
mod explanation;
mod figures;
mod glance;
mod machine;
mod method;
mod numbers;
mod overview;
mod picture;
mod ranking;
mod section;
mod studies;
mod trials;
mod why;

pub(crate) use figures::compact;
pub(crate) use section::legend;

use base64ct::{Base64, Encoding as _};
use cryptbench_answer::Report;
use cryptbench_answer::advice::observations;
use cryptbench_answer::picture::MOST_LISTED;
use cryptbench_answer::quantity::unbroken;
use cryptbench_answer::surroundings::{meta, occasion, surroundings, title};
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, Record, Workload};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use self::section::{Figure, Part, Section};
use crate::drawing::{Drawing, rules};

const STYLE: &str = include_str!("page.css");

/// The script that makes the page interactive. The page is complete without the script.
const SCRIPT: &str = include_str!("page.js");

/// Maximum size of a page in bytes, which mail and ticket systems accept and phones can open.
pub const MOST_BYTES: usize = 1_000_000;

/// The amount of content on a page. Each level omits more, for records that are too large for the level before
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    /// Everything.
    Whole,
    /// Only the charts of the familiar picture and of the share of plain speed.
    FewCharts,
    /// No charts except those of the familiar picture.
    NoCharts,
    /// Neither the table of all numbers nor one row per workload.
    Least,
}

impl Detail {
    const ALL: [Self; 4] = [Self::Whole, Self::FewCharts, Self::NoCharts, Self::Least];

    /// The omitted parts, as the object of "leaves out".
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

/// How a page names its run, as markup.
pub fn run_named(id: &str) -> String {
    named(id).into_string()
}

fn named(id: &str) -> Markup {
    html! { "run " code { (id) } }
}

/// The whole page, at most [`MOST_BYTES`] long. It does not load anything, uses the reader's colour scheme, and
/// is complete without its script except for the table of raw trials.
pub fn page(report: &Report<'_>) -> String {
    let mut view = View::new(report);
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

/// Size in bytes of the section with the trials, without the embedded record.
const SECTION_BYTES: usize = 2_000;

/// Whether the first of [`drawings`] is the overview.
pub(super) fn has_overview(report: &Report<'_>) -> bool {
    overview::drawing(&View::new(report)).is_some()
}

pub(super) use overview::of_runs;

/// Every chart, even those that the page itself omits; the overview is the first.
pub(super) fn drawings(report: &Report<'_>) -> Vec<Drawing> {
    let view = View::new(report);
    let sections = sections(&view).into_iter().flat_map(Section::drawings);
    overview::drawing(&view).into_iter().chain(sections).collect()
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
                style { (rules()) (PreEscaped(STYLE)) }
            }
            body.report {
                main {
                    p.meta { (answer::whole(&meta(record))) }
                    (main)
                }
                footer {
                    p {
                        "cryptbench " (record.program_version) ", " (occasion(record)) ", "
                        (named(&record.run_id)) ". All figures follow from the raw trials above."
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// The content security policy: nothing is loaded, and only the page's own script runs, which is identified by
/// its hash.
fn policy() -> String {
    let hash = Base64::encode_string(&Sha256::digest(SCRIPT));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'"
    )
}

/// Everything on the page except the raw trials.
fn content(view: &View<'_>) -> Markup {
    let sections = sections(view);
    html! {
        (answer::section(view, &view.report.answer))
        (contents(&sections))
        @if let Some(what) = view.detail.left_out() {
            p.about {
                "The record is too large for one page, which leaves out " (what) ". "
                code { "cryptbench report RECORD --charts DIR" } " draws every chart, "
                code { "--format csv --table cells" } " has every number."
            }
        }
        @for section in &sections { (section) }
    }
}

/// The sections between the answer and the raw trials.
fn sections(view: &View<'_>) -> Vec<Section> {
    let condense = view.workloads().len() > MOST_LISTED || view.detail >= Detail::Least;
    let mut sections: Vec<Section> = picture::sections(view).collect();
    sections.extend(ranking::section(view));
    sections.extend(if condense { condensed::section(view) } else { glance::section(view) });
    sections.extend(why::section(view));
    sections.extend(explanation::sections(view));
    sections.extend(figures::sections(view));
    sections.extend(evidence::section(view.record));
    sections.extend(studies::section(view));
    sections.extend(numbers::section(view));
    sections.extend([verdict(view), surrounding(view.record), method::section(view)]);
    sections
}

/// Links to all sections; the last one is for the raw trials.
fn contents(sections: &[Section]) -> Markup {
    let links = sections.iter().map(|section| (section.id, section.title.as_str()));
    html! {
        nav.contents aria-label="On this page" {
            b { "Details" }
            @for (id, title) in links.chain([("trials", "Raw trials")]) {
                a href={ "#" (id) } { (title) } " "
            }
        }
    }
}

/// The input that all sections share.
struct View<'a> {
    report: &'a Report<'a>,
    record: &'a Record,
    lookup: &'a Lookup<'a>,
    detail: Detail,
}

impl<'a> View<'a> {
    fn new(report: &'a Report<'a>) -> Self {
        Self { report, record: report.record, lookup: &report.lookup, detail: Detail::Whole }
    }

    /// Whether to draw charts that show the same figures as tables.
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

/// The figures in sentences, without the answer.
fn verdict(view: &View<'_>) -> Section {
    let observed = observations(view.lookup);
    let content = html! {
        @match view.report.sentences.is_empty() {
            true => p { "There are no repeats, and so no verdict." },
            false => ul { @for sentence in &view.report.sentences { li { (unbroken(sentence)) } } },
        }
        @if !observed.is_empty() {
            h3 { "Other observations" }
            ul { @for sentence in &observed { li { (unbroken(sentence)) } } }
        }
    };
    let finding = "Each choice, its reliability and its uses";
    Section::text("verdict", "Verdict in sentences", finding, content)
}

/// The machine, the target and the plan.
fn surrounding(record: &Record) -> Section {
    let machine = &record.machine;
    let release = machine.kernel.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let engine = &record.target.engine;
    let io = if engine.direct { "direct I/O" } else { "through the page cache" };
    let finding = format!("{}, {release}, {}, {io}", machine.os, engine.name);
    Section::text("machine", "Machine and disk", finding, facts(record))
}

fn facts(record: &Record) -> Markup {
    html! {
        dl.facts {
            @for (about, words) in surroundings(record) {
                div { dt { (about.as_str()) } dd { (words) } }
            }
        }
        @if !record.notes.is_empty() {
            ul.notes aria-label="Notes" { @for note in &record.notes { li { (note) } } }
        }
    }
}

/// A table that scrolls horizontally within its area on narrow screens and can be reached with the keyboard.
fn scrolling(label: &str, table: &Markup) -> Markup {
    html! { div.scroll role="region" tabindex="0" aria-label=(label) { (table) } }
}
