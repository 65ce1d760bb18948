//! Whatever its user prepared: a place with encryption beside one without, each measured as it is found.
//!
//! BestCrypt, FreeOTFE, a drive that encrypts by itself, a phone's storage over a cable: nothing needs to be
//! known of it but a path.

use std::collections::BTreeMap;

use cryptbench_cipher::Tier;

use crate::{
    ArmSpec, Attachment, Availability, Contender, Ground, Role, Selection, System, SystemError,
};

/// The encrypted one of two places that were named.
pub(crate) struct Paired;

const NAME: &str = "paired";

/// The arm for the place at `path`, which tables call `name`.
#[must_use]
pub fn paired_arm(name: &str, path: &str) -> ArmSpec {
    ArmSpec {
        id: NAME.to_owned(),
        label: name.to_owned(),
        role: Role::Encrypted,
        system: NAME,
        cipher: None,
        data_unit: None,
        layout: None,
        settings: BTreeMap::from([("path", path.to_owned())]),
    }
}

fn why() -> (&'static str, &'static str) {
    (
        "it is whatever you have prepared yourself, and is chosen by naming it",
        "cryptbench run --pair PLAIN ENCRYPTED, two directories or two devices",
    )
}

impl System for Paired {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "anything else: a place that you have encrypted in any way, beside one that is plain"
    }

    fn availability(&self) -> Availability {
        let (reason, remedy) = why();
        Availability::without(reason, remedy)
    }

    fn arms(&self, _selection: &Selection) -> Result<Vec<ArmSpec>, SystemError> {
        let (reason, remedy) = why();
        Err(SystemError::Unavailable {
            name: NAME.to_owned(),
            reason: reason.to_owned(),
            remedy: remedy.to_owned(),
        })
    }

    fn attachment(&self) -> Attachment {
        Attachment::Mounted
    }

    /// `ground` is that of the encrypted place: its own scratch file, its own directory for new files.
    fn provision(&self, _arm: &ArmSpec, ground: &mut Ground<'_>) -> Result<Contender, SystemError> {
        // On a device there are no files: those of `work` lie elsewhere.
        let files = ground.directory.is_dir();
        let found = Contender::on_scratch(ground.scratch.clone(), ground.work, files);
        Ok(found.of_unknown_storage())
    }

    fn kernel_tier(&self, _arm: &ArmSpec, _tier: Tier) -> Option<String> {
        None
    }
}
