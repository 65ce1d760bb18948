//! Systems that cryptbench knows but cannot set up: their properties, the reason, and the alternatives for
//! their users.

use cryptbench_catalog::{self as catalog, Remedy};

use crate::machine::Machine;
use crate::system::{Kind, System};
use crate::{ArmSpec, Availability, Features, Selection, SystemError};

impl System {
    /// A system that cannot be set up; `why` gives the reason and the remedy for a machine.
    pub(crate) const fn unsupported(
        facts: &'static catalog::System,
        why: fn(&Machine) -> (String, Remedy),
    ) -> Self {
        Self { availability, ..Self::new(facts, Kind::Unsupported(why)) }
    }
}

fn availability(system: &System, machine: &Machine) -> Availability {
    let Kind::Unsupported(why) = system.kind else { unreachable!("made as one above") };
    let (reason, remedy) = why(machine);
    Availability::without(reason, remedy)
}

/// The arms of a system that cannot be set up: an error.
pub(crate) fn no_arms(
    system: &System,
    _: &Selection,
    _: &Features,
) -> Result<Vec<ArmSpec>, SystemError> {
    Err(refusal(system))
}

/// The error that explains why a system cannot be set up.
pub(crate) fn refusal(system: &System) -> SystemError {
    let (reason, remedy) = match system.availability() {
        Availability::Unavailable { reason, remedy } => (reason, remedy),
        Availability::Available(_) => because("it offers nothing", "choose another"),
    };
    SystemError::Unavailable { name: system.name.to_owned(), reason, remedy }
}

/// Reason and remedy.
pub(crate) fn because(reason: impl Into<String>, remedy: impl Into<Remedy>) -> (String, Remedy) {
    (reason.into(), remedy.into())
}

#[cfg(test)]
mod tests {
    use crate::{Availability, Selection, find};

    #[test]
    fn each_says_why_and_what_to_do_and_offers_nothing() {
        let names = ["bitlocker", "filevault2", "bcachefs", "opal"];
        for name in names {
            let system = find(name).unwrap();
            let Availability::Unavailable { reason, remedy } = system.availability() else {
                panic!("{name} is available")
            };
            assert!(
                reason.len() > 10 && remedy.to_string().len() > 10,
                "{name}: {reason}; {remedy}"
            );
            let error = system.arms(&Selection::default()).unwrap_err().to_string();
            assert!(error.contains(&reason) && error.contains(name), "{error}");
        }
    }
}
