//! Targets that are measured as they are: plain storage, and a target that its user encrypted.

use crate::system::Target;
use crate::{ArmContext, ArmSpec, PreparedArm};

/// Prepares an arm; `context` is that of the arm's own target, with its scratch file and its directory for new
/// files.
pub(crate) fn prepare(arm: &ArmSpec, context: &ArmContext<'_>) -> PreparedArm {
    let on = |files| PreparedArm::on_scratch(context.scratch.clone(), context.work, files);
    match arm.target {
        Target::Plain => on(true),
        // A device contains no files: the files of `work` are elsewhere.
        Target::Encrypted(_) => on(context.directory.is_dir()).of_unknown_storage(),
    }
}
