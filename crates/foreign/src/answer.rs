//! The first sentences of a comparison: the changes, their sizes, and how certain they are.

use cryptbench_stats::FAMILY_LEVEL;

use crate::cell::Measure;
use crate::compare::{Compared, Comparison, Verdict};
use crate::costs::CostChange;
use crate::reproduced::Reproduction;

/// The answer of a comparison. Changes in cost, which only two records can show, precede raw speeds, because the drift
/// of the disks cancels out in changes in cost.
pub fn answer(
    comparison: &Comparison,
    costs: &[CostChange],
    reproduction: Option<&Reproduction>,
) -> Vec<String> {
    let mut said: Vec<String> = shares(costs, reproduction).into_iter().collect();
    let has_shares = !said.is_empty();
    said.push(speeds(comparison, has_shares));
    said.push(
        "Unpaired: A and B were not interleaved, so every speed includes the drift between them."
            .into(),
    );
    said
}

/// `80 %`, `7.4 %`.
fn percent(ratio: f64) -> String {
    format!("{} %", number(ratio))
}

/// A margin without decimals: `3 %`.
fn within(ratio: f64) -> String {
    format!("{:.0} %", 100.0 * ratio)
}

fn number(ratio: f64) -> String {
    let value = 100.0 * ratio;
    if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// `12 % less (95 % interval 9 to 15)` for a ratio below 1, `12 % more` for a ratio above 1.
fn change(ratio: f64, interval: Option<(f64, f64)>) -> String {
    let less = ratio < 1.0;
    // A loss of 9 to 15 % is a ratio of 0.85 to 0.91.
    let size = |r: f64| if less { 1.0 - r } else { r - 1.0 };
    let interval = interval.map_or(String::new(), |(low, high)| {
        let (from, to) = if less { (size(high), size(low)) } else { (size(low), size(high)) };
        format!(" (95 % interval {} to {})", signed(from), signed(to))
    });
    format!("{}{interval}", percent(size(ratio)) + if less { " less" } else { " more" })
}

fn signed(size: f64) -> String {
    if size < 0.0 { format!("−{}", number(-size)) } else { number(size) }
}

/// The certainty of a proven difference, in words.
fn proven() -> String {
    format!(
        "Chance alone shows such a difference in fewer than {:.0} of 100 comparisons.",
        100.0 * FAMILY_LEVEL
    )
}

/// `smaller in 3 and larger in 1 of 16`.
fn tally([fewer, more]: [(&str, usize); 2], all: usize, of: &str) -> String {
    let parts: Vec<String> = [fewer, more]
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(what, n)| format!("{what} in {n}"))
        .collect();
    format!("{} of {all} {of}", parts.join(" and "))
}

fn shares(costs: &[CostChange], reproduction: Option<&Reproduction>) -> Option<String> {
    let of = reproduction?;
    let within = within(of.margin);
    let changed: Vec<&CostChange> = costs.iter().filter(|c| c.changed).collect();
    let most = changed.iter().max_by(|x, y| x.ratio.ln().abs().total_cmp(&y.ratio.ln().abs()));
    if let Some(most) = most {
        let smaller = changed.iter().filter(|c| c.ratio < 1.0).count();
        let counts = [("smaller", smaller), ("larger", changed.len() - smaller)];
        return Some(format!(
            "B's share of plain speed is {}, most of all in {} with {}: {} instead of {}, which is {}. {}",
            tally(counts, costs.len(), if costs.len() == 1 { "case" } else { "cases" }),
            most.workload_name,
            most.arm_name,
            percent(most.b),
            percent(most.a),
            change(most.ratio, Some((most.low, most.high))),
            proven()
        ));
    }
    let found = of.chance_of_finding().map_or(String::new(), |found| format!(" {found}"));
    Some(match of.same {
        same if same == costs.len() => format!(
            "A and B are the same: {} of plain speed within {within}.{found}",
            match costs.len() {
                1 => "their only share".to_owned(),
                n => format!("all {n} shares"),
            }
        ),
        0 => format!(
            "A and B are indistinguishable: no share of plain speed differs beyond chance.{found}"
        ),
        same => format!(
            "A and B are indistinguishable: no share of plain speed differs beyond chance, and {same} of {} are the same \
             within {within}.{found}",
            costs.len()
        ),
    })
}

fn speeds(comparison: &Comparison, has_shares: bool) -> String {
    let of = |verdict| comparison.cells.iter().filter(move |c| c.verdict == verdict);
    let [slower, faster, same, apart] =
        [Verdict::Slower, Verdict::Faster, Verdict::Equivalent, Verdict::NotToldApart]
            .map(|verdict| of(verdict).count());
    let judged = slower + faster + same + apart;
    let within = within(comparison.margin);
    let differing = of(Verdict::Slower).chain(of(Verdict::Faster));
    // If there are shares of plain speed, the raw speeds are only a secondary answer.
    let (b_is, than_a, low, high) = match has_shares {
        true => ("B's raw speeds are", "A's", "lower", "higher"),
        false => ("B is", "A", "slower", "faster"),
    };
    let both = if has_shares { "Raw speeds" } else { "A and B" };
    if let Some(most) = farthest(differing) {
        let sure = if has_shares { String::new() } else { format!(" {}", proven()) };
        let figure = figure(most);
        return match (judged, slower) {
            (1, 1) => format!("{b_is} {low} than {than_a}: {figure}.{sure}"),
            (1, _) => format!("{b_is} {high} than {than_a}: {figure}.{sure}"),
            _ => {
                let counts = tally([(low, slower), (high, faster)], judged, "results");
                format!("{b_is} {counts}, most of all in {figure}.{sure}")
            }
        };
    }
    match (judged, same) {
        (0, _) => unjudged(comparison, both),
        (1, 1) => format!("{both} are the same: the only result differs by less than {within}."),
        (n, same) if n == same => {
            format!("{both} are the same: all {n} results differ by less than {within}.")
        }
        (1, _) => {
            let one = of(Verdict::NotToldApart).next().map(figure).unwrap_or_default();
            format!("{both} are indistinguishable: {one}, which chance explains.")
        }
        (n, 0) => {
            format!("{both} are indistinguishable: none of {n} results differs beyond chance.")
        }
        (n, same) => format!(
            "{both} are indistinguishable: none of {n} results differs beyond chance, and {same} are the same within \
             {within}."
        ),
    }
}

/// The text if no cell has an interval, because there are too few runs or the program's figures are too coarse.
fn unjudged(comparison: &Comparison, both: &str) -> String {
    let cells = || comparison.cells.iter().filter(|c| c.verdict != Verdict::Cached);
    let Some(most) = farthest(cells()) else {
        return format!("{both} cannot be judged: every result was served from a cache.");
    };
    let why = match cells().any(|c| c.verdict == Verdict::NoInterval) {
        true => "distinguishing a difference from chance requires 3 runs on each side",
        false => "all runs of a side have the same printed value",
    };
    format!("{both} cannot be judged: {why}. The largest difference is in {}.", figure(most))
}

fn farthest<'a>(cells: impl Iterator<Item = &'a Compared>) -> Option<&'a Compared> {
    cells.max_by(|x, y| x.ratio.ln().abs().total_cmp(&y.ratio.ln().abs()))
}

/// `Large reads, 8 at once: 80 % of A's speed (95 % interval 77 to 83)`.
pub(crate) fn figure(cell: &Compared) -> String {
    let of = match cell.measure {
        Measure::Bandwidth => "of A's speed",
        Measure::Iops => "of A's requests per second",
        Measure::Latency => "of A's latency",
    };
    let interval = cell.interval.map_or(String::new(), |i| {
        format!(" (95 % interval {} to {})", number(i.low), number(i.high))
    });
    format!("{}: {} {of}{interval}", cell.title, percent(cell.ratio))
}
