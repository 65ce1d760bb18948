//! Targets measured unchanged: plain storage, and a target encrypted by its user.

use crate::system::Target;
use crate::{ArmContext, ArmSpec, PreparedArm};

/// `context` is the context of the arm's own target, with its scratch file and its directory for new files.
pub(crate) fn prepare(arm: &ArmSpec, context: &ArmContext<'_>) -> PreparedArm {
    let on = |files| PreparedArm::on_scratch(context.scratch.clone(), context.work, files);
    match arm.target {
        Target::Plain => on(true),
        // A device has no files: the files of `work` are elsewhere.
        Target::Encrypted(_) => on(context.directory.is_dir()).of_unknown_storage(),
    }
}
