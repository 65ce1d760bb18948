//! A fleet's report in a terminal: on one screen, or in full.

use std::path::Path;

use cryptbench_answer::quantity::{share_words, thousands};
use cryptbench_fleet::{Group, Kind, Outlier, Report, Row, Share};
use cryptbench_text::shown;
use cryptbench_view::columns::{grid, hang, paragraph};

/// Maximum number of table rows on one screen.
const ROWS: usize = 6;
/// Maximum number of kinds of machine described on one screen.
const KINDS: usize = 3;
/// Widths of the columns for choice and workload in an 80-column terminal; the two columns share any additional
/// width equally.
const NAMES: [usize; 2] = [16, 24];
/// Maximum number of outliers listed on one screen, with two lines each.
const UNLIKE: usize = 2;

/// Renders the report in at most 24 lines. `directory` is the fleet's directory as the user specified it.
pub fn screen(report: &Report, directory: &str, width: usize) -> String {
    let mut lines = vec![cut(&title(report), width)];
    let kinds = kinds(report);
    let pooled: Vec<(&Group, &Row, Share)> = pooled(report).collect();
    // All rows or, if there are too many rows, only the row with the largest loss in each group.
    let mut shown = pooled.clone();
    if shown.len() > ROWS {
        shown.sort_by(|a, b| a.2.next_low_ratio.total_cmp(&b.2.next_low_ratio));
        let mut seen: Vec<&Kind> = Vec::new();
        shown.retain(|(group, ..)| {
            let is_new = !seen.contains(&&group.kind);
            seen.push(&group.kind);
            is_new
        });
        shown.sort_by_key(|(group, ..)| (std::cmp::Reverse(group.machines), letter(&kinds, group)));
    }
    shown.truncate(ROWS);
    if !shown.is_empty() {
        let [choice, work] = NAMES.map(|columns| columns + width.saturating_sub(80) / 2);
        let words = |kind: &Kind, row: &Row| [cut(&short(kind), choice), cut(&row.label, work)];
        lines.push(table(&kinds, &shown, words, width));
    }
    let more = pooled.len() - shown.len();
    if more > 0 {
        lines.push(format!(
            "These rows have the largest losses; --full prints all {}.",
            pooled.len()
        ));
    }
    let mentioned = |k: &&(char, Machine<'_>)| shown.iter().any(|(g, ..)| machine(&g.kind) == k.1);
    let described: Vec<_> = kinds.iter().filter(mentioned).collect();
    lines.extend(
        described.iter().take(KINDS).map(|(c, m)| cut(&format!("{c}  {}", m.words()), width)),
    );
    let hidden = kinds.len() - described.len().min(KINDS);
    if hidden > 0 {
        let kinds = if hidden == 1 { "kind" } else { "kinds" };
        lines.push(format!("{hidden} more {kinds} of machine: --full"));
    }
    for outlier in report.outliers.iter().take(UNLIKE) {
        let text = hang("! ", &unlike(outlier), width);
        let two: Vec<&str> = text.lines().take(2).collect();
        let is_cut = text.lines().count() > 2;
        lines.push(if is_cut { cut(&format!("{} …", two.join("\n")), 2 * width) } else { text });
    }
    if report.outliers.len() > UNLIKE {
        let more = report.outliers.len() - UNLIKE;
        lines.push(format!("! To list the other outliers ({}), use --full", machines(more)));
    }
    lines.extend(state(report).iter().map(|line| cut(line, width)));
    if pooled.is_empty() {
        let hint = format!("cryptbench fleet report {directory} --full lists each machine");
        lines.push(cut(&hint, width));
    }
    lines.join("\n")
}

/// Renders the whole report.
pub fn full(report: &Report, width: usize) -> String {
    let mut blocks = vec![paragraph(&title(report), width, 0)];
    let kinds = kinds(report);
    let pooled: Vec<_> = pooled(report).collect();
    if !pooled.is_empty() {
        let words = |kind: &Kind, row: &Row| [choice(kind), row.label.clone()];
        blocks.push(table(&kinds, &pooled, words, width));
        blocks.push(paragraph(LEGEND, width, 0));
    }
    let described: Vec<String> =
        kinds.iter().map(|(c, m)| hang(&format!("{c}  "), &m.words(), width)).collect();
    blocks.push(described.join("\n"));
    let few: Vec<Vec<String>> = report
        .small()
        .flat_map(|group| group.rows.iter().map(move |row| (group, row)))
        .flat_map(|(group, row)| row.members.iter().map(move |member| (group, row, member)))
        .map(|(group, row, member)| {
            let error = 2.0 * member.standard_error;
            let share = share_words(
                member.ratio,
                member.ratio * (-error).exp(),
                member.ratio * error.exp(),
            );
            vec![
                letter(&kinds, group),
                member.node.clone(),
                choice(&group.kind),
                row.label.clone(),
                share,
            ]
        })
        .collect();
    if !few.is_empty() {
        let words =
            "Kinds with fewer than five machines are not pooled; ± is twice the standard error:";
        blocks.push(paragraph(words, width, 0));
        blocks.push(grid(&["", "machine", "choice", "work", "% of plain"], few, 4, width));
    }
    let unlike: Vec<String> =
        report.outliers.iter().map(|o| hang("! ", &unlike(o), width)).collect();
    if !unlike.is_empty() {
        blocks.push(unlike.join("\n"));
    }
    let mut last: Vec<String> =
        state(report).iter().map(|line| paragraph(line, width, 0)).collect();
    last.extend(report.failed.iter().map(|f| hang("  ", &format!("{}: {}", f.node, f.why), width)));
    last.extend(
        report.damaged.iter().map(|d| hang("  ", &format!("{}: {}", shown(&d.path), d.why), width)),
    );
    blocks.push(last.join("\n"));
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n\n")
}

pub(super) const LEGEND: &str = "next machine: 95 % prediction interval of the % of plain speed for one more machine \
of the kind; mean: over all such machines, ± its 95 % interval. Restricted maximum likelihood, modified Hartung–Knapp \
intervals.";

fn title(report: &Report) -> String {
    let of = [machines(report.machines), records(report.records)].join(", ");
    format!("{of}. Prediction for the next machine, % of plain:")
}

/// What distinguishes kinds of machine: CPU, disk and kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Machine<'a> {
    cpu: &'a str,
    disk: &'a str,
    kernel: &'a str,
}

impl Machine<'_> {
    pub(super) fn words(&self) -> String {
        format!("{}; {}; {}", self.cpu, self.disk, self.kernel)
    }
}

fn machine(kind: &Kind) -> Machine<'_> {
    Machine { cpu: &kind.cpu_model, disk: &kind.disk_model, kernel: &kind.kernel }
}

/// A letter for each kind of machine, in the order of the groups; all kinds after Z share one letter.
pub(super) fn kinds(report: &Report) -> Vec<(char, Machine<'_>)> {
    let mut found: Vec<(char, Machine<'_>)> = Vec::new();
    for group in &report.groups {
        let machine = machine(&group.kind);
        if !found.iter().any(|(_, known)| *known == machine) {
            let letter = ('A'..='Z').nth(found.len()).unwrap_or('*');
            found.push((letter, machine));
        }
    }
    found
}

pub(super) fn letter(kinds: &[(char, Machine<'_>)], group: &Group) -> String {
    let found = kinds.iter().find(|(_, known)| *known == machine(&group.kind));
    found.map_or(String::new(), |(letter, _)| letter.to_string())
}

fn pooled(report: &Report) -> impl Iterator<Item = (&Group, &Row, Share)> {
    let rows =
        report.groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, row)));
    rows.filter_map(|(group, row)| Some((group, row, row.pooled?)))
}

pub(super) fn choice(kind: &Kind) -> String {
    match kind.driver.is_empty() {
        true => short(kind),
        false => format!("{} ({})", short(kind), kind.driver),
    }
}

/// The name of the choice, without the driver in use.
pub(super) fn short(kind: &Kind) -> String {
    let at_once = kind.at_once.map_or(String::new(), |n| format!("{n} at once: "));
    at_once + &kind.arm_label
}

fn table(
    kinds: &[(char, Machine<'_>)],
    rows: &[(&Group, &Row, Share)],
    words: impl Fn(&Kind, &Row) -> [String; 2],
    width: usize,
) -> String {
    let row = |(group, row, share): &(&Group, &Row, Share)| {
        let [choice, work] = words(&group.kind, row);
        vec![
            letter(kinds, group),
            choice,
            work,
            thousands(row.machines),
            next(share),
            share_words(share.mean_ratio, share.low_ratio, share.high_ratio),
        ]
    };
    let headings = ["", "choice", "work", "machines", "next machine", "mean"];
    grid(&headings, rows.iter().map(row).collect(), 3, width)
}

/// `71 to 84`, with a decimal if the ends are close together.
pub(super) fn next(share: &Share) -> String {
    let [low, high] = [share.next_low_ratio, share.next_high_ratio].map(|r| 100.0 * r);
    let decimals = usize::from(high - low < 2.0);
    format!("{low:.decimals$} to {high:.decimals$}")
}

pub(super) fn unlike(o: &Outlier) -> String {
    let why = match o.reasons.as_slice() {
        [] => "none found in its record".to_owned(),
        reasons => reasons.join("; "),
    };
    let more = match o.cells {
        1 => String::new(),
        n => format!(" (and {} more cells)", n - 1),
    };
    format!(
        "{} reaches {:.0} % of plain speed in {}, {}{more}; machines of its kind reach {:.0} %. Reason: {why}",
        o.node,
        100.0 * o.ratio,
        o.arm_label,
        o.label,
        100.0 * o.usual_ratio,
    )
}

/// The machines that are not in the table, with the reasons.
pub(super) fn state(report: &Report) -> Vec<String> {
    let mut found = Vec::new();
    let names = |names: Vec<&str>| names.join(", ");
    if !report.rate_limited.is_empty() {
        let limited = report.rate_limited.iter().map(String::as_str).collect();
        let of = machines(report.rate_limited.len());
        found.push(format!("A rate limit hides the cost on {of}: {}", names(limited)));
    }
    if !report.missing.is_empty() {
        let missing = report.missing.iter().map(String::as_str).collect();
        found.push(format!("{} missing: {}", machines(report.missing.len()), names(missing)));
    }
    if !report.failed.is_empty() {
        let failed = report.failed.iter().map(|f| f.node.as_str()).collect();
        found.push(format!(
            "{} could not measure: {}",
            machines(report.failed.len()),
            names(failed)
        ));
    }
    if !report.damaged.is_empty() {
        let file = |d: &cryptbench_fleet::Damaged| {
            shown(Path::new(d.path.file_name().unwrap_or(d.path.as_os_str())))
        };
        let files: Vec<String> = report.damaged.iter().map(file).collect();
        found.push(format!("Damaged and left out: {}", files.join(", ")));
    }
    let mut small: Vec<&str> = report
        .small()
        .flat_map(|g| g.rows.iter().flat_map(|r| r.members.iter().map(|m| m.node.as_str())))
        .collect();
    small.sort_unstable();
    small.dedup();
    let mut rest = Vec::new();
    if !small.is_empty() {
        rest.push(format!("{} not pooled (fewer than five of a kind)", machines(small.len())));
    }
    for (n, what) in [
        (report.partial, "records of interrupted runs"),
        (report.superseded, "older records left out"),
        (report.cached_cells, "cells served from a cache, left out"),
    ] {
        if n > 0 {
            rest.push(format!("{} {what}", thousands(n)));
        }
    }
    if !rest.is_empty() {
        found.push(rest.join("; "));
    }
    found
}

pub(super) fn records(n: usize) -> String {
    format!("{} {}", thousands(n), if n == 1 { "record" } else { "records" })
}

pub(super) fn machines(n: usize) -> String {
    format!("{} {}", thousands(n), if n == 1 { "machine" } else { "machines" })
}

/// Shortens a text to `most` characters, the last of which is then an ellipsis.
fn cut(text: &str, most: usize) -> String {
    match text.chars().count() <= most {
        true => text.to_owned(),
        false => text.chars().take(most - 1).chain(['…']).collect(),
    }
}
