//! The kinds of systems on Windows: inline systems in this process, and existing storage.

#[path = "../kind/in_place.rs"]
pub(crate) mod in_place;
#[path = "../kind/inline.rs"]
pub(crate) mod inline;
#[path = "../kind/unsupported.rs"]
pub(crate) mod unsupported;

/// Containers with devices, which are not created on Windows.
pub(crate) mod mapped {
    use crate::{ArmContext, ArmSpec, PreparedArm, SystemError};

    pub(crate) enum Mapped {}

    pub(crate) fn footprint(len: u64, _free: u64) -> u64 {
        len
    }

    pub(crate) fn partition(mapped: &Mapped, _: &ArmSpec, _: u64) -> Option<u64> {
        match *mapped {}
    }

    pub(crate) fn filled(mapped: &Mapped, _: u64, _: u64, _: u64) -> u64 {
        match *mapped {}
    }

    pub(crate) fn prepare(
        mapped: &Mapped,
        _: &ArmSpec,
        _: &mut ArmContext<'_>,
    ) -> Result<PreparedArm, SystemError> {
        match *mapped {}
    }
}

/// Containers that this program serves, which is not possible on Windows.
pub(crate) mod served {
    use crate::{ArmContext, ArmSpec, PreparedArm, SystemError};

    pub(crate) enum Served {}

    pub(crate) fn footprint(len: u64) -> u64 {
        len
    }

    pub(crate) fn prepare(
        served: &Served,
        _: &ArmSpec,
        _: &mut ArmContext<'_>,
    ) -> Result<PreparedArm, SystemError> {
        match *served {}
    }
}

/// Directories with a separate plaintext view, which are not set up on Windows.
pub(crate) mod stacked {
    use crate::{ArmContext, ArmSpec, PreparedArm, System, SystemError};

    pub(crate) enum Stacked {}

    impl Stacked {
        pub(crate) fn footprint(&self, _len: u64, _free: u64) -> u64 {
            match *self {}
        }
    }

    pub(crate) fn prepare(
        stacked: &Stacked,
        _: &System,
        _: &ArmSpec,
        _: &mut ArmContext<'_>,
    ) -> Result<PreparedArm, SystemError> {
        match *stacked {}
    }
}
