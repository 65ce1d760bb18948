//! Parameters of kernel modules, which apply system-wide. They are set for the trials of an arm and restored
//! afterwards.
#![expect(
    clippy::disallowed_methods,
    reason = "parameters of modules, in /sys; files of a run, and of /proc and /sys; for now"
)]

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Identity, Recovered, Resource, ResourceStack, removed};
use crate::SystemError;

/// A parameter that trials change, with its previous value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelParameter {
    /// Its file in sysfs.
    pub path: PathBuf,
    /// Its value before the run.
    pub before: String,
}

/// A parameter for the trials of one arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForTrials {
    /// The parameter.
    pub parameter: KernelParameter,
    /// Its value during these trials.
    pub value: String,
}

/// Records that trials of an arm will set the parameter at `path` to `value`; does not set it yet.
pub(crate) fn promise(
    stack: &mut ResourceStack,
    path: PathBuf,
    value: &str,
) -> Result<ForTrials, SystemError> {
    let before = fs::read_to_string(&path).map_err(SystemError::io("read", &path))?;
    let parameter = KernelParameter { path, before: before.trim().to_owned() };
    stack.create(parameter.clone(), || Ok(((), None)))?;
    Ok(ForTrials { parameter, value: value.to_owned() })
}

impl ForTrials {
    /// Whether both are values of the same parameter.
    pub fn is_of(&self, other: &Self) -> bool {
        self.parameter.path == other.parameter.path
    }

    /// Sets the parameter for these trials, unless it already has the value.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn set(&self) -> Result<(), SystemError> {
        self.parameter.set(&self.value)
    }

    /// Restores the parameter's value from before the run, unless it already has that value.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn put_back(&self) -> Result<(), SystemError> {
        self.parameter.set(&self.parameter.before)
    }
}

impl KernelParameter {
    /// Sets the parameter, unless it already has the value.
    ///
    /// # Errors
    /// [`SystemError::Io`].
    pub fn set(&self, value: &str) -> Result<(), SystemError> {
        if fs::read_to_string(&self.path).is_ok_and(|now| now.trim() == value) {
            return Ok(());
        }
        fs::write(&self.path, value).map_err(SystemError::io("set", &self.path))
    }
}

impl Resource for KernelParameter {
    type Live = ();

    fn destroy(&self, (): &mut (), _: Option<Identity>) -> Result<(), SystemError> {
        // The parameter no longer exists if its module was unloaded.
        if self.path.exists() { self.set(&self.before) } else { Ok(()) }
    }

    fn recover(&self, _: Option<Identity>) -> Recovered {
        let now = fs::read_to_string(&self.path).ok()?;
        (now.trim() != self.before).then(|| removed(self.set(&self.before)))?
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Journal, ResourceStack};
    use super::*;

    #[test]
    fn what_trials_changed_is_put_back_by_the_run_or_after_its_death() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("max_read_size");
        fs::write(&path, "131072\n").unwrap();
        let now = || fs::read_to_string(&path).unwrap().trim().to_owned();
        let state = [place.path().join("state")];
        let mut stack = ResourceStack::new(&Journal::create_in(&state, "test").unwrap());
        let promised = promise(&mut stack, path.clone(), "4096").unwrap();
        assert_eq!(now(), "131072", "only trials set it");
        promised.parameter.set(&promised.value).unwrap();
        assert_eq!(now(), "4096");
        stack.destroy().unwrap();
        assert_eq!(now(), "131072");
        assert_eq!(promised.parameter.recover(None), None, "nothing is left to do");
        promised.parameter.set("4096").unwrap();
        assert_eq!(promised.parameter.recover(None), Some(Ok(true)));
        assert_eq!(now(), "131072");
    }
}
