//! `cryptbench doctor`: what this machine can measure, what may disturb measurements, and what to install.

mod diagnosis;
mod distribution;
#[cfg(target_os = "linux")]
mod linux;
mod packages;
mod processor;
#[cfg(target_os = "linux")]
mod rights;
mod storage;
mod systems;
mod text;
#[cfg(windows)]
mod windows;

use std::path::Path;
use std::process::ExitCode;

use cryptbench_runner::look_with;
use cryptbench_system::Abilities;

use crate::args::DoctorArgs;
use crate::say::{print, print_json, terminal_style};
use diagnosis::{Diagnosis, Section, Topic};
use distribution::Distribution;
#[cfg(target_os = "linux")]
use linux::disturbances;
#[cfg(windows)]
use windows::{disturbances, rights};

/// Version of the format that `--json` prints.
const SCHEMA: &str = "cryptbench.doctor/1";

pub fn doctor(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let diagnosis = diagnose(&args.directory);
    match args.json {
        true => print_json(&diagnosis)?,
        false => print(&text::render(&diagnosis, terminal_style(false).width)),
    }
    Ok(ExitCode::from(diagnosis.code))
}

/// Examines everything. The only file that this creates is removed before the function returns.
fn diagnose(directory: &Path) -> Diagnosis {
    let distribution = Distribution::this();
    // Load is measured first, before this program's own work affects the figures.
    let disturbances = disturbances::look(directory);
    let machine = cryptbench_runner::machine(0.0);
    let request = storage::request(directory);
    let facts = look_with(&request, Abilities::look());
    let storage = storage::look(directory, &request, &facts);
    let systems = systems::look(&facts.abilities, distribution.manager);
    let install = packages::install(&systems.packages, &distribution);
    Diagnosis {
        schema: SCHEMA,
        program_version: env!("CARGO_PKG_VERSION"),
        distribution: distribution.name.clone(),
        kernel: machine.kernel.clone(),
        directory: storage.directory,
        can_run: storage.refusal.is_none(),
        why_not: storage.refusal,
        code: storage.code,
        sections: vec![
            Section::new(Topic::Processor, processor::look(&machine)),
            Section::new(Topic::Storage, storage.findings),
            Section::new(Topic::Rights, rights::look(distribution.manager)),
            Section::new(Topic::Systems, systems.findings),
            Section::new(Topic::Disturbances, disturbances),
        ],
        install,
    }
}
