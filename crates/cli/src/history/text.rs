//! The history as text for a terminal.

use cryptbench_answer::quantity::count;
use cryptbench_history::Entry;
use cryptbench_history::check::{Change, Check, Judged, Measure, NEEDED};
use cryptbench_view::columns::{grid, paragraph};

pub fn list(entries: &[Entry], width: usize) -> String {
    if entries.is_empty() {
        return "no records".to_owned();
    }
    let titled = entries.iter().any(|e| !e.title.is_empty());
    let rows = entries.iter().map(|e| {
        let partial = if e.partial { " (partial)" } else { "" };
        let mut row = vec![
            e.id.to_string(),
            e.started.clone(),
            format!("{}{partial}", e.profile),
            e.target.clone(),
            e.machine.clone(),
            e.cells.to_string(),
        ];
        if titled {
            row.insert(1, e.title.clone());
        }
        row
    });
    let mut headings = vec!["no.", "measured", "profile", "target", "machine", "cells"];
    if titled {
        headings.insert(1, "title");
    }
    grid(&headings, rows.collect(), 0, width)
}

/// One record with all its cells.
pub fn check(check: &Check, width: usize) -> String {
    let mut blocks = vec![paragraph(&title(check), width, 0)];
    if !check.cells.is_empty() {
        blocks.push(table(&check.cells.iter().collect::<Vec<_>>(), check.measure, width));
        blocks.push(paragraph(LEGEND, width, 0));
    }
    blocks.extend(sentences(check).iter().map(|s| paragraph(s, width, 0)));
    blocks.join("\n\n")
}

/// Only the regression of one record.
pub fn regression(check: &Check, width: usize) -> String {
    let first = sentences(check).into_iter().next().unwrap_or_default();
    [title(check), first].map(|text| paragraph(&text, width, 0)).join("\n")
}

/// The findings for many records.
pub fn regressions(checks: &[Check], width: usize) -> String {
    let mut blocks = Vec::new();
    for check in checks.iter().filter(|c| c.count(Change::Regression) > 0) {
        let cells: Vec<&Judged> =
            check.cells.iter().filter(|c| c.change == Change::Regression).collect();
        blocks.push(paragraph(&title(check), width, 0));
        blocks.push(table(&cells, check.measure, width));
    }
    let judged = checks.iter().filter(|c| !c.cells.is_empty()).count();
    let found = blocks.len() / 2;
    if found > 0 {
        blocks.push(paragraph(LEGEND, width, 0));
    }
    blocks.push(paragraph(
        &format!(
            "{judged} of {} records could be judged; the others have fewer than {NEEDED} earlier records of the same \
             machine, target, choice and workload. Records with a regression: {}.",
            checks.len(),
            if found == 0 { "none".to_owned() } else { found.to_string() }
        ),
        width,
        0,
    ));
    blocks.join("\n\n")
}

const LEGEND: &str = "now: % of the mean of the earlier runs [95 % prediction interval for one more run]; spread: \
standard deviation of the earlier runs; detectable: the loss that counts as a regression whatever the other cells \
show; ▼ regression, ▲ \
improvement, ~ noise";

fn title(check: &Check) -> String {
    let what = match check.measure {
        Measure::Speed => "speed",
        Measure::Kept => "% of plain speed",
    };
    format!("{}, measured {}: {what}", check.run_id, check.started)
}

fn cells(n: usize) -> String {
    count(n, "cell", "cells")
}

fn table(cells: &[&Judged], measure: Measure, width: usize) -> String {
    let percent = |v: f64| {
        let v = v * 100.0;
        if v < 9.95 { format!("{v:.1}") } else { format!("{v:.0}") }
    };
    let rows = cells.iter().map(|c| {
        let mark = match c.change {
            Change::Regression => '▼',
            Change::Improvement => '▲',
            Change::Noise => '~',
        };
        let before = match measure {
            Measure::Speed if c.before >= 1000.0 => format!("{:.1}k/s", c.before / 1000.0),
            Measure::Speed => format!("{:.3}/s", c.before),
            Measure::Kept => format!("{} %", percent(c.before)),
        };
        vec![
            c.workload.clone(),
            c.arm.clone(),
            c.earlier.to_string(),
            before,
            format!("{} [{}, {}] {mark}", percent(c.ratio), percent(c.low), percent(c.high)),
            format!("{} %", percent(c.spread)),
            format!("{} %", percent(c.detectable)),
        ]
    });
    let headings = ["workload", "choice", "runs", "before", "now", "spread", "detectable"];
    grid(&headings, rows.collect(), 2, width)
}

fn sentences(check: &Check) -> Vec<String> {
    let mut found = Vec::new();
    let (down, up) = (check.count(Change::Regression), check.count(Change::Improvement));
    if let Some(worst) = check
        .cells
        .iter()
        .filter(|c| c.change == Change::Regression)
        .min_by(|x, y| x.ratio.total_cmp(&y.ratio))
    {
        found.push(format!(
            "Regression: {} of {} lost more than run-to-run variation explains (significance level {:.1} % over \
             all cells). The worst is {} on {}: {:.0} % of the earlier speed; prediction interval [{:.0}, {:.0}].",
            down,
            cells(check.cells.len()),
            check.level * 100.0,
            worst.workload,
            worst.arm,
            worst.ratio * 100.0,
            worst.low * 100.0,
            worst.high * 100.0,
        ));
    } else if !check.cells.is_empty() {
        let least = check.cells.iter().map(|c| c.detectable).fold(1.0, f64::min);
        let most = check.cells.iter().map(|c| c.detectable).fold(0.0, f64::max);
        found.push(format!(
            "No regression in {}. With this number and spread of runs, a loss below {:.0} % to {:.0} %, \
             depending on the cell, would not be detected.",
            cells(check.cells.len()),
            least * 100.0,
            most * 100.0,
        ));
    }
    if up > 0 {
        found.push(format!("Faster than run-to-run variation explains: {}.", cells(up)));
    }
    if !check.untold.is_empty() {
        let few = check.untold.iter().map(|u| u.earlier).min().unwrap_or(0);
        let many = check.untold.iter().map(|u| u.earlier).max().unwrap_or(0);
        let have = if few == many { format!("{few}") } else { format!("{few} to {many}") };
        found.push(format!(
            "{} cannot be judged yet. Earlier runs of the same machine, target, choice and workload: {have}; \
             estimating run-to-run variation requires {NEEDED}.",
            cells(check.untold.len()),
        ));
    }
    if !check.other_sets.is_empty() {
        let name = |set: &String| match set.as_str() {
            "" => "explicitly chosen systems".to_owned(),
            set => format!("the set {set}"),
        };
        let others = check.other_sets.iter().map(|(set, runs)| format!("{} ({runs})", name(set)));
        found.push(format!(
            "This run measured {}. Earlier runs of other sets of choices ({}) are not used, because choices measured \
             in the same run affect each other.",
            name(&check.arm_set),
            others.collect::<Vec<_>>().join(", "),
        ));
    }
    if check.cached > 0 {
        found.push(format!("{} cells were served from a cache and are not judged.", check.cached));
    }
    if check.cells.is_empty() && check.untold.is_empty() {
        found.push("Nothing to judge: no cell has this measure.".to_owned());
    }
    found
}
