//! Whatever its user prepared: a place with encryption beside one without, each measured as it is found.
//!
//! BestCrypt, FreeOTFE, a drive that encrypts by itself, a phone's storage over a cable: nothing needs to be
//! known of it but a path.

use std::collections::BTreeMap;

use crate::system::{Attachment, Kind, Role, System, Target};
use crate::{ArmSpec, Availability};

/// The encrypted one of two places that were named.
pub(crate) static PAIRED: System = System {
    availability: |_, _| {
        Availability::without(
            "it is whatever you have prepared yourself, and is chosen by naming it",
            "cryptbench run --pair PLAIN ENCRYPTED, two directories or two devices",
        )
    },
    ..System::new(
        "paired",
        "anything else: a place that you have encrypted in any way, beside one that is plain",
        Kind::InPlace(Attachment::Mounted),
    )
};

/// The arm for the place at `path`, which tables call `name`.
#[must_use]
pub fn paired_arm(name: &str, path: &str) -> ArmSpec {
    ArmSpec {
        target: Target::Encrypted,
        settings: BTreeMap::from([("path", path.to_owned())]),
        ..PAIRED.arm(PAIRED.name, name, Role::Encrypted)
    }
}
