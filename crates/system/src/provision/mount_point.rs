//! Names for private directories in which something is mounted.

use std::io;
use std::path::PathBuf;

use super::state::runtime_directory;
use crate::SystemError;
use crate::machine::Machine;

/// A path below the private directory for mounts that nobody has used: 48 random bits.
///
/// # Errors
/// [`SystemError::Target`] if no private directory can be made.
pub(crate) fn unused() -> Result<PathBuf, SystemError> {
    let Some(parent) = Machine::this().mount_points.or_else(runtime_directory) else {
        return Err(SystemError::Target {
            path: PathBuf::from("/run"),
            problem: "no private directory can be made for a mount; name one".to_owned(),
        });
    };
    let mut number = [0; 6];
    getrandom::fill(&mut number).map_err(|e| {
        SystemError::io("name a directory in", &parent)(io::Error::other(e.to_string()))
    })?;
    let name: String = number.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(parent.join(name))
}
