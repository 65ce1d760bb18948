//! Systems that this program knows and cannot set up by itself: what they are, why not here, and what their
//! users can do.

use cryptbench_cipher::Tier;

use crate::machine::Machine;
use crate::{ArmSpec, Attachment, Availability, Contender, Ground, Selection, System, SystemError};

/// One such system.
pub(crate) struct Known {
    /// Name in the registry and on the command line.
    pub(crate) name: &'static str,
    /// What it is, in one line.
    pub(crate) about: &'static str,
    /// The exact reason on a machine, and what would mend it.
    pub(crate) lacks: fn(&Machine) -> (String, String),
}

impl Known {
    fn refusal(&self) -> SystemError {
        let (reason, remedy) = (self.lacks)(&Machine::this());
        SystemError::Unavailable { name: self.name.to_owned(), reason, remedy }
    }
}

impl System for Known {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn availability(&self) -> Availability {
        let (reason, remedy) = (self.lacks)(&Machine::this());
        Availability::without(reason, remedy)
    }

    fn arms(&self, _selection: &Selection) -> Result<Vec<ArmSpec>, SystemError> {
        Err(self.refusal())
    }

    fn attachment(&self) -> Attachment {
        Attachment::Mounted
    }

    fn provision(
        &self,
        _arm: &ArmSpec,
        _ground: &mut Ground<'_>,
    ) -> Result<Contender, SystemError> {
        Err(self.refusal())
    }

    fn kernel_tier(&self, _arm: &ArmSpec, _tier: Tier) -> Option<String> {
        None
    }
}

/// Reason and remedy, owned.
pub(crate) fn because(reason: impl Into<String>, remedy: impl Into<String>) -> (String, String) {
    (reason.into(), remedy.into())
}

#[cfg(test)]
mod tests {
    use crate::{Availability, Selection, find};

    #[test]
    fn each_says_why_and_what_to_do_and_offers_nothing() {
        let names = ["bitlocker", "filevault2", "zfs", "bcachefs", "opal"];
        for name in names {
            let system = find(name).unwrap();
            let Availability::Unavailable { reason, remedy } = system.availability() else {
                panic!("{name} is available")
            };
            assert!(reason.len() > 10 && remedy.len() > 10, "{name}: {reason}; {remedy}");
            let error = system.arms(&Selection::default()).unwrap_err().to_string();
            assert!(error.contains(&reason) && error.contains(name), "{error}");
        }
    }
}
