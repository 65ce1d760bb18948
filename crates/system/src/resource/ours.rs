//! Distinguishes files and directories of a killed run from those of a user.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use cryptbench_os::{Directory, Entry, user};

use super::{AnyResource, Identity};
use crate::provision::runtime_directory;

/// The open directory that contains `path`, the name in it, and its entry. The name is removed through this
/// directory, so replacing a part of the path in the meantime does not redirect the removal.
pub(super) fn held(path: &Path) -> Option<(Directory, OsString, Entry)> {
    let (directory, name) = Directory::of(path).ok()?;
    let found = directory.entry(&name).ok()??;
    Some((directory, name, found))
}

/// Whether `found` is the recorded file. If the file system was remounted, its device number and possibly its inode
/// numbers differ. The owner and the name, which no other run uses, are then decisive.
pub(super) fn is_noted(path: &Path, found: &Entry, noted: Identity) -> bool {
    let now = Identity::from(found.identity);
    noted.is(now)
        || (noted.device != now.device
            && noted.is_born_like(now)
            && is_this_users(found)
            && is_chosen_name(path))
}

pub(super) fn is_this_users(found: &Entry) -> bool {
    found.owner == user::real()
}

/// Whether `path` is in one of our own mounts, which do not reappear after a restart.
pub(super) fn is_in_runtime_directory(path: &Path) -> bool {
    runtime_directory().is_some_and(|ours| path.starts_with(ours))
}

/// Whether a run generated this name, such as `cryptbench-20261121-203000-1a2b3c.scratch`.
fn is_chosen_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let Some(rest) = name.and_then(|name| name.strip_prefix("cryptbench-")) else { return false };
    let Some((id, _)) = rest.split_once('.') else { return false };
    let parts: Vec<_> = id.split('-').collect();
    let digits = |text: &str, count: usize| {
        text.len() == count && text.bytes().all(|b| b.is_ascii_hexdigit())
    };
    matches!(parts[..], [day, time, random] if digits(day, 8) && digits(time, 6) && digits(random, 6))
}

/// Whether the resource may be on a file system that is not mounted at present, such as an encrypted one after
/// a restart; it cannot be recovered yet. A resource in one of our own mounts is gone with that mount, and is
/// recognised by its path.
pub(super) fn is_away(what: &AnyResource, identity: Option<Identity>) -> bool {
    if !matches!(what, AnyResource::ScratchFile(_) | AnyResource::WorkDirectory(_)) {
        return false;
    }
    let path = what.path();
    let there = path.parent().and_then(|parent| Identity::at(parent).ok());
    let other = there.is_none_or(|there| identity.is_some_and(|id| id.device != there.device));
    identity.is_some()
        && other
        && is_chosen_name(path)
        && !is_in_runtime_directory(path)
        && fs::symlink_metadata(path).is_err()
}
