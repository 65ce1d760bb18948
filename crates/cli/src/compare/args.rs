//! The arguments of `cryptbench compare`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use cryptbench_foreign::Measure;
use cryptbench_foreign::estimator::Estimator;

#[derive(Debug, ClapArgs)]
pub struct CompareArgs {
    /// The baseline: a record.json, the directory of a run, or a file or directory of foreign results
    #[arg(required_unless_present = "joint")]
    pub a: Option<PathBuf>,
    /// What is compared with it, likewise; left out, A is one log of study B's script, plain and then encrypted
    pub b: Option<PathBuf>,
    /// Put records beside each other as one table instead, devices by systems
    #[arg(long, value_name = "RECORD", num_args = 1.., conflicts_with_all = ["a", "b", "also_a", "also_b", "arm",
        "measure", "estimator", "all"])]
    pub joint: Vec<PathBuf>,
    /// More files or directories of foreign results that belong to A (repeatable)
    #[arg(long, value_name = "PATH")]
    pub also_a: Vec<PathBuf>,
    /// More files or directories of foreign results that belong to B (repeatable)
    #[arg(long, value_name = "PATH")]
    pub also_b: Vec<PathBuf>,
    /// Take this choice of a record; given twice, the first is A's and the second B's [default: all choices of two
    /// records, plain of a record beside foreign results]
    #[arg(long, value_name = "NAME")]
    pub arm: Vec<String>,
    /// What is compared [default: the first of the three that a cell has]
    #[arg(long, value_enum)]
    pub measure: Option<MeasureArg>,
    /// Show each side's figure as its users condense runs; verdicts do not depend on it
    #[arg(long, value_enum)]
    pub estimator: Option<EstimatorArg>,
    /// Show every cell, however many
    #[arg(long)]
    pub all: bool,
    /// Print an object with all numbers instead
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
    /// Mean latency: less is better
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
    /// Mean of all runs (of five in study A, of ten in D)
    Mean,
    /// Mean without the smallest and the largest (of ten in study B)
    TrimmedMean,
    /// Mean percent over all cells, of the larger (study C)
    CellwisePercent,
    /// The best run
    Best,
    /// The run in the middle
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
