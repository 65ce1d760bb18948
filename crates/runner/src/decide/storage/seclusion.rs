//! Whether a run may create its files in a directory, given who could replace them.

use cryptbench_text::shown;

use super::Target;
use crate::RunError;

/// What protects the files of a run from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    /// Nobody else has access, or nothing is created there that is opened by its path.
    None,
    /// The run creates a private directory, or continues without one if the directory cannot be created and only the
    /// user who ran sudo has access.
    Private,
}

/// The protection that a run needs on `target`. `names` states whether it creates anything that is opened again by
/// path, such as a container.
///
/// # Errors
/// [`RunError::Target`] if no file can be created, or others could replace a file.
pub(crate) fn protection(
    target: &Target,
    names: bool,
    is_root: bool,
) -> Result<Protection, RunError> {
    if !target.is_directory() {
        return Ok(Protection::None);
    }
    let others = &target.ground.others;
    if let Some(why) = &others.no_file {
        return Err(refused(target, format!("no file can be created here: {why}")));
    }
    match &others.rename_in {
        None => Ok(Protection::None),
        Some(_) if is_root && others.no_permissions && others.only_asker => Ok(Protection::None),
        Some(_) if names && is_root && others.no_permissions => Err(replaced(
            target,
            "its file system does not store permissions: mount it with -o uid=0,umask=077",
        )),
        Some(_) if is_root => Ok(Protection::Private),
        Some(_) if names => Err(replaced(target, "only root can create a private directory there")),
        Some(_) => Ok(Protection::None),
    }
}

/// The error that others could replace the files of a run; `why` is the reason why this cannot be prevented.
pub(crate) fn replaced(target: &Target, why: &str) -> RunError {
    let way = target.ground.others.rename_in.as_deref().unwrap_or(&target.path);
    refused(
        target,
        format!(
            "other users can rename files in {}, so they could substitute their own files for this run's \
             ({why}); choose a directory in which only you can rename files",
            shown(way)
        ),
    )
}

fn refused(target: &Target, problem: String) -> RunError {
    RunError::Target { path: target.path.clone(), problem }
}
