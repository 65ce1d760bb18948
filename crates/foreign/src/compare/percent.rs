//! Study C's figure: the difference as a percentage of the larger value, averaged over all cells. Also the figure's
//! noise: the same figure between identical series.

use cryptbench_stats::percent_of_larger;
use serde::Serialize;

use super::{Compared, Verdict};
use crate::cell::{Cell, Measure};

/// The differences of all cells combined, except cells served from a cache.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Percent {
    /// Number of cells included.
    pub cells: usize,
    /// Mean of 100 (a - b) / max(a, b) over the mean speeds: the loss of the second set.
    pub loss: f64,
    /// Mean of the absolute differences.
    pub difference: f64,
    /// Largest absolute difference.
    pub largest: f64,
}

/// The difference between series of the same set: the absolute difference as a percentage of the larger value, averaged
/// over the cells, for all pairs of series.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SeriesNoise {
    /// Number of series: the number of runs per cell.
    pub series: usize,
    /// Number of cells that have this number of runs.
    pub cells: usize,
    /// Mean over the pairs of series.
    pub mean: f64,
    /// The difference between the two most different series.
    pub largest: f64,
    /// As [`Self::mean`], but with signs: the largest loss that this method would report between two identical
    /// series.
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

/// The noise of cells with equal numbers of runs: the k-th runs of all cells form the k-th series.
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
