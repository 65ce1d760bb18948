//! A fleet's report as a page: a forest plot for each kind of work, with one row per group.

use cryptbench_answer::quantity::share_words;
use cryptbench_fleet::{Report, Row};
use cryptbench_text::shown;
use cryptbench_view::pages::forest::{ForestPage, ForestPlot, ForestRow, forest_page};

use super::text::{LEGEND, choice, kinds, letter, machines, next, records, state, unlike};

/// The page.
pub fn page(report: &Report) -> String {
    let kinds = kinds(report);
    let mut plots: Vec<(&str, ForestPlot)> = Vec::new();
    for group in &report.groups {
        let label = format!("{} {}", letter(&kinds, group), choice(&group.kind));
        for row in &group.rows {
            let at = plots.iter().position(|(id, _)| *id == row.workload).unwrap_or_else(|| {
                let plot = ForestPlot { title: row.label.clone(), rows: Vec::new() };
                plots.push((&row.workload, plot));
                plots.len() - 1
            });
            plots[at].1.rows.push(forest_row(row, label.clone()));
        }
    }
    let unlike = report.outliers.iter().map(unlike);
    let mut remarks: Vec<String> = unlike.chain(state(report)).collect();
    remarks.extend(report.failed.iter().map(|f| format!("{}: {}", f.node, f.why)));
    remarks.extend(report.damaged.iter().map(|d| format!("{}: {}", shown(&d.path), d.why)));
    forest_page(&ForestPage {
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        about: format!("{}, {}.", machines(report.machines), records(report.records)),
        remarks,
        kinds: kinds.iter().map(|(c, m)| (c.to_string(), m.words())).collect(),
        plots: plots.into_iter().map(|(_, plot)| plot).collect(),
        method: format!(
            "The wide pale bar and the first figure show the prediction for the next machine; the dark bar and the \
             second figure show the mean with its interval. Expand a row to see its machines. {LEGEND}"
        ),
    })
}

fn forest_row(row: &Row, label: String) -> ForestRow {
    let many = machines(row.machines);
    let words = match &row.pooled {
        Some(share) => format!(
            "next {} %, mean {} %, {many}",
            next(share),
            share_words(share.mean_ratio, share.low_ratio, share.high_ratio)
        ),
        None => format!("{many}, not pooled"),
    };
    ForestRow {
        label,
        words,
        next: row.pooled.map(|s| (s.next_low_ratio, s.next_high_ratio)),
        mean: row.pooled.map(|s| (s.mean_ratio, s.low_ratio, s.high_ratio)),
        machines: row.each.iter().map(|m| (m.node.clone(), m.ratio)).collect(),
    }
}
