//! Systems in the process that issues the requests: the scratch file of plain storage behind a transform.

use std::sync::Arc;

use cryptbench_blockdev::{SectorTransform, Surface};
use cryptbench_cipher::Tier;

use crate::{ArmContext, ArmSpec, PreparedArm, SystemError};

pub(crate) fn prepare(
    transform: fn(&ArmSpec, Tier) -> Result<Arc<dyn SectorTransform>, SystemError>,
    arm: &ArmSpec,
    context: &ArmContext<'_>,
) -> Result<PreparedArm, SystemError> {
    let transform = transform(arm, context.tier)?;
    let surface = Surface { transform: Some(transform), ..context.scratch.clone() };
    Ok(PreparedArm::on_scratch(surface, context.work, false))
}
