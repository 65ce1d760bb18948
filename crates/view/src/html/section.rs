//! A section of the page, with texts and charts under a heading. The page itself, its table of contents and the
//! chart files are derived from sections.

use cryptbench_answer::quantity::unbroken;
use maud::{Markup, Render, html};

use crate::drawing::{Drawing, Entry, Ink, svg};

/// A section whose heading and finding remain visible when it is folded.
pub(super) struct Section {
    /// An identifier that is unique in the page.
    pub(super) id: &'static str,
    pub(super) title: String,
    /// The section's conclusion in a few words; may be empty.
    pub(super) finding: String,
    pub(super) content: Vec<Part>,
}

/// A part of a section.
pub(super) enum Part {
    Text(Markup),
    /// Charts of one kind, side by side if there is space.
    Charts(Vec<Figure>),
}

/// A chart with its caption.
pub(super) struct Figure {
    pub(super) caption: String,
    pub(super) drawing: Drawing,
}

impl Section {
    pub(super) fn new(
        id: &'static str,
        title: impl Into<String>,
        finding: impl Into<String>,
        content: Vec<Part>,
    ) -> Self {
        Self { id, title: title.into(), finding: finding.into(), content }
    }

    /// A section without charts.
    pub(super) fn text(
        id: &'static str,
        title: impl Into<String>,
        finding: impl Into<String>,
        content: Markup,
    ) -> Self {
        Self::new(id, title, finding, vec![Part::Text(content)])
    }

    /// The section's charts, in the order of the page.
    pub(super) fn drawings(self) -> impl Iterator<Item = Drawing> {
        self.content.into_iter().flat_map(|part| match part {
            Part::Text(_) => Vec::new(),
            Part::Charts(figures) => figures.into_iter().map(|figure| figure.drawing).collect(),
        })
    }
}

impl Render for Section {
    fn render(&self) -> Markup {
        let mut charts = 0;
        html! {
            section aria-labelledby=(self.id) {
                details.fold {
                    summary {
                        h2 id=(self.id) { (self.title) }
                        @if !self.finding.is_empty() { " " span.finding { (unbroken(&self.finding)) } }
                    }
                    @for part in &self.content {
                        @match part {
                            Part::Text(text) => (text),
                            Part::Charts(figures) => {
                                (multiples(self.id, charts, figures))
                                @let () = charts += figures.len();
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Charts side by side, with a common legend if all charts have the same legend.
fn multiples(section: &str, before: usize, figures: &[Figure]) -> Markup {
    let shared = figures
        .split_first()
        .filter(|(_, rest)| !rest.is_empty())
        .map(|(first, rest)| (&first.drawing.legend, rest))
        .filter(|(legend, rest)| rest.iter().all(|f| f.drawing.legend == **legend))
        .map(|(legend, _)| legend);
    html! {
        @if let Some(entries) = shared { (legend(entries)) }
        div.multiples.single[figures.len() == 1] {
            @for (i, Figure { caption, drawing }) in figures.iter().enumerate() {
                figure {
                    figcaption { (caption) }
                    (svg(drawing, Ink::Page(&format!("{section}-{}", before + i))))
                    @if shared.is_none() { (legend(&drawing.legend)) }
                }
            }
        }
    }
}

pub(crate) fn legend(entries: &[Entry]) -> Markup {
    html! {
        @if !entries.is_empty() {
            p.legend {
                @for Entry { name, role, mark } in entries {
                    span.nobreak {
                        span.swatch style={ "color:var(--" (role.name()) ")" } aria-hidden="true" { (mark.glyph()) }
                        " " (name)
                    }
                    " "
                }
            }
        }
    }
}
