//! Users: Windows has no user IDs, so all users and owners have the same number.

use std::process::Command;

use super::call;
use crate::user::Asker;

pub(crate) fn asker() -> Option<Asker> {
    None
}

pub(crate) fn run_as<'a>(command: &'a mut Command, _asker: &Asker) -> &'a mut Command {
    command
}

pub(crate) fn effective() -> u32 {
    0
}

pub(crate) fn effective_group() -> u32 {
    0
}

pub(crate) fn real() -> u32 {
    0
}

/// Whether this process has an administrator's privileges.
pub(crate) fn is_root() -> bool {
    call::is_elevated()
}
