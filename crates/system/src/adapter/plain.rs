//! Plain storage: the baseline, and the baseline again for the noise floor.

use std::collections::BTreeMap;

use cryptbench_cipher::Tier;

use crate::{
    ArmSpec, Attachment, Availability, Contender, Ground, Role, Selection, System, SystemError,
};

/// No encryption.
pub(crate) struct Plain;

impl System for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn about(&self) -> &'static str {
        "no encryption: the baseline of every comparison, measured twice for the noise floor"
    }

    fn availability(&self) -> Availability {
        Availability::Available("always".to_owned())
    }

    fn arms(&self, _selection: &Selection) -> Result<Vec<ArmSpec>, SystemError> {
        let arm = |id: &str, label: &str, role| ArmSpec {
            id: id.to_owned(),
            label: label.to_owned(),
            role,
            system: "plain",
            cipher: None,
            data_unit: None,
            layout: None,
            settings: BTreeMap::new(),
        };
        Ok(vec![
            arm("plain", "plain", Role::Plain),
            arm("plain-again", "plain again", Role::PlainAgain),
        ])
    }

    fn attachment(&self) -> Attachment {
        Attachment::Inline
    }

    fn provision(&self, _arm: &ArmSpec, ground: &mut Ground<'_>) -> Result<Contender, SystemError> {
        Ok(Contender::on_scratch(ground.scratch.clone(), ground.work, true))
    }

    fn kernel_tier(&self, _arm: &ArmSpec, _tier: Tier) -> Option<String> {
        None
    }
}
