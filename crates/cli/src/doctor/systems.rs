//! Each system of the registry: whether it is available and, if not, why and what to do.

use cryptbench_catalog::{Manager, Package};
use cryptbench_system::{Abilities, Availability};

use super::diagnosis::{Finding, Lack};

pub struct Systems {
    pub findings: Vec<Finding>,
    /// The packages that would make more of the systems available.
    pub packages: Vec<&'static Package>,
}

pub fn look(abilities: &Abilities, manager: Option<Manager>) -> Systems {
    let mut packages = Vec::new();
    let findings = cryptbench_system::systems()
        .iter()
        .map(|system| match abilities.of_system(system) {
            Availability::Available(version) => Finding::ok(system.name(), version),
            Availability::Unavailable { reason, remedy } => {
                for package in remedy.packages() {
                    if !packages.contains(&package) {
                        packages.push(package);
                    }
                }
                Finding::without(system.name(), reason.clone(), Lack { reason, remedy, manager })
            }
        })
        .collect();
    Systems { findings, packages }
}
