//! The user of this process, and the user who started the process through sudo.

use std::path::PathBuf;
use std::process::Command;

/// ID of the effective user, whose privileges this process has. 0 on systems without user IDs, where the owners of
/// files are 0 as well.
pub fn effective() -> u32 {
    crate::system::user::effective()
}

/// ID of the user who started this process. 0 as for [`effective`].
pub fn real() -> u32 {
    crate::system::user::real()
}

/// ID of the effective group. 0 as for [`effective`].
pub fn effective_group() -> u32 {
    crate::system::user::effective_group()
}

/// Whether this process has all privileges. False if the system does not report this.
pub fn is_root() -> bool {
    crate::system::user::is_root()
}

/// The user who had this program started as root, by sudo(8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Number of the user.
    pub user: u32,
    /// Number of the user's group.
    pub group: u32,
    /// The user's home directory, if the system reports it.
    pub home: Option<PathBuf>,
}

/// The user who gained root privileges, if this process has root privileges and was started by another user.
pub fn asker() -> Option<Asker> {
    crate::system::user::asker()
}

/// Makes `command` run only with the privileges of `asker`. The command's environment contains only the home directory,
/// because the user can inspect that process.
pub fn run_as<'a>(command: &'a mut Command, asker: &Asker) -> &'a mut Command {
    command.env_clear();
    if let Some(home) = &asker.home {
        command.env("HOME", home);
    }
    crate::system::user::run_as(command, asker)
}
