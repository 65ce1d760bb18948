//! The trials of a workload: a sparkline for each arm, and every number by block.

use std::collections::{BTreeMap, BTreeSet};

use cryptbench_answer::quantity::{NONE, headline_value, percent_digits, value_words};
use cryptbench_estimate::lookup::{Lookup, geometric_mean};
use cryptbench_record::{Arm, ArmRole, Trial, Workload};

use super::super::layout::{add, clean, cut, empty, fitted, heading, left, right, text, widest};
use super::super::spark::{range, sparkline};
use super::wrap;

/// Maximum width of a sparkline in columns, and the minimum width next to the numbers.
const MOST_COLUMNS: usize = 100;
const LEAST_COLUMNS: usize = 8;

/// Maximum number of rows in the list.
const MOST_BLOCKS: usize = 200;

/// The trials of one arm by block.
type Blocks = BTreeMap<u32, Point>;

#[derive(Clone, Copy)]
struct Point {
    /// Requests per second, which is the quantity that is compared.
    rate: f64,
    /// The figure that is usually quoted; it may be a time.
    headline: f64,
}

/// The speed of each trial, as a line of block characters for each arm, all on one scale.
pub(super) fn sparks(
    lookup: &Lookup<'_>,
    workload: &Workload,
    arms: &[&Arm],
    width: usize,
) -> String {
    let (arms, blocks) = by_block(lookup, workload, arms);
    let all = arms.iter().flat_map(|(_, of)| of.values().map(|p| p.rate));
    let Some(scale) = range(all) else {
        return wrap("No trial of it was measured.", "", "  ", width);
    };
    let names: Vec<String> = arms.iter().map(|(arm, _)| clean(&arm.label)).collect();
    let ranges: Vec<String> = arms.iter().map(|(_, of)| slowest_to_fastest(workload, of)).collect();
    let widest_of = |texts: &[String]| texts.iter().map(|t| widest(t)).max().unwrap_or(0);
    let first = widest_of(&names).min(width / 3);
    // In a narrow terminal, the numbers are in the list below.
    let shown = width >= first + widest_of(&ranges) + 4 + LEAST_COLUMNS;
    let last = if shown { widest_of(&ranges) + 2 } else { 0 };
    let room = width.saturating_sub(first + last + 2).clamp(1, MOST_COLUMNS);
    let title = "Trials by repeat, all on one scale (slowest to fastest):";
    let mut lines = vec![wrap(title, "", "  ", width)];
    for ((name, range), (_, of)) in names.iter().zip(&ranges).zip(&arms) {
        let values: Vec<_> = blocks.iter().map(|b| of.get(b).map(|p| p.rate)).collect();
        let spark = left(&sparkline(&values, scale, room), blocks.len().min(room));
        let range = if shown { right(range, last) } else { String::new() };
        let line = format!("{}  {spark}{range}", left(&cut(name, first), first));
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

fn slowest_to_fastest(workload: &Workload, blocks: &Blocks) -> String {
    let by_rate = |a: &&Point, b: &&Point| a.rate.total_cmp(&b.rate);
    let ends = (blocks.values().min_by(by_rate), blocks.values().max_by(by_rate));
    let (Some(slowest), Some(fastest)) = ends else { return NONE.to_owned() };
    let words = |point: &Point| value_words(workload, point.headline);
    format!("{} to {}", words(slowest), words(fastest))
}

/// Every trial by block: the headline figure of each arm, and its share of plain speed in that block.
pub(super) fn list(
    lookup: &Lookup<'_>,
    workload: &Workload,
    arms: &[&Arm],
    width: usize,
) -> String {
    let (arms, blocks) = by_block(lookup, workload, arms);
    let is_plain = |arm: &Arm| arm.role == ArmRole::Plain;
    let plain_rate = |arm: &Arm, block: &u32| {
        let baseline = lookup.record.plan.baseline(arm);
        let among = arms.iter().filter(|(plain, _)| baseline.contains(&plain.id.as_str()));
        let rates: Vec<f64> = among.filter_map(|(_, of)| of.get(block)).map(|p| p.rate).collect();
        (!rates.is_empty()).then(|| geometric_mean(&rates))
    };
    let table = |with_speeds: bool| {
        let mut headings = vec!["repeat".to_owned()];
        for (arm, _) in &arms {
            headings.push(heading(&clean(&arm.label)));
            if !is_plain(arm) && with_speeds {
                headings.push("% of plain".to_owned());
            }
        }
        let mut table = empty(headings);
        for block in blocks.iter().take(MOST_BLOCKS) {
            let mut row = vec![block.to_string()];
            for (arm, of) in &arms {
                let point = of.get(block);
                if is_plain(arm) || with_speeds {
                    row.push(point.map_or_else(
                        || NONE.to_owned(),
                        |point| value_words(workload, point.headline),
                    ));
                }
                if !is_plain(arm) {
                    let kept = point.zip(plain_rate(arm, block));
                    let percent = kept.map(|(point, plain)| 100.0 * point.rate / plain);
                    row.push(percent.map_or_else(|| NONE.to_owned(), percent_digits));
                }
            }
            add(&mut table, row);
        }
        table
    };
    let with_speeds = table(true);
    // With broken words, the table would be unreadable.
    let (title, table) = match widest(&text(&with_speeds)) <= width {
        true => {
            ("Every measured trial, and its % of the plain trials of the same repeat:", with_speeds)
        }
        false => {
            ("Every measured trial in % of the plain trials of the same repeat:", table(false))
        }
    };
    let mut lines = vec![wrap(title, "", "  ", width), fitted(table, width)];
    if let n @ 1.. = blocks.len().saturating_sub(MOST_BLOCKS) {
        lines.push(wrap(&format!("{n} more repeats are in the record."), "", "  ", width));
    }
    lines.join("\n")
}

/// The trials of each arm by block, and the blocks in which any arm ran.
fn by_block<'a>(
    lookup: &Lookup<'_>,
    workload: &Workload,
    arms: &[&'a Arm],
) -> (Vec<(&'a Arm, Blocks)>, BTreeSet<u32>) {
    let point = |t: &&Trial| {
        let rate = t.iops();
        let headline = headline_value(workload, t.bandwidth(), rate);
        Some((t.block?, Point { rate, headline })).filter(|_| rate.is_finite())
    };
    let of = |arm: &Arm| -> Blocks {
        lookup.trials.of_cell(&workload.id, &arm.id).iter().filter_map(point).collect()
    };
    let arms: Vec<(&Arm, Blocks)> = arms.iter().map(|arm| (*arm, of(arm))).collect();
    let blocks = arms.iter().flat_map(|(_, of)| of.keys().copied()).collect();
    (arms, blocks)
}
