//! The transport of requests for a volume to the process that serves it: a setting, and the values that this
//! machine supports.

use cryptbench_catalog::Remedy;

use crate::settings::Choice;
use crate::{ArmSpec, Features, Setting, SystemError};

/// The setting that chooses the transport.
pub(crate) const TRANSPORT: Setting = Setting {
    name: "transport",
    about: "how requests reach the server process: through a ublk device, or through FUSE (over io_uring or \
            /dev/fuse) and a loop device; auto uses the first that the kernel supports, as volume mount does",
    values: &[AUTO, UBLK, URING, DEVICE],
};

const AUTO: &str = "auto";
const UBLK: &str = "ublk";
const URING: &str = "io-uring";
const DEVICE: &str = "fuse";

/// The transport of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// The first of the other transports that this machine supports.
    Auto,
    /// A ublk device.
    Ublk,
    /// FUSE over io_uring, and a loop device.
    Uring,
    /// Threads that read `/dev/fuse`, and a loop device.
    Device,
}

impl Transport {
    /// The value in an arm's settings.
    pub(crate) fn of(arm: &ArmSpec) -> Self {
        match arm.settings.get(TRANSPORT.name).map(String::as_str) {
            Some(UBLK) => Self::Ublk,
            Some(URING) => Self::Uring,
            Some(DEVICE) => Self::Device,
            _ => Self::Auto,
        }
    }

    /// The transport's name among the values of the setting.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => AUTO,
            Self::Ublk => UBLK,
            Self::Uring => URING,
            Self::Device => DEVICE,
        }
    }

    /// The end of the label of an arm for which this transport was requested.
    pub(crate) fn in_label(self) -> &'static str {
        match self {
            Self::Auto => "",
            Self::Ublk => ", ublk",
            Self::Uring => ", FUSE over io_uring",
            Self::Device => ", /dev/fuse",
        }
    }

    /// `arm` with this transport in its settings; `None` if they already contain it.
    pub(crate) fn turned_out(self, arm: &ArmSpec) -> Option<ArmSpec> {
        let is_said = arm.is_set(TRANSPORT.name, self.name());
        (!is_said).then(|| {
            let mut arm = arm.clone();
            arm.settings.insert(TRANSPORT.name, self.name().to_owned());
            arm
        })
    }
}

/// Refuses a chosen transport that this machine does not support.
pub(crate) fn check(name: &str, values: &Choice, features: &Features) -> Result<(), SystemError> {
    let lacks: &Option<(String, Remedy)> = match values.get(TRANSPORT.name) {
        Some(&UBLK) => &features.lacks_ublk,
        Some(&URING) => &features.lacks_fuse_uring,
        _ => &None,
    };
    let Some((reason, remedy)) = lacks.clone() else { return Ok(()) };
    let way = values.get(TRANSPORT.name).copied().unwrap_or(AUTO);
    Err(SystemError::Unavailable { name: format!("{name} with transport={way}"), reason, remedy })
}
