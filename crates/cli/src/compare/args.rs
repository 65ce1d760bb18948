//! The arguments of `cryptbench compare`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use cryptbench_foreign::Measure;
use cryptbench_foreign::estimator::Estimator;

#[derive(Debug, ClapArgs)]
pub struct CompareArgs {
    /// Baseline: a record.json, the directory of a run, or a file or directory of results from other tools
    #[arg(required_unless_present = "joint")]
    pub a: Option<PathBuf>,
    /// Result to compare with A, in any of the same forms. If omitted, A must be a log of study B's script, which
    /// contains the plain and then the encrypted results
    pub b: Option<PathBuf>,
    /// Print several records side by side instead, with one column per device and one row per choice
    #[arg(long, value_name = "RECORD", num_args = 1.., conflicts_with_all = ["a", "b", "also_a", "also_b", "arm",
        "measure", "estimator", "all"])]
    pub joint: Vec<PathBuf>,
    /// Additional result files or directories for A, from other tools (repeatable)
    #[arg(long, value_name = "PATH")]
    pub also_a: Vec<PathBuf>,
    /// Additional result files or directories for B, from other tools (repeatable)
    #[arg(long, value_name = "PATH")]
    pub also_b: Vec<PathBuf>,
    /// Use this choice of a record; if given twice, the first is for A and the second for B [default: all choices if A
    /// and B are records, plain if only one is]
    #[arg(long, value_name = "NAME")]
    pub arm: Vec<String>,
    /// Quantity to compare [default: the first of these that a cell contains]
    #[arg(long, value_enum)]
    pub measure: Option<MeasureArg>,
    /// Statistic that summarises several runs in the figures shown, to match other tools; does not affect verdicts
    #[arg(long, value_enum)]
    pub estimator: Option<EstimatorArg>,
    /// Show all cells, without a limit
    #[arg(long)]
    pub all: bool,
    /// Print JSON with all numbers instead
    #[arg(long, group = "form")]
    pub json: bool,
    /// Print comma-separated values instead, one line per cell
    #[arg(long, group = "form")]
    pub csv: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum MeasureArg {
    /// Bytes per second
    Bandwidth,
    /// Requests per second
    Iops,
    /// Mean latency: lower is better
    Latency,
}

impl From<MeasureArg> for Measure {
    fn from(arg: MeasureArg) -> Self {
        match arg {
            MeasureArg::Bandwidth => Self::Bandwidth,
            MeasureArg::Iops => Self::Iops,
            MeasureArg::Latency => Self::Latency,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum EstimatorArg {
    /// Mean of all runs (study A: five runs, study D: ten)
    Mean,
    /// Mean without the smallest and the largest value (study B: of ten runs)
    TrimmedMean,
    /// Mean over all cells of the difference in percent of the larger value (study C)
    CellwisePercent,
    /// The best run
    Best,
    /// The median run
    Median,
}

impl From<EstimatorArg> for Estimator {
    fn from(arg: EstimatorArg) -> Self {
        match arg {
            EstimatorArg::Mean => Self::Mean,
            EstimatorArg::TrimmedMean => Self::TrimmedMean,
            EstimatorArg::CellwisePercent => Self::CellwisePercent,
            EstimatorArg::Best => Self::Best,
            EstimatorArg::Median => Self::Median,
        }
    }
}
