//! Each system of the registry: available, or why not and what to do.

use cryptbench_system::Availability;

use super::diagnosis::Finding;
use super::distribution::Family;
use super::packages::{asked_for, localised};

pub struct Systems {
    pub findings: Vec<Finding>,
    /// Debian's names of the packages that would make more of them available.
    pub packages: Vec<&'static str>,
}

pub fn look(family: Option<Family>) -> Systems {
    let mut packages = Vec::new();
    let findings = cryptbench_system::systems()
        .iter()
        .map(|system| match system.availability() {
            Availability::Available(version) => Finding::ok(system.name(), version),
            Availability::Unavailable { reason, remedy } => {
                for package in asked_for(&remedy) {
                    if !packages.contains(&package) {
                        packages.push(package);
                    }
                }
                Finding::lacking(system.name(), reason).remedy(localised(&remedy, family))
            }
        })
        .collect();
    Systems { findings, packages }
}
