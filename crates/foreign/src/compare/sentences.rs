//! Describes a comparison in sentences with their figures.

use super::{Compared, Comparison, Verdict};
use crate::cell::{Format, Measure};
use crate::estimator::Estimator;

/// The sentences of a comparison, the most important first.
pub fn sentences(comparison: &Comparison) -> Vec<String> {
    let mut found = vec![verdict(comparison)];
    found.extend(single(comparison));
    found.extend(coarse(comparison));
    found.push(caution(comparison));
    found.extend(percent(comparison));
    found.extend(estimator(comparison));
    found
}

fn of(comparison: &Comparison, verdict: Verdict) -> Vec<&Compared> {
    comparison.cells.iter().filter(|c| c.verdict == verdict).collect()
}

fn verdict(comparison: &Comparison) -> String {
    let [slower, faster, equivalent, apart] =
        [Verdict::Slower, Verdict::Faster, Verdict::Equivalent, Verdict::NotToldApart]
            .map(|v| of(comparison, v));
    let judged = slower.len() + faster.len() + equivalent.len() + apart.len();
    if judged == 0 {
        return "No cell has a verdict.".into();
    }
    let groups = [&slower, &faster, &equivalent, &apart];
    if let (1, Some(one)) = (judged, groups.into_iter().flatten().next()) {
        let what = match one.verdict {
            Verdict::Slower => "B is slower",
            Verdict::Faster => "B is faster",
            Verdict::Equivalent => "B differs by less than the margin",
            _ => "B cannot be told from A",
        };
        return format!("Unpaired, B against A: {what} in {}.", figure(one));
    }
    let mut parts = Vec::new();
    if let Some(most) = extreme(&slower) {
        parts.push(format!("slower in {} (most of all {})", slower.len(), figure(most)));
    }
    if let Some(most) = extreme(&faster) {
        parts.push(format!("faster in {} (most of all {})", faster.len(), figure(most)));
    }
    if !equivalent.is_empty() {
        let margin = comparison.margin * 100.0;
        parts.push(format!("within {margin:.0} % in {}", equivalent.len()));
    }
    if !apart.is_empty() {
        parts.push(format!("not to be told apart in {}", apart.len()));
    }
    format!("Unpaired, B against A: of {judged} cells B is {}.", parts.join(", "))
}

/// The cell that differs most.
fn extreme<'a>(cells: &[&'a Compared]) -> Option<&'a Compared> {
    cells.iter().copied().max_by(|x, y| x.ratio.ln().abs().total_cmp(&y.ratio.ln().abs()))
}

fn figure(cell: &Compared) -> String {
    let percent = |ratio: f64| {
        let value = 100.0 * ratio;
        if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") }
    };
    let of = match cell.measure {
        Measure::Bandwidth => "of A's speed",
        Measure::Iops => "of A's requests per second",
        Measure::Latency => "of A's latency",
    };
    let interval = cell
        .interval
        .map_or(String::new(), |i| format!(" [{}, {}]", percent(i.low), percent(i.high)));
    format!("{}: {} %{interval} {of}", cell.name, percent(cell.ratio))
}

fn single(comparison: &Comparison) -> Option<String> {
    let without = of(comparison, Verdict::NoInterval);
    let most = extreme(&without)?;
    let count = match (without.len(), comparison.cells.len()) {
        (1, 1) => "The cell has".to_owned(),
        (n, all) if n == all => format!("All {n} cells have"),
        (1, _) => "One cell has".to_owned(),
        (n, _) => format!("{n} cells have"),
    };
    Some(format!(
        "{count} fewer than 3 runs on a side: a ratio without an interval, which cannot tell a difference from chance \
         (farthest apart {}).",
        figure(most)
    ))
}

fn coarse(comparison: &Comparison) -> Option<String> {
    let cells = of(comparison, Verdict::TooCoarse).len();
    let cells = match cells {
        0 => return None,
        1 => "One cell has".to_owned(),
        n => format!("{n} cells have"),
    };
    Some(format!(
        "{cells} the same printed value in all runs of a side: the program's resolution hides how runs differ, so that there is \
         a ratio without an interval."
    ))
}

fn caution(comparison: &Comparison) -> String {
    let records =
        [&comparison.a, &comparison.b].iter().all(|s| s.formats.as_slice() == [Format::Record]);
    let instead = match records {
        true => "`cryptbench run` with both in one run",
        false => "`cryptbench run`",
    };
    format!(
        "The runs of A and B did not take turns. Drift of the disk or the machine between them, what a cache held, and \
         another place on the device are in every ratio, and no interval excludes them: it holds chance from run to run \
         alone. {instead} makes them take turns."
    )
}

fn percent(comparison: &Comparison) -> Option<String> {
    let iozone = [&comparison.a, &comparison.b].iter().any(|s| s.formats.contains(&Format::Iozone));
    if !iozone && comparison.estimator != Some(Estimator::CellwisePercent) {
        return None;
    }
    let percent = comparison.percent?;
    let direction = if percent.loss < 0.0 { "gains" } else { "loses" };
    let mut text = format!(
        "Over {} cells B {direction} {:.1} % on average, in percent of the larger of the two (differences without sign: mean \
         {:.1} %, largest {:.1} %).",
        percent.cells,
        percent.loss.abs(),
        percent.difference,
        percent.largest
    );
    for (name, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        match side.noise {
            Some(noise) => text.push_str(&format!(
                " {} identical series of {name} differ by {:.1} % on average, at most {:.1} %; they would be said to lose up \
                 to {:.1} %.",
                noise.series, noise.mean, noise.largest, noise.largest_loss
            )),
            None => text.push_str(&format!(" Of {name} there are no identical series to tell its noise.")),
        }
    }
    let noise = [&comparison.a, &comparison.b].map(|s| s.noise.map(|n| n.largest_loss));
    if let [Some(a), Some(b)] = noise
        && percent.loss.abs() <= a.max(b)
    {
        text.push_str(" So identical series show as much.");
    }
    Some(text)
}

fn estimator(comparison: &Comparison) -> Option<String> {
    let estimator = comparison.estimator?;
    Some(format!(
        "The figures shown are each side's {}; verdicts rest on geometric means and Welch's interval all the same.",
        estimator.name()
    ))
}
