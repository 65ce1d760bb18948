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

use cryptbench_record::{Arm, Record, Results, Workload};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::surroundings::{occasion, surroundings};
use crate::lookup::Lookup;
use crate::presentation::MOST_LISTED;
use crate::quantity::unbroken;

const STYLE: &str = include_str!("page.css");

/// The whole page. It needs no network and no script, and follows the reader's colour scheme.
pub fn page(record: &Record, results: &Results) -> String {
    let view = View { record, results, lookup: Lookup::new(record, results) };
    let title = title(record);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "cryptbench " (record.program_version) };
                title { (title) " – cryptbench" }
                style { (PreEscaped(palette::rules())) (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.eyebrow { "cryptbench " (record.program_version) " · " (occasion(record)) }
                    h1 { (title) }
                    (verdict(results))
                    (facts(record))
                }
                main {
                    (advice(results))
                    (picture::section(&view))
                    (ranking::section(&view))
                    @match view.workloads().len() > MOST_LISTED {
                        true => (condensed::section(&view)),
                        false => (glance::section(&view)),
                    }
                    (explanation::sections(&view))
                    (figures::sections(&view))
                    (evidence::section(record))
                    (numbers::section(&view))
                    (method::section(&view))
                    (trials::section(&view))
                }
                footer {
                    p { "Run " code { (record.run_id) } ". All figures follow from the raw trials above." }
                }
            }
        }
    };
    markup.into_string()
}

/// What every section reads.
struct View<'a> {
    record: &'a Record,
    results: &'a Results,
    lookup: Lookup<'a>,
}

impl<'a> View<'a> {
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

fn title(record: &Record) -> String {
    let device = record.target.device.as_ref();
    let disk = device.and_then(|d| d.model.as_deref().or(Some(&d.name))).unwrap_or("this storage");
    format!("What encryption costs on {}", disk.trim())
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
