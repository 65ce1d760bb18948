//! The ranking of the encrypted arms.

use maud::{Markup, html};

use super::picture::numbers;
use super::{View, scrolling};
use crate::presentation::ranking::{Ranked, ranking};
use crate::quantity::{NONE, count, fraction, percent, percent_digits};
use crate::wording::list;

/// Arms that are left out, named one by one.
const MOST_NAMED: usize = 12;

pub(super) fn section(view: &View<'_>) -> Markup {
    let Some(ranking) = ranking(&view.lookup) else { return html! {} };
    let headings = ["System", "Place", "Kept", "Interval", "Reads", "Writes"].map(str::to_owned);
    let rows: Vec<_> =
        ranking.rows.iter().map(|row| (row.arm.label.clone(), fields(row))).collect();
    let left_out: Vec<&str> = ranking.left_out.iter().map(|arm| arm.label.as_str()).collect();
    let failed: Vec<&str> = ranking.failed.iter().map(|arm| arm.label.as_str()).collect();
    html! {
        section aria-labelledby="ranking" {
            h2 #ranking { "Ranking" }
            p.about {
                "Percent of plain speed kept, the geometric mean over "
                (count(ranking.over.len(), "workload", "workloads")) " in which all of these could be compared, with its "
                (fraction(view.record.plan.confidence))
                " interval. Arms of one place cannot be told from the first of them, compared block by block; the first of each place can be told from the first of the place above."
            }
            (scrolling("Ranking of the encrypted arms", &numbers(&headings, &rows)))
            @if !left_out.is_empty() {
                p.about {
                    "Not ranked, for a cache answered or there are too few pairs in most workloads: "
                    (list(&left_out, MOST_NAMED)) "."
                }
            }
            @if !failed.is_empty() {
                p.about {
                    "Not ranked, for what lies on the disk is not as it must be: " (list(&failed, MOST_NAMED)) "."
                }
            }
        }
    }
}

fn fields(row: &Ranked<'_>) -> Vec<String> {
    let digits = |ratio: f64| percent_digits(ratio * 100.0);
    let share = |share: Option<f64>| share.map_or_else(|| NONE.to_owned(), |s| percent(s * 100.0));
    vec![
        row.place.to_string(),
        percent(row.all.ratio * 100.0),
        format!("{} to {}", digits(row.all.low), digits(row.all.high)),
        share(row.reads),
        share(row.writes),
    ]
}
