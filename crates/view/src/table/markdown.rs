//! A report that is short enough for a ticket, in GitHub's Markdown: the answer, one table, and where and how
//! it was measured.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use cryptbench_answer::Report;
use cryptbench_answer::answer::Answer;
use cryptbench_answer::names::Names;
use cryptbench_answer::picture::condensed::condensed;
use cryptbench_answer::quantity::{NONE, count, duration, fraction, headline, kept};
use cryptbench_answer::sentences::basis;
use cryptbench_answer::surroundings::{About, occasion, surroundings, title};
use cryptbench_answer::wording::{LEGEND, stop_words, verdict_mark};
use cryptbench_catalog::Presentation;
use cryptbench_estimate::arms::{compared, drawn};
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, ArmRole, Cell, SHARED, Verdict, Workload};

/// With more arms than this, the arms become the rows.
const MOST_COLUMNS: usize = 5;

/// With more workloads than this, all workloads of a series share a row.
const MOST_ROWS: usize = 24;

/// Facts about machine and target that a ticket needs.
const FACTS: [About; 5] =
    [About::Machine, About::System, About::Disk, About::FileSystem, About::Engine];

/// The whole report, with a newline at the end.
pub fn render(report: &Report<'_>) -> String {
    let Report { record, lookup, answer, .. } = report;
    let mut out = format!("## {}\n\n", escaped(&title(record)));
    match report.sentences.is_empty() {
        true => out.push_str("There are no repeats, and so no verdict.\n"),
        false => out.push_str(&summary(answer)),
    }
    let (rows, about) = table(report);
    if !rows.is_empty() {
        let _ = write!(out, "\n{}\n{about}\n", grid(&rows));
    }
    out.push_str("\n### Where\n\n");
    for (about, words) in surroundings(record).iter().filter(|(about, _)| FACTS.contains(about)) {
        let _ = writeln!(out, "- {}: {}", about.as_str(), escaped(words));
    }
    for note in &record.notes {
        let _ = writeln!(out, "- note: {}", escaped(note));
    }
    let _ = write!(out, "\n### How\n\n{}\n", how(lookup));
    out
}

/// The headline, and what to use, what to avoid, and what is undecided.
fn summary(answer: &Answer<'_>) -> String {
    let mut out = format!("**{}**\n", escaped(&answer.headline.join(" ")));
    let open: Vec<String> = answer.open.iter().map(|open| open.line(None)).collect();
    let mut gap = "\n";
    for (name, lines) in
        [("Use", &answer.take), ("Avoid", &answer.avoid), ("Why", &answer.why), ("Open", &open)]
    {
        for line in lines {
            let _ = writeln!(out, "{gap}- {name}: {}", escaped(line));
            gap = "";
        }
    }
    out
}

/// Heading and rows of the table, and the meaning of its fields.
fn table(report: &Report<'_>) -> (Vec<Vec<String>>, String) {
    let lookup = &report.lookup;
    let workloads: Vec<&Workload> = lookup.workloads().iter().collect();
    let unlock = lookup.record.plan.form() == Presentation::Unlock;
    // The names of unlocked volumes are used unchanged.
    let labels = Names::default();
    let names = if unlock { &labels } else { &report.names };
    let arms = if unlock { drawn(lookup.arms()) } else { compared(lookup.arms()) };
    if workloads.is_empty() || arms.is_empty() {
        return (Vec::new(), String::new());
    }
    if unlock {
        let field = |w: &Workload, a: &Arm| speed(w, lookup.cell(w, a));
        let about = "Median time to open.".to_owned();
        return (crossed(names, &workloads, &arms, &[], field), about);
    }
    if workloads.len() > MOST_ROWS {
        return (by_series(lookup, names, &arms), about(lookup, true));
    }
    let plain = |w: &Workload| speed(w, lookup.plain(w));
    let noise = |w: &Workload| {
        lookup.plain(w).and_then(|c| c.noise_of_mean).map_or_else(|| NONE.to_owned(), fraction)
    };
    let first: [First<'_>; 2] = [("plain", &plain), ("noise", &noise)];
    let field = |w: &Workload, a: &Arm| judged(lookup.cell(w, a));
    (crossed(names, &workloads, &arms, &first, field), about(lookup, false))
}

/// The first column of a table, with workloads: its name, and the function that returns a field.
type First<'f> = (&'f str, &'f dyn Fn(&Workload) -> String);

/// Workloads by arms, or arms by workloads if there are many arms.
fn crossed(
    names: &Names,
    workloads: &[&Workload],
    arms: &[&Arm],
    first: &[First<'_>],
    field: impl Fn(&Workload, &Arm) -> String,
) -> Vec<Vec<String>> {
    let mut columns = vec![vec!["workload".to_owned()]];
    columns[0].extend(workloads.iter().map(|w| names.workload(w).to_owned()));
    for (name, of) in first {
        columns.push(
            [(*name).to_owned()].into_iter().chain(workloads.iter().map(|w| of(w))).collect(),
        );
    }
    for arm in arms {
        let fields = workloads.iter().map(|w| field(w, arm));
        columns.push([names.arm(arm).to_owned()].into_iter().chain(fields).collect());
    }
    if arms.len() > MOST_COLUMNS {
        columns[0][0] = "choice".to_owned();
        return columns;
    }
    (0..=workloads.len())
        .map(|i| columns.iter().map(|column| column[i].clone()).collect())
        .collect()
}

fn by_series(lookup: &Lookup<'_>, names: &Names, arms: &[&Arm]) -> Vec<Vec<String>> {
    let mut rows = vec![vec!["series".to_owned(), "workloads".to_owned()]];
    rows[0].extend(arms.iter().map(|a| names.arm(a).to_owned()));
    for series in condensed(lookup) {
        let mut row = vec![series.name.clone(), series.workloads.len().to_string()];
        row.extend(series.arms.iter().map(|tally| {
            let kept = tally.mean_ratio.map_or_else(|| NONE.to_owned(), fraction);
            format!("{kept} ({})", tally.marks())
        }));
        rows.push(row);
    }
    rows
}

fn speed(workload: &Workload, cell: Option<&Cell>) -> String {
    cell.filter(|c| c.trials > 0).map_or_else(|| NONE.to_owned(), |c| headline(workload, c))
}

/// `86 [83, 89] ▼`
fn judged(cell: Option<&Cell>) -> String {
    let Some(cell) = cell else { return NONE.to_owned() };
    let number = match (&cell.kept, &cell.verdict) {
        (_, Some(Verdict::Cached)) | (None, _) => NONE.to_owned(),
        (Some(estimate), _) => kept(estimate),
    };
    match &cell.verdict {
        Some(verdict) => format!("{number} {}", verdict_mark(verdict)),
        None => number,
    }
}

/// The meaning of the fields and their marks.
fn about(lookup: &Lookup<'_>, condensed: bool) -> String {
    let verdicts = lookup.cells.iter().filter_map(|c| c.verdict.as_ref());
    let used: BTreeSet<char> = verdicts.map(verdict_mark).collect();
    let marks: Vec<String> = LEGEND
        .iter()
        .filter(|(mark, _)| used.contains(mark))
        .map(|(mark, words)| format!("{} {words}", escaped(&mark.to_string())))
        .collect();
    let confidence = fraction(lookup.record.plan.confidence);
    let fields = match condensed {
        true => {
            "Percent of plain speed (geometric mean over the workloads) and number of verdicts of each kind"
                .to_owned()
        }
        false => format!(
            "Percent of plain speed, with its {confidence} interval; noise is the difference between two measurements \
             of plain"
        ),
    };
    match marks.is_empty() {
        true => format!("{fields}."),
        false => format!("{fields}. {}.", marks.join(", ")),
    }
}

/// A paragraph for a paper: the date, the programs, the number of repeats, and how the figures are derived.
pub fn methods(report: &Report<'_>) -> String {
    let plan = &report.record.plan;
    let confidence = fraction(plan.confidence);
    let facts = surroundings(report.record);
    let words = |of: About| {
        facts.iter().find(|(about, _)| *about == of).map_or("", |(_, words)| words.as_str())
    };
    let baseline = match plan.arms.iter().any(|arm| arm.role == ArmRole::PlainAgain) {
        true => "the geometric mean of both plain series",
        false => "plain",
    };
    format!(
        "The profile {} ({}) ran on {}; {}; storage: {}, {}; I/O: {}. {} In each repeat, the ratio of a choice's \
         speed to {baseline} was computed; the figures are geometric means with {confidence} Student intervals on the log \
         scale. A loss is claimed at the 1 % level after Holm's correction over the workloads of a choice that have an \
         interval, and only above the noise of plain storage measured twice; equality is shown by two one-sided tests.",
        escaped(&plan.profile),
        count(plan.workloads.len(), "workload", "workloads"),
        escaped(words(About::Machine)),
        escaped(words(About::System)),
        escaped(words(About::Disk)),
        escaped(words(About::FileSystem)),
        escaped(words(About::Engine)),
        how(&report.lookup),
    )
}

/// How the results were measured, in a few sentences.
fn how(lookup: &Lookup<'_>) -> String {
    let record = lookup.record;
    let plan = &record.plan;
    let measured = record.trials.iter().filter(|t| t.block.is_some()).count();
    let length = match plan.workloads.iter().all(Workload::is_timed) {
        true => format!(" of {}", duration(plan.trial_s)),
        false => String::new(),
    };
    let mut ends: Vec<(&str, usize)> = Vec::new();
    for stop in &record.stops {
        let words = stop_words(stop.reason);
        match ends.iter_mut().find(|(w, _)| *w == words) {
            Some((_, n)) => *n += 1,
            None => ends.push((words, 1)),
        }
    }
    let run = match record.run_id.as_str() {
        SHARED => "Its".to_owned(),
        // Characters in a code span are not escaped, so those that would end it are removed.
        id => format!("Run `{}`; its", id.replace(|c: char| c == '`' || c.is_control(), "'")),
    };
    let ended: Vec<String> = ends.iter().map(|(words, n)| format!("{n} {words}")).collect();
    let ended = match ended.is_empty() {
        true => String::new(),
        false => format!(" Workloads ended: {}.", ended.join(", ")),
    };
    format!(
        "cryptbench {}, {}. Every choice ran once in each repeat, in a new random order (seed {}); \
         {}{length}, each compared with plain of the same repeat.{ended}{} {run} record.json has every trial.",
        escaped(&record.program_version),
        escaped(&occasion(record)),
        plan.seed,
        count(measured, "measured trial", "measured trials"),
        basis(lookup).iter().map(|s| format!(" {}", escaped(s))).collect::<String>(),
    )
}

/// The rows as a table. The first row is the heading, and all columns except the first are right-aligned.
pub fn grid(rows: &[Vec<String>]) -> String {
    let mut out = String::new();
    for (i, row) in rows.iter().enumerate() {
        let fields: Vec<String> = row.iter().map(|field| escaped(field)).collect();
        let _ = writeln!(out, "| {} |", fields.join(" | "));
        if i == 0 {
            let _ = writeln!(out, "|---|{}", "---:|".repeat(row.len().saturating_sub(1)));
        }
    }
    out
}

/// Escapes characters that Markdown or HTML would interpret as markup, and replaces line breaks with spaces.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            // Within a word, it is no markup.
            '_' if is_in_word(out.chars().next_back(), rest.clone().next()) => out.push(c),
            '\\' | '`' | '*' | '_' | '|' | '<' | '>' | '~' | '#' => {
                out.push('\\');
                out.push(c);
            }
            // Brackets enclose intervals. Before a parenthesis, they would be parsed as a link.
            '(' if out.ends_with(']') => out.push_str("\\("),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn is_in_word(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_no_markup() {
        assert_eq!(escaped("a|b*c`e<f>"), "a\\|b\\*c\\`e\\<f\\>");
        assert_eq!(escaped("x86_64 _b_"), "x86_64 \\_b\\_");
        assert_eq!(escaped("86 [83, 89] x"), "86 [83, 89] x");
        assert_eq!(escaped("[x](y)\nz"), "[x]\\(y) z");
    }

    #[test]
    fn a_table_has_a_rule_below_its_heading() {
        let rows = vec![vec!["a".to_owned(), "b".to_owned()], vec!["1".to_owned(), "2".to_owned()]];
        assert_eq!(grid(&rows), "| a | b |\n|---|---:|\n| 1 | 2 |\n");
    }
}
