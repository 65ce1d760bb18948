//! The ranking of the encrypted arms.

use cryptbench_answer::quantity::{NONE, count, fraction, percent_digits};
use cryptbench_answer::wording::list;
use cryptbench_estimate::ranking::{Ranked, Ranking};

use super::layout::{add, clean, empty, fitted};
use super::wrap;

/// Maximum number of omitted arms that are listed individually.
const MOST_NAMED: usize = 8;

pub(super) fn table(ranking: &Ranking<'_>, confidence: f64, width: usize) -> String {
    let title = format!(
        "Ranked by % of plain speed, geometric mean over {} [{} interval]:",
        count(ranking.over.len(), "workload", "workloads"),
        fraction(confidence),
    );
    let mut table = empty(["", "all", "reads", "writes"].map(str::to_owned).into());
    for row in &ranking.rows {
        let share = |share: Option<f64>| {
            share.map_or_else(|| NONE.to_owned(), |share| percent_digits(share * 100.0))
        };
        let name = format!("{:>2}  {}", row.place, clean(&row.arm.label));
        add(&mut table, vec![name, mean(row), share(row.reads), share(row.writes)]);
    }
    let mut parts = vec![wrap(&title, "", "  ", width), fitted(table, width)];
    parts.extend(remarks(ranking).iter().map(|line| wrap(line, "", "  ", width)));
    parts.join("\n")
}

fn mean(row: &Ranked<'_>) -> String {
    let [ratio, low, high] =
        [row.all.ratio, row.all.low, row.all.high].map(|r| percent_digits(r * 100.0));
    format!("{ratio} [{low}, {high}]")
}

fn remarks(ranking: &Ranking<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if ranking.rows.iter().enumerate().any(|(i, row)| row.place != i + 1) {
        lines.push(
            "Same rank: no difference from the first of that rank was found, compared repeat by repeat; the first of \
             each rank differs from the first of the rank above."
                .to_owned(),
        );
    }
    if !ranking.left_out.is_empty() {
        let names: Vec<&str> = ranking.left_out.iter().map(|arm| arm.label.as_str()).collect();
        lines.push(format!(
            "Not ranked, because too few workloads are decided: {}.",
            list(&names, MOST_NAMED)
        ));
    }
    if !ranking.cached.is_empty() {
        let names: Vec<&str> = ranking.cached.iter().map(|arm| arm.label.as_str()).collect();
        lines.push(format!(
            "Not ranked, because they were served from a cache: {}.",
            list(&names, MOST_NAMED)
        ));
    }
    if !ranking.failed.is_empty() {
        let names: Vec<&str> = ranking.failed.iter().map(|arm| arm.label.as_str()).collect();
        lines.push(format!(
            "Not ranked, because a check of the stored data failed: {}.",
            list(&names, MOST_NAMED)
        ));
    }
    lines
}
