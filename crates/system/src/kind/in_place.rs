//! What is measured as it is found: plain storage, and a target that its user has encrypted.

use crate::system::Target;
use crate::{ArmContext, ArmSpec, PreparedArm};

/// `context` is that of the arm's own target: its scratch file, its directory for new files.
pub(crate) fn prepare(arm: &ArmSpec, context: &ArmContext<'_>) -> PreparedArm {
    let on = |files| PreparedArm::on_scratch(context.scratch.clone(), context.work, files);
    match arm.target {
        Target::Plain => on(true),
        // On a device there are no files: those of `work` lie elsewhere.
        Target::Encrypted => on(context.directory.is_dir()).of_unknown_storage(),
    }
}
