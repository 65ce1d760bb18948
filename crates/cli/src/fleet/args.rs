//! The arguments of `cryptbench fleet`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use cryptbench_fleet::For;

use crate::args::FormArgs;

#[derive(Debug, ClapArgs)]
pub struct FleetArgs {
    #[command(subcommand)]
    pub command: FleetCommand,
}

#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Print what starts a plan on every machine: for Slurm, Kubernetes, Ansible or ssh
    Plan(PlanArgs),
    /// Say what encryption costs on the next machine of each kind, and which machines are unlike the others
    Report(ReportArgs),
    /// Write the rows of all records as a Parquet dataset, which DuckDB, Polars and pandas read
    Collect {
        /// The fleet's directory
        directory: PathBuf,
        /// A new directory for the dataset
        #[arg(long, short, value_name = "DATASET")]
        output: PathBuf,
    },
}

#[derive(Debug, ClapArgs)]
pub struct PlanArgs {
    /// A plan in TOML: nodes, systems, profile, budget, target, fleet, concurrency
    pub plan: PathBuf,
    /// What starts it
    #[arg(long = "for", value_enum, value_name = "WHAT")]
    pub by: ForArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ForArg {
    /// A script that submits one exclusive job for each node
    Slurm,
    /// A manifest of an Indexed Job with one pod a node
    Kubernetes,
    /// A playbook
    Ansible,
    /// A shell script
    Ssh,
}

impl From<ForArg> for For {
    fn from(arg: ForArg) -> Self {
        match arg {
            ForArg::Slurm => Self::Slurm,
            ForArg::Kubernetes => Self::Kubernetes,
            ForArg::Ansible => Self::Ansible,
            ForArg::Ssh => Self::Ssh,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub struct ReportArgs {
    /// The fleet's directory
    pub directory: PathBuf,
    /// The machines that should be there, such as node[01-16]; those that are not are named
    #[arg(long, value_name = "LIST", conflicts_with = "plan")]
    pub nodes: Option<String>,
    /// The plan whose machines should be there
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Print every group, workload and machine that stands out
    #[arg(long, group = "form")]
    pub full: bool,
    #[command(flatten)]
    pub form: FormArgs,
}
