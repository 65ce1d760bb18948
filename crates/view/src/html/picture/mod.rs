//! The familiar picture for the record's profile, as a section of the page with its table.

mod bars;
mod copies;
mod curve;
mod files;
mod grid;
mod heatmap;
mod peers;
mod unlock;

use cryptbench_answer::picture::left_out_words;
use cryptbench_answer::quantity::percent_digits;
use cryptbench_answer::reading::Reading;
use cryptbench_catalog::Presentation;
use maud::{Markup, html};

use super::{Figure, Part, Section, View, scrolling};

/// The picture, if the record requests one and contains enough data, and the figures of the profile's
/// compatibility estimator.
pub(super) fn sections(view: &View<'_>) -> impl Iterator<Item = Section> {
    let form = view.record.plan.form();
    let picture = match form {
        Presentation::Table | Presentation::Server => None,
        Presentation::Bars => bars::picture(view),
        Presentation::Curve => curve::picture(view),
        Presentation::Grid => grid::picture(view),
        Presentation::Heatmap => heatmap::picture(view),
        Presentation::Copies => copies::picture(view),
        Presentation::Files => files::picture(view),
        Presentation::Unlock => unlock::picture(view),
    };
    let peers = if form == Presentation::Copies { None } else { peers::section(view) };
    picture.map(Picture::section).into_iter().chain(peers)
}

/// The parts of a familiar picture.
struct Picture {
    heading: String,
    about: Markup,
    charts: Vec<Part>,
    table: Markup,
    /// Number of arms that were omitted for lack of space.
    left_out: usize,
}

impl Picture {
    fn section(self) -> Section {
        let about = html! {
            p.about {
                (self.about)
                @if let Some(words) = left_out_words(self.left_out) { " " (words) }
            }
        };
        let mut content = vec![Part::Text(about)];
        content.extend(self.charts);
        content.push(Part::Text(self.table));
        Section::new(
            "picture",
            self.heading,
            "In the form familiar to users of this profile",
            content,
        )
    }
}

/// A folded table, because the charts show the same figures.
pub(super) fn folded(summary: &str, table: &Markup) -> Markup {
    html! { details { summary { (summary) } (scrolling(summary, table)) } }
}

/// A table with names in the first column and numbers in all others.
pub(super) fn numbers(headings: &[String], rows: &[(String, Vec<String>)]) -> Markup {
    html! {
        table.numbers {
            thead {
                tr {
                    @for (i, heading) in headings.iter().enumerate() {
                        th.number[i > 0] scope="col" { (heading) }
                    }
                }
            }
            tbody {
                @for (name, values) in rows {
                    tr { th scope="row" { (name) } @for value in values { td.number { (value) } } }
                }
            }
        }
    }
}

/// The percentage of plain speed with its mark: `86 ▼`; empty for plain itself.
fn kept(reading: Option<&Reading>) -> String {
    let Some(r) = reading else { return String::new() };
    let number = r.ratio.map(|ratio| percent_digits(ratio * 100.0));
    let mark = r.mark.map(|mark| mark.char().to_string());
    number.into_iter().chain(mark).collect::<Vec<_>>().join(" ")
}
