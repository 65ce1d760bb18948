//! Study C's figure: the mean over all cells of the difference in percent of the larger, and its noise, which is the
//! same between identical series.

use serde::Serialize;

use super::{Compared, Verdict};
use crate::cell::{Cell, Measure};
use crate::estimator::percent_of_larger;

/// The differences of all cells together. Cells that a cache answered are left out.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Percent {
    /// Cells that entered.
    pub cells: usize,
    /// Mean of 100 (a - b) / max(a, b) of the mean speeds: what the second set loses.
    pub loss: f64,
    /// Mean of the same without its sign.
    pub difference: f64,
    /// The largest without its sign.
    pub largest: f64,
}

/// How far series of the same set lie apart: over all pairs of series, the mean over the cells of the difference in
/// percent of the larger, without its sign.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SeriesNoise {
    /// Number of series: runs of each cell.
    pub series: usize,
    /// Cells that have that many.
    pub cells: usize,
    /// Mean over the pairs of series.
    pub mean: f64,
    /// The two series that lie farthest apart.
    pub largest: f64,
    /// As `mean`, with signs: what two identical series would have been said to lose, the most of any pair.
    pub largest_loss: f64,
}

pub(super) fn percent(cells: &[Compared]) -> Option<Percent> {
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let counted = cells.iter().filter(|c| c.verdict != Verdict::Cached);
    let differences: Vec<f64> = counted
        .filter(|c| c.measure != Measure::Latency)
        .map(|c| percent_of_larger(mean(&c.a.values), mean(&c.b.values)))
        .collect();
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    (differences.len() > 1).then(|| Percent {
        cells: differences.len(),
        loss: mean(&differences),
        difference: mean(&sizes),
        largest: sizes.iter().copied().fold(0.0, f64::max),
    })
}

/// Of cells that all have the same number of runs: the k-th runs of all of them are the k-th series.
pub(super) fn noise(cells: &[&Cell]) -> Option<SeriesNoise> {
    let speed = |cell: &Cell, run: usize| -> Option<f64> {
        let run = cell.runs.get(run)?;
        run.bandwidth.or(run.iops)
    };
    let series = cells.first()?.runs.len();
    if series < 2 || cells.len() < 2 || cells.iter().any(|c| c.runs.len() != series) {
        return None;
    }
    let (mut sizes, mut largest_loss) = (Vec::new(), 0.0_f64);
    for one in 0..series {
        for other in one + 1..series {
            let differences: Vec<f64> = cells
                .iter()
                .map(|c| Some(percent_of_larger(speed(c, one)?, speed(c, other)?)))
                .collect::<Option<_>>()?;
            let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
            largest_loss = largest_loss.max(mean(&differences).abs());
            sizes.push(mean(&differences.iter().map(|d| d.abs()).collect::<Vec<_>>()));
        }
    }
    Some(SeriesNoise {
        series,
        cells: cells.len(),
        mean: sizes.iter().sum::<f64>() / sizes.len() as f64,
        largest: sizes.iter().copied().fold(0.0, f64::max),
        largest_loss,
    })
}
