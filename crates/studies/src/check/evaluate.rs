//! Evaluates a check: computes the verdict and the numbers behind it.

use crate::check::pairs::{Pair, groups, pairs};
use crate::check::{Band, Check, Denominator, Finding, Rank, Share, Verdict, rounded};
use crate::number::Rederived;
use crate::observation::{Dimension, Observation, Select};

/// Maximum number of exceptions listed by name; the others are only counted.
const NAMED: usize = 6;

/// A selection without any published number, in words.
struct Missing(String);

impl Missing {
    fn of(select: &Select) -> Self {
        Self(select.to_string())
    }
}

/// A verdict, or the selection without published numbers.
type Outcome = Result<Finding, Missing>;

impl Check {
    /// Evaluates the check on a study's numbers.
    pub fn evaluate(&self, all: &[Observation], rederived: &[Rederived]) -> Finding {
        self.outcome(all, rederived).unwrap_or_else(|missing| Finding {
            verdict: Verdict::CannotBeChecked,
            numbers: vec![format!("not published: {}", missing.0)],
        })
    }

    fn outcome(&self, all: &[Observation], rederived: &[Rederived]) -> Outcome {
        match self {
            Self::Drop { base, other, of, within } => {
                drop(&base.in_common(other), &compared(all, base, other)?, *of, within)
            }
            Self::Times { above, below, within } => times(&compared(all, below, above)?, within),
            Self::Better { better, worse, share } => {
                let cells = compared(all, worse, better)?;
                let cells = cells.iter().map(|p| (two(p), is_better(p.other, p.base)));
                Ok(counted(&better.in_common(worse), &cells.collect::<Vec<_>>(), *share))
            }
            Self::Ranked { among, along, who, rank, share } => {
                ranked(all, among, *along, who, *rank, *share)
            }
            Self::Differ { a, b, noise } => {
                let largest = values(all, noise)?.into_iter().fold(f64::MIN, f64::max);
                against_noise(
                    &compared(all, a, b)?,
                    largest,
                    "largest difference of identical trials",
                    true,
                )
            }
            Self::Alike { a, b, noise } => {
                let noise = values(all, noise)?;
                let width = range(&noise).1 - range(&noise).0;
                against_noise(&compared(all, a, b)?, width, "range of identical trials", false)
            }
            Self::SameDrop { one, two, points } => {
                let (a, b, numbers) = two_drops(all, one, two)?;
                Ok(finding((a - b).abs() <= *points, numbers))
            }
            Self::LargerDrop { larger, smaller } => {
                let (a, b, numbers) = two_drops(all, larger, smaller)?;
                Ok(finding(a > b, numbers))
            }
            Self::LessSpread { a, b, along } => less_spread(all, a, b, *along),
            Self::Exceeds { more, less, times } => {
                let (least, most) = (range(&values(all, more)?).0, range(&values(all, less)?).1);
                let found = least / most;
                let (least, most, unit) = (rounded(least), rounded(most), more.in_unit());
                let numbers = vec![format!(
                    "{} times: {least} at least and {most} {unit} at most; stated {} or more",
                    rounded(found),
                    rounded(*times)
                )];
                Ok(finding(found >= *times, numbers))
            }
            Self::Equals { of, value } => equals(all, of, *value),
            Self::Mean { of, within } => {
                let values = values(all, of)?;
                let mean = mean(&values);
                let (text, about) = (rounded(mean), of.in_common(of));
                let numbers = vec![format!("{about}: {text}; stated {within} {}", of.in_unit())];
                Ok(finding(within.holds(mean), numbers))
            }
            Self::Largest { of, within } => {
                let (low, high) = range(&values(all, of)?);
                let (low, high_text) = (rounded(low), rounded(high));
                let unit = of.in_unit();
                let numbers =
                    vec![format!("{low} to {high_text} {unit}; stated {within} for the largest")];
                Ok(finding(within.holds(high), numbers))
            }
            Self::Rederives => Ok(rederives(rederived)),
            Self::Published(select) => {
                let numbers = some(all, select)?.into_iter().map(one).collect();
                Ok(finding(true, numbers))
            }
            Self::All(checks) => {
                let parts: Vec<_> = checks.iter().map(|c| c.evaluate(all, rederived)).collect();
                let has = |v| parts.iter().any(|p| p.verdict == v);
                let verdict = [Verdict::Disagrees, Verdict::CannotBeChecked]
                    .into_iter()
                    .find(|v| has(*v))
                    .unwrap_or(Verdict::Agrees);
                Ok(Finding {
                    verdict,
                    numbers: parts.into_iter().flat_map(|p| p.numbers).collect(),
                })
            }
        }
    }
}

fn finding(agrees: bool, numbers: Vec<String>) -> Finding {
    let verdict = if agrees { Verdict::Agrees } else { Verdict::Disagrees };
    Finding { verdict, numbers }
}

fn some<'a>(all: &'a [Observation], select: &Select) -> Result<Vec<&'a Observation>, Missing> {
    let found = select.of(all);
    if found.is_empty() { Err(Missing::of(select)) } else { Ok(found) }
}

fn values(all: &[Observation], select: &Select) -> Result<Vec<f64>, Missing> {
    Ok(some(all, select)?.iter().map(|o| o.value.value()).collect())
}

fn compared<'a>(
    all: &'a [Observation],
    base: &Select,
    other: &Select,
) -> Result<Vec<Pair<'a>>, Missing> {
    some(all, base)?;
    let found = pairs(all, base, other);
    if found.is_empty() { Err(Missing::of(other)) } else { Ok(found) }
}

fn drops(cells: &[Pair<'_>], of: Denominator) -> Vec<f64> {
    let drop = |p: &Pair<'_>| {
        let (base, other) = (p.base.value.value(), p.other.value.value());
        let whole = match of {
            Denominator::Base => base,
            Denominator::Larger => base.max(other),
        };
        100.0 * (base - other) / whole
    };
    cells.iter().map(drop).collect()
}

fn drop(about: &str, cells: &[Pair<'_>], of: Denominator, within: &Band) -> Outcome {
    let drops = drops(cells, of);
    let drop = mean(&drops);
    let (low, high) = range(&drops);
    let text = if cells.len() == 1 {
        format!("{} %: {}; stated {within} %", rounded(drop), two(&cells[0]))
    } else {
        let (low, high) = (rounded(low), rounded(high));
        let n = cells.len();
        format!(
            "{about}: {} %, mean of {n} cells from {low} to {high} %; stated {within} %",
            rounded(drop)
        )
    };
    Ok(finding(within.holds(drop), vec![text]))
}

/// The mean drops of two pairs of selections, with descriptions of both pairs.
fn two_drops(
    all: &[Observation],
    one: &(Select, Select),
    two: &(Select, Select),
) -> Result<(f64, f64, Vec<String>), Missing> {
    let of = |(base, other): &(Select, Select)| -> Result<(f64, String), Missing> {
        let cells = compared(all, base, other)?;
        let drop = mean(&drops(&cells, Denominator::Base));
        Ok((drop, format!("{} % for {}", rounded(drop), base.in_common(other))))
    };
    let ((a, a_text), (b, b_text)) = (of(one)?, of(two)?);
    Ok((a, b, vec![format!("drops {a_text}, {b_text}")]))
}

fn times(cells: &[Pair<'_>], within: &Band) -> Outcome {
    let times = |p: &Pair<'_>| p.other.value.value() / p.base.value.value();
    let numbers =
        cells.iter().map(|p| format!("{} times: {}; stated {within}", rounded(times(p)), two(p)));
    Ok(finding(cells.iter().all(|p| within.holds(times(p))), numbers.collect()))
}

fn ranked(
    all: &[Observation],
    among: &Select,
    along: Dimension,
    who: &str,
    rank: Rank,
    share: Share,
) -> Outcome {
    some(all, among)?;
    let mut cells = Vec::new();
    for (cell, group) in groups(all, among, along) {
        let Some(it) = group.iter().find(|o| o.about(along) == who) else { continue };
        let others = || group.iter().filter(|o| o.about(along) != who);
        let holds = match rank {
            Rank::First => others().all(|o| !is_better(o, it)),
            Rank::Last => others().all(|o| is_better(o, it)),
        };
        let list: Vec<_> =
            group.iter().map(|o| format!("{} {}", o.about(along), o.value.text())).collect();
        cells.push((format!("{cell}: {} {}", list.join(", "), it.unit), holds));
    }
    if cells.is_empty() {
        Err(Missing::of(among))
    } else {
        Ok(counted(&among.in_common(among), &cells, share))
    }
}

fn less_spread(all: &[Observation], a: &Select, b: &Select, along: Dimension) -> Outcome {
    let of = |select: &Select| {
        let spreads: Vec<f64> = groups(all, select, along)
            .iter()
            .map(|(_, group)| {
                let values: Vec<f64> = group.iter().map(|o| o.value.value()).collect();
                let (low, high) = range(&values);
                100.0 * (high / low - 1.0)
            })
            .collect();
        if spreads.is_empty() { Err(Missing::of(select)) } else { Ok(spreads) }
    };
    let (a_all, b_all) = (of(a)?, of(b)?);
    let words = |spreads: &[f64], select: &Select| {
        let (low, high) = range(spreads);
        let (m, low, high) = (rounded(mean(spreads)), rounded(low), rounded(high));
        let (about, n) = (select.in_common(select), spreads.len());
        format!("{about}: best over worst {along} {m} %, mean of {n} cells from {low} to {high} %")
    };
    let numbers = vec![words(&a_all, a), words(&b_all, b)];
    Ok(finding(mean(&a_all) < mean(&b_all), numbers))
}

fn equals(all: &[Observation], of: &Select, value: f64) -> Outcome {
    let found = some(all, of)?;
    let cells: Vec<_> = found.into_iter().map(|o| (one(o), o.value.agrees_with(value))).collect();
    Ok(counted(&format!("stated {}", rounded(value)), &cells, Share::All))
}

fn rederives(all: &[Rederived]) -> Finding {
    let faults: Vec<_> = all.iter().filter(|r| !r.agrees()).collect();
    let mut numbers = vec![format!("{} of {} follow", all.len() - faults.len(), all.len())];
    numbers.extend(faults.iter().map(|r| {
        let Rederived { what, published, derived, unit } = r;
        format!(
            "{what}: {} {unit} stated, {} {unit} follows",
            published.text(),
            published.finer(*derived)
        )
    }));
    finding(faults.is_empty(), numbers)
}

fn against_noise(cells: &[Pair<'_>], noise: f64, called: &str, beyond: bool) -> Outcome {
    let apart = |p: &Pair<'_>| (p.base.value.value() - p.other.value.value()).abs();
    let numbers = cells.iter().map(|p| {
        let (apart, noise) = (rounded(apart(p)), rounded(noise));
        format!("{}: {apart} apart, {called} {noise}", two(p))
    });
    let holds = cells.iter().all(|p| (apart(p) > noise) == beyond);
    Ok(finding(holds, numbers.collect()))
}

/// Counts the cells in which a statement holds, and lists the exceptions.
fn counted(about: &str, cells: &[(String, bool)], share: Share) -> Finding {
    let n = cells.len();
    let holds = cells.iter().filter(|(_, holds)| *holds).count();
    let about = if about.is_empty() { String::new() } else { format!("{about}: ") };
    let mut numbers = vec![format!("{about}in {holds} of {n} cells")];
    if n == 1 {
        numbers = vec![format!("{about}{}", cells[0].0)];
    } else {
        let exceptions: Vec<_> = cells.iter().filter(|(_, holds)| !holds).collect();
        numbers.extend(exceptions.iter().take(NAMED).map(|(cell, _)| format!("not in {cell}")));
        if exceptions.len() > NAMED {
            numbers.push(format!("and not in {} more", exceptions.len() - NAMED));
        }
    }
    let agrees = match share {
        Share::All => holds == n,
        Share::Most => 2 * holds > n,
    };
    finding(agrees, numbers)
}

fn is_better(a: &Observation, b: &Observation) -> bool {
    let (a_value, b_value) = (a.value.value(), b.value.value());
    if a.lower_is_better() { a_value < b_value } else { a_value > b_value }
}

/// Describes a pair, such as `read, 512 B: 7.31 and 5.97 MiB/s`; each number has the properties that distinguish it.
fn two(p: &Pair<'_>) -> String {
    let of = |o: &Observation, beside: &Observation| {
        let own = o.about.iter().zip(&beside.about).filter(|(a, b)| a != b && !a.is_empty());
        let own: Vec<&str> = own.map(|(a, _)| a.as_str()).collect();
        format!("{} {}", own.join(" "), o.value.text())
    };
    format!("{}: {}, {} {}", p.cell, of(p.base, p.other), of(p.other, p.base), p.base.unit)
}

/// Describes a number.
fn one(o: &Observation) -> String {
    let about: Vec<&str> = o.about.iter().map(String::as_str).filter(|a| !a.is_empty()).collect();
    format!("{}: {} {}", about.join(", "), o.value.text(), o.unit)
}

fn mean(values: &[f64]) -> f64 {
    cryptbench_stats::compatibility::trimmed_mean(values, 0).unwrap_or(f64::NAN)
}

fn range(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)))
}
