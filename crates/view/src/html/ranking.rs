//! The ranking of the encrypted arms.

use cryptbench_answer::quantity::{NONE, count, fraction, percent, percent_digits};
use cryptbench_answer::wording::list;
use cryptbench_estimate::ranking::{Ranked, Ranking, ranking};
use maud::html;

use super::picture::numbers;
use super::{Section, View, scrolling};

/// Maximum number of omitted arms that are listed individually.
const MOST_NAMED: usize = 12;

pub(super) fn section(view: &View<'_>) -> Option<Section> {
    let ranking = ranking(view.lookup).filter(Ranking::is_telling)?;
    let headings =
        ["System", "Place", "% of plain", "Interval", "Reads", "Writes"].map(str::to_owned);
    let rows: Vec<_> =
        ranking.rows.iter().map(|row| (row.arm.label.clone(), fields(row))).collect();
    let left_out: Vec<&str> = ranking.left_out.iter().map(|arm| arm.label.as_str()).collect();
    let cached: Vec<&str> = ranking.cached.iter().map(|arm| arm.label.as_str()).collect();
    let failed: Vec<&str> = ranking.failed.iter().map(|arm| arm.label.as_str()).collect();
    let content = html! {
            p.about {
                "Percent of plain speed: geometric mean over "
                (count(ranking.over.len(), "workload", "workloads")) " in which all of these could be compared, with its "
                (fraction(view.record.plan.confidence))
                " interval. Same rank: no difference from the first of that rank was found, compared repeat by repeat."
            }
            (scrolling("Ranking of the choices", &numbers(&headings, &rows)))
            @if !left_out.is_empty() {
                p.about {
                    "Not ranked, because too few workloads are decided: "
                    (list(&left_out, MOST_NAMED)) "."
                }
            }
            @if !cached.is_empty() {
                p.about {
                    "Not ranked, because they were served from a cache: " (list(&cached, MOST_NAMED)) "."
                }
            }
            @if !failed.is_empty() {
                p.about {
                    "Not ranked, because a check of the stored data failed: " (list(&failed, MOST_NAMED)) "."
                }
            }
    };
    let finding = format!("{}, fastest first", count(ranking.rows.len(), "choice", "choices"));
    Some(Section::text("ranking", "Ranking", finding, content))
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
