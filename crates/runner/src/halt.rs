//! Reasons to stop a stage of a run early.

use cryptbench_load::LoadError;
use cryptbench_system::SystemError;
use cryptbench_volume::VolumeError;

use crate::RunError;

/// Why a stage ended early.
#[derive(Debug)]
pub enum Halt {
    /// The run was asked to stop.
    Interrupted,
    /// Something failed.
    Failed(RunError),
}

impl From<RunError> for Halt {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Load(LoadError::Interrupted)
            | RunError::System(SystemError::Stopped)
            | RunError::Volume(VolumeError::Stopped) => Self::Interrupted,
            other => Self::Failed(other),
        }
    }
}

impl From<LoadError> for Halt {
    fn from(error: LoadError) -> Self {
        RunError::from(error).into()
    }
}

impl From<SystemError> for Halt {
    fn from(error: SystemError) -> Self {
        RunError::from(error).into()
    }
}
