//! The arguments of `cryptbench history`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use cryptbench_history::check::Measure;

use crate::units::percent;

#[derive(Debug, ClapArgs)]
pub struct HistoryArgs {
    /// The database [default: history.sqlite in the user's state directory]
    #[arg(long, value_name = "FILE", global = true)]
    pub database: Option<PathBuf>,
    #[command(subcommand)]
    pub command: HistoryCommand,
}

#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    /// Add records. Each record is added only once, and its file can be deleted afterwards
    Add {
        /// A record.json, the directory of a run or of a study, or `last`
        #[arg(required = true, value_name = "RECORD")]
        records: Vec<PathBuf>,
    },
    /// List the records in order of measurement
    List {
        /// Print a JSON list instead of the table
        #[arg(long)]
        json: bool,
    },
    /// Print the tables of a record again
    Show {
        /// Number of the record in the list
        id: i64,
        /// Print the record itself as JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare a record with earlier ones of the same machine, target, choice and workload (exit code 9 if it shows a
    /// regression)
    Check {
        /// Record to check, whether in the history or not (`last`: your newest run), or its number in the list
        /// [default: the newest in the history]
        record: Option<PathBuf>,
        #[command(flatten)]
        how: CheckArgs,
        /// Print only regressions, for cron (exit code 11 if there are too few earlier records to judge)
        #[arg(long, short, conflicts_with = "json")]
        quiet: bool,
    },
    /// Compare every record with the records before it and list the regressions (exit code 9 if there are any)
    Regressions {
        #[command(flatten)]
        how: CheckArgs,
    },
    /// Remove records from the history
    Remove {
        /// Number of the record in the list
        #[arg(required = true)]
        id: Vec<i64>,
    },
}

#[derive(Debug, ClapArgs)]
pub struct CheckArgs {
    /// Quantity to compare
    #[arg(long, value_enum, default_value_t = MeasureArg::Speed)]
    pub measure: MeasureArg,
    /// False-alarm probability over all cells of a record
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = percent)]
    pub level: f64,
    /// Print JSON instead of the table
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum MeasureArg {
    /// Speed, for every choice
    Speed,
    /// Percentage of plain speed, for every choice except plain
    Kept,
}

impl From<MeasureArg> for Measure {
    fn from(arg: MeasureArg) -> Self {
        match arg {
            MeasureArg::Speed => Self::Speed,
            MeasureArg::Kept => Self::Kept,
        }
    }
}
