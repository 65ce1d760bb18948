//! Systems in the process that issues the requests: the scratch file of plain storage behind a transform.

use cryptbench_blockdev::Surface;

use crate::system::Transform;
use crate::{ArmContext, ArmSpec, PreparedArm, SystemError};

pub(crate) fn prepare(
    transform: Transform,
    arm: &ArmSpec,
    context: &ArmContext<'_>,
) -> Result<PreparedArm, SystemError> {
    let transform = transform(arm, context.tier)?;
    let surface = Surface { transform: Some(transform), ..context.scratch.clone() };
    Ok(PreparedArm::on_scratch(surface, context.work, false))
}
