//! Plain storage: the baseline, and the baseline again for the noise floor.

use cryptbench_blockdev::Surface;
use cryptbench_cipher::Tier;

use crate::{ArmSpec, Availability, Role, Selection, System, SystemError};

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
        };
        Ok(vec![
            arm("plain", "plain", Role::Plain),
            arm("plain-again", "plain again", Role::PlainAgain),
        ])
    }

    fn surface(
        &self,
        _arm: &ArmSpec,
        plain: &Surface,
        _tier: Tier,
    ) -> Result<Surface, SystemError> {
        Ok(plain.clone())
    }

    fn kernel_tier(&self, _arm: &ArmSpec, _tier: Tier) -> Option<String> {
        None
    }
}
