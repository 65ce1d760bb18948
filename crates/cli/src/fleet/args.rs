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
    /// Print a script or manifest that runs a plan on every machine: Slurm, Kubernetes, Ansible or ssh
    Plan(PlanArgs),
    /// Predict the cost of encryption on the next machine of each kind, and list outliers
    Report(ReportArgs),
    /// Write the rows of all records to a Parquet dataset for DuckDB, Polars or pandas
    Collect {
        /// The fleet's directory
        directory: PathBuf,
        /// New directory for the dataset
        #[arg(long, short, value_name = "DATASET")]
        output: PathBuf,
    },
}

#[derive(Debug, ClapArgs)]
pub struct PlanArgs {
    /// A plan in TOML: nodes, systems, profile, budget, target, fleet, concurrency
    pub plan: PathBuf,
    /// Launcher of the plan
    #[arg(long = "for", value_enum, value_name = "WHAT")]
    pub by: ForArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ForArg {
    /// A script that submits one exclusive job per node
    Slurm,
    /// A manifest of an Indexed Job with one pod per node
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
    /// Expected machines, such as node[01-16]; missing ones are listed
    #[arg(long, value_name = "LIST", conflicts_with = "plan")]
    pub nodes: Option<String>,
    /// Plan that lists the expected machines
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Print every group, every workload and all outliers
    #[arg(long, group = "form")]
    pub full: bool,
    #[command(flatten)]
    pub form: FormArgs,
}
