//! Plain storage: the baseline, measured twice to determine the noise floor.

use cryptbench_catalog as catalog;

use crate::system::{Attachment, Kind, Role, System};

/// No encryption.
pub(crate) static PLAIN: System = System {
    in_all: false,
    arms: |system, _, _| {
        Ok(vec![
            system.arm("plain", "plain", Role::Plain),
            system.arm("plain-again", "plain again", Role::PlainAgain),
        ])
    },
    ..System::new(&catalog::PLAIN, Kind::InPlace(Attachment::Inline))
};
