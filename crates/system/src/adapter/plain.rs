//! Plain storage: the baseline, measured twice to determine the noise floor.

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
    ..System::new(
        "plain",
        "no encryption: the baseline of every comparison, measured twice, which shows the noise",
        Kind::InPlace(Attachment::Inline),
    )
};
