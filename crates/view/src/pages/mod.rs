//! The parts that the self-contained pages other than the report have in common: head, style, heading and
//! facts.

pub mod forest;
pub mod kdf;
pub mod speed;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::drawing::{Drawing, Ink, rules, svg};
use crate::html::legend;

/// The look of every page.
const STYLE: &str = include_str!("../html/page.css");

/// The parts of a page.
pub(super) struct Frame<'a> {
    /// Version of the program.
    pub(super) version: &'a str,
    /// The page title that the browser shows.
    pub(super) title: &'a str,
    pub(super) heading: &'a str,
    /// Style rules that only this page uses.
    pub(super) style: PreEscaped<&'static str>,
    /// The content after the heading.
    pub(super) opening: Markup,
    /// Names and words.
    pub(super) facts: Vec<(&'a str, &'a str)>,
    pub(super) main: Markup,
}

impl Frame<'_> {
    /// The whole page. It needs neither a network nor a script, and uses the reader's colour scheme.
    pub(super) fn page(&self) -> String {
        let markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="generator" content={ "cryptbench " (self.version) };
                    title { (self.title) " – cryptbench" }
                    style { (rules()) (PreEscaped(STYLE)) (self.style) }
                }
                body {
                    header {
                        p.eyebrow { "cryptbench " (self.version) }
                        h1 { (self.heading) }
                        (self.opening)
                        dl.facts {
                            @for (name, words) in &self.facts { div { dt { (name) } dd { (words) } } }
                        }
                    }
                    main { (self.main) }
                }
            }
        };
        markup.into_string()
    }
}

/// Facts in the form that a frame needs: pairs of name and text.
pub(super) fn pairs(facts: &[(String, String)]) -> Vec<(&str, &str)> {
    facts.iter().map(|(name, words)| (name.as_str(), words.as_str())).collect()
}

/// A section that is a chart.
pub(super) fn of_chart(id: &str, drawing: &Drawing) -> Markup {
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (drawing.title) }
            (legend(&drawing.legend))
            div.multiples.single { figure { (svg(drawing, Ink::Page(id))) } }
        }
    }
}
