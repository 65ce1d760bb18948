//! Choices in rows, fastest first.

use cryptbench_answer::figure::{Ladder, Mark, Rung, Value};
use cryptbench_answer::quantity::{NO_BREAK, NONE, cpu, fraction, kept_spread, percent_digits};
use cryptbench_catalog::{BUILTIN, Family};
use cryptbench_record::Record;

use super::super::layout::{add, clean, fitted, unruled, widest};
use super::{Detail, wrap};

/// Percentages below which a mean is shown with a decimal, because means differ by less than individual
/// figures.
const FINE_BELOW: f64 = 19.95;

/// A mean whose interval spans at least this factor is too uncertain to use.
const UNCERTAIN: f64 = 1.5;

/// Maximum number of choices on a screen.
const MOST_RUNGS: usize = 14;

/// The ranking with its legend, at most `width` columns wide.
pub(super) fn text(ladder: &Ladder<'_>, record: &Record, width: usize, detail: Detail) -> String {
    let shown = ladder.rungs.iter().take(MOST_RUNGS);
    let rungs: Vec<&Rung<'_>> = shown.chain(&ladder.floor).collect();
    // The engine itself does not belong to a family.
    let has_families = rungs.iter().any(|rung| !family(rung).trim().is_empty());
    let mut headings = vec!["% of plain speed".to_owned()];
    headings.extend(has_families.then(String::new));
    headings.push("average".to_owned());
    headings.extend(ladder.kinds.iter().map(|kind| kind.replacen(' ', "\n", 1)));
    headings.push("CPU\ns/GiB".to_owned());
    let mut table = unruled(headings, 1);
    for (rung, mean) in rungs.iter().zip(means(&rungs)) {
        let mut fields = vec![name(rung)];
        fields.extend(has_families.then(|| family(rung)));
        fields.push(mean);
        fields.extend(rung.kinds.iter().map(share));
        fields.push(rung.cpu.map_or_else(|| NONE.to_owned(), cpu));
        add(&mut table, fields);
    }
    let mut last_in_one = table.clone();
    if let Some(last) = last_in_one.row_mut(rungs.len().saturating_sub(1)) {
        last.max_height(1);
    }
    let text = fitted(table, width);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if ladder.floor.is_some() {
        let rule = format!("   {}", "─".repeat(widest(&text).saturating_sub(3)));
        let last = lines.len() - fitted(last_in_one, width).lines().count() + 1;
        lines.insert(lines.len() - last, rule);
    }
    let hidden = ladder.rungs.len().saturating_sub(MOST_RUNGS);
    if hidden > 0 {
        lines.push(format!("   and {hidden} slower choices"));
    }
    if detail.legend {
        lines.push(legend(ladder, record, width));
    }
    lines.join("\n")
}

/// ` 1 gocryptfs`
fn name(rung: &Rung<'_>) -> String {
    let place = match (rung.place, rung.unranked) {
        (Some(place), _) => place.to_string(),
        (None, Some(_)) => NONE.to_owned(),
        (None, None) => String::new(),
    };
    format!("{place:>2} {}", clean(&rung.name))
}

/// `V `, `F!`
fn family(rung: &Rung<'_>) -> String {
    let family = match rung.family {
        _ if rung.arm.system == BUILTIN.name => ' ',
        Family::Volume => 'V',
        Family::Files => 'F',
        Family::Place => ' ',
    };
    format!("{family}{}", if rung.avoid { '!' } else { ' ' })
}

/// The means with their spreads, aligned with each other.
fn means(rungs: &[&Rung<'_>]) -> Vec<String> {
    let parts: Vec<(String, String)> = rungs
        .iter()
        .map(|rung| match (rung.all, rung.unranked) {
            (Some(mean), _) => kept_spread(mean.ratio, mean.low, mean.high, FINE_BELOW),
            (None, Some(why)) => (why.words().to_owned(), String::new()),
            (None, None) => (NONE.to_owned(), String::new()),
        })
        .collect();
    let spread = parts.iter().map(|p| p.1.chars().count()).max().unwrap_or(0);
    parts.iter().map(|(value, by)| format!("{value} {by:<spread$}")).collect()
}

/// `48`, `45?`, `cache`.
fn share(value: &Value) -> String {
    match (value.mark, value.kept) {
        (Mark::Cached, None) => "cache".to_owned(),
        (Mark::Compressed, None) => "packed".to_owned(),
        (_, None) => NONE.to_owned(),
        (_, Some(mean)) => {
            let doubt = if mean.high / mean.low > UNCERTAIN { '?' } else { ' ' };
            format!("{}{doubt}", percent_digits(100.0 * mean.ratio))
        }
    }
}

fn legend(ladder: &Ladder<'_>, record: &Record, width: usize) -> String {
    let any = |of: &dyn Fn(&Rung<'_>) -> bool| ladder.rungs.iter().any(of);
    let mut parts: Vec<String> = Vec::new();
    if any(&|r| r.family == Family::Volume && r.arm.system != BUILTIN.name) {
        parts.push("V one volume".to_owned());
    }
    if any(&|r| r.family == Family::Files) {
        parts.push("F file by file".to_owned());
    }
    if any(&|r| r.avoid) {
        parts.push("! avoid".to_owned());
    }
    let mut text = match parts.is_empty() {
        true => String::new(),
        false => format!("{}. ", parts.join(", ")),
    };
    let places: Vec<usize> = ladder.rungs.iter().filter_map(|r| r.place).collect();
    if places.windows(2).any(|pair| pair[0] == pair[1]) {
        text += "Same rank: no difference found. ";
    }
    text += &format!("±{NO_BREAK}{}{NO_BREAK}interval", fraction(record.plan.confidence));
    let uncertain = |v: &Value| v.kept.is_some_and(|m| m.high / m.low > UNCERTAIN);
    if any(&|r| r.kinds.iter().any(uncertain)) {
        text += ", ? too uncertain to use";
    }
    let of = match ladder.over == ladder.workloads {
        true => format!("{}", ladder.over),
        false => format!("{} of {}", ladder.over, ladder.workloads),
    };
    text += &format!(". Average: geometric mean of {of} workloads.");
    if let Some(floor) = &ladder.floor {
        let what = if ladder.is_floor {
            "the minimum cost (only the cipher, on one core), not a system"
        } else {
            "one core, not a system"
        };
        text += &format!(" {}: {what}.", clean(&floor.name));
    }
    wrap(&text, "", "", width)
}
