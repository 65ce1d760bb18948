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
    /// Add records; the same one is added once, and its file may go afterwards
    Add {
        /// A record.json, the directory of a run or of a study, or `last`
        #[arg(required = true, value_name = "RECORD")]
        records: Vec<PathBuf>,
    },
    /// List the records in the order in which they were measured
    List {
        /// Print a list of objects instead of the table
        #[arg(long)]
        json: bool,
    },
    /// Print the table of a record again
    Show {
        /// Its number in the list
        id: i64,
        /// Print the record itself
        #[arg(long)]
        json: bool,
    },
    /// Judge a record by the earlier ones of the same machine, target, choice and workload; exit code 9 for a
    /// regression
    Check {
        /// A record that need not be in the history (`last`: the newest run), or the number of one that is [default: the
        /// newest in the history]
        record: Option<PathBuf>,
        #[command(flatten)]
        how: CheckArgs,
        /// Print nothing but a regression, for cron; exit code 11 if there are too few earlier records to judge it
        #[arg(long, short, conflicts_with = "json")]
        quiet: bool,
    },
    /// Judge every record by those before it, and list the regressions; exit code 9 if there is one
    Regressions {
        #[command(flatten)]
        how: CheckArgs,
    },
    /// Take a record out
    Remove {
        /// Its number in the list
        #[arg(required = true)]
        id: Vec<i64>,
    },
}

#[derive(Debug, ClapArgs)]
pub struct CheckArgs {
    /// What is judged
    #[arg(long, value_enum, default_value_t = MeasureArg::Speed)]
    pub measure: MeasureArg,
    /// Chance of a false alarm over all cells of a record
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = percent)]
    pub level: f64,
    /// Print an object instead of the table
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum MeasureArg {
    /// Speed of every choice
    Speed,
    /// Share of plain speed of every choice except plain
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
