//! Named methods by which users of these programs condense runs, for reproducing published figures. None of these
//! methods affects a verdict.

use cryptbench_stats::{quantile, trimmed_mean};
use serde::Serialize;

use crate::cell::{Format, Measure};

/// A way of condensing the runs of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// The mean: study A over five runs, study D over ten runs.
    Mean,
    /// The mean of the times without the smallest and the largest time: study B over ten runs.
    TrimmedMean,
    /// The mean for each cell; over all cells, the mean difference as a percentage of the larger value (study C).
    CellwisePercent,
    /// The best run.
    Best,
    /// The median run.
    Median,
}

impl Estimator {
    /// Name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean | Self::CellwisePercent => "mean",
            Self::TrimmedMean => "mean without the smallest and the largest",
            Self::Best => "best run",
            Self::Median => "median",
        }
    }

    /// The condensed figure of these runs. dd reports times, so the mean of its speeds is the number of bytes divided
    /// by the mean time. `None` if there are no values left.
    pub fn of(self, values: &[f64], measure: Measure, format: Format) -> Option<f64> {
        if values.is_empty() {
            return None;
        }
        let by_time = format == Format::Dd && measure != Measure::Latency;
        let turned: Vec<f64> = match by_time {
            true => values.iter().map(|v| 1.0 / v).collect(),
            false => values.to_vec(),
        };
        let figure = match self {
            Self::Mean | Self::CellwisePercent => trimmed_mean(&turned, 0),
            Self::TrimmedMean => trimmed_mean(&turned, 1),
            Self::Median => quantile(&turned, 0.5),
            Self::Best if by_time || measure == Measure::Latency => {
                turned.iter().copied().min_by(f64::total_cmp)
            }
            Self::Best => turned.iter().copied().max_by(f64::total_cmp),
        }?;
        Some(if by_time { 1.0 / figure } else { figure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_ten_runs() {
        let runs = [100.0, 10.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0];
        let of = |e: Estimator, format| e.of(&runs, Measure::Bandwidth, format).unwrap();
        assert!((of(Estimator::Mean, Format::Fio) - 27.0).abs() < 1e-9);
        assert!((of(Estimator::TrimmedMean, Format::Fio) - 20.0).abs() < 1e-9);
        assert!((of(Estimator::Best, Format::Fio) - 100.0).abs() < 1e-9);
        // dd: mean time of 0.01, 0.1 and eight of 0.05 is 0.051.
        assert!((of(Estimator::Mean, Format::Dd) - 1.0 / 0.051).abs() < 1e-9);
        assert!((of(Estimator::TrimmedMean, Format::Dd) - 20.0).abs() < 1e-9);
        assert_eq!(Estimator::TrimmedMean.of(&[1.0, 2.0], Measure::Bandwidth, Format::Fio), None);
        assert_eq!(Estimator::Best.of(&[3.0, 2.0], Measure::Latency, Format::Fio), Some(2.0));
    }
}
