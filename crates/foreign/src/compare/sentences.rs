//! Describes a comparison in sentences with their figures.

use super::{Compared, Comparison, Verdict};
use crate::cell::Format;
use crate::estimator::Estimator;

/// The sentences of a comparison after its [`answer`](crate::answer::answer).
pub fn sentences(comparison: &Comparison) -> Vec<String> {
    let mut found: Vec<String> = single(comparison).into_iter().collect();
    found.extend(coarse(comparison));
    found.push(caution(comparison));
    found.extend(percent(comparison));
    found.extend(estimator(comparison));
    found
}

fn of(comparison: &Comparison, verdict: Verdict) -> Vec<&Compared> {
    comparison.cells.iter().filter(|c| c.verdict == verdict).collect()
}

fn single(comparison: &Comparison) -> Option<String> {
    let count = match (of(comparison, Verdict::NoInterval).len(), comparison.cells.len()) {
        (0, _) => return None,
        (1, 1) => "The result has".to_owned(),
        (n, all) if n == all => format!("All {n} results have"),
        (1, _) => "One result has".to_owned(),
        (n, _) => format!("{n} results have"),
    };
    Some(format!("{count} fewer than 3 runs on a side, and therefore no interval."))
}

fn coarse(comparison: &Comparison) -> Option<String> {
    let cells = of(comparison, Verdict::TooCoarse).len();
    let cells = match cells {
        0 => return None,
        1 => "One result has".to_owned(),
        n => format!("{n} results have"),
    };
    Some(format!(
        "{cells} the same printed value in all runs of a side, and no interval: the program's resolution hides how runs \
         differ."
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
        "The intervals cover only chance from run to run. They do not cover drift of the disk or the machine, the content \
         of a cache, or a different location on the device. {instead} interleaves A and B."
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
        "Over {} cells B {direction} {:.1} % on average, in percent of the larger of the two (differences without \
         sign: mean \
         {:.1} %, largest {:.1} %).",
        percent.cells,
        percent.loss.abs(),
        percent.difference,
        percent.largest
    );
    for (name, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        match side.noise {
            Some(noise) => text.push_str(&format!(
                " {} identical series of {name} differ by {:.1} % on average, at most {:.1} %; they would be said to \
                 lose up \
                 to {:.1} %.",
                noise.series, noise.mean, noise.largest, noise.largest_loss
            )),
            None => text.push_str(&format!(" There are no identical series of {name} to estimate its noise.")),
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
        "The figures shown are each side's {}; verdicts are always based on geometric means and Welch's interval.",
        estimator.name()
    ))
}
