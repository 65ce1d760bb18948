//! The kinds of systems on Windows: in this process, and existing storage.

#[path = "../kind/in_place.rs"]
pub(crate) mod in_place;
#[path = "../kind/inline.rs"]
pub(crate) mod inline;
#[path = "../kind/unsupported.rs"]
pub(crate) mod unsupported;

/// Containers with devices: not created here.
pub(crate) mod mapped {
    use crate::{ArmContext, ArmSpec, PreparedArm, SystemError};

    pub(crate) enum Mapped {}

    pub(crate) fn footprint(len: u64, _free: u64) -> u64 {
        len
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

/// Containers that this program serves: it serves none here.
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

/// Directories whose plaintext others show: none are set up here.
pub(crate) mod stacked {
    use crate::{ArmContext, ArmSpec, PreparedArm, System, SystemError};

    pub(crate) enum Stacked {}

    impl Stacked {
        pub(crate) fn is_contained(&self) -> bool {
            match *self {}
        }
    }

    pub(crate) fn footprint(len: u64) -> u64 {
        len
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
