//! Systems within the submitting process: a transform over the scratch file of plain storage.

use cryptbench_blockdev::IoTarget;

use crate::system::Transform;
use crate::{ArmContext, ArmSpec, PreparedArm, SystemError};

pub(crate) fn prepare(
    transform: Transform,
    arm: &ArmSpec,
    context: &ArmContext<'_>,
) -> Result<PreparedArm, SystemError> {
    let transform = transform(arm, context.tier)?;
    let io_target = IoTarget { transform: Some(transform), ..context.scratch.clone() };
    Ok(PreparedArm::on_scratch(io_target, context.work, false))
}
