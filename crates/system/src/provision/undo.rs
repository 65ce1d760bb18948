//! Undoing one act of a process that was killed, if what is there is still what it made.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use cryptbench_export::fuse::{FILE_SYSTEM, remove_stale_mount};
use cryptbench_os::FileType;
use cryptbench_os::{Directory, Entry};
use cryptbench_text::chain;

use super::dm;
use super::filesystem::unmount_dead;
use super::ledger::{Act, Cleaned, Identity};
use super::loopdev;
use super::mountinfo::mount_at;
use super::orphans::{await_detached, await_programs};
use super::state::runtime_directory;
use super::{keys, process, program_mount, veracrypt};

/// Whether what an act made may be on a file system that is not mounted now, as an encrypted one is not after a
/// restart: it cannot be undone yet. What lies in a mount of our own has gone with it, and has another name.
pub(super) fn is_away(act: &Act, identity: Option<Identity>) -> bool {
    let (Act::ScratchFile { path } | Act::WorkDirectory { path }) = act else { return false };
    let there = path.parent().and_then(|parent| Identity::at(parent).ok());
    let other = there.is_none_or(|there| identity.is_some_and(|id| id.device != there.device));
    identity.is_some()
        && other
        && is_chosen_name(path)
        && !is_in_runtime_directory(path)
        && fs::symlink_metadata(path).is_err()
}

/// Whether it lies among mounts of our own, which do not come back.
fn is_in_runtime_directory(path: &Path) -> bool {
    runtime_directory().is_some_and(|ours| path.starts_with(ours))
}

/// Whether a name is one that a run chose for itself: `cryptbench-20261121-203000-1a2b3c.scratch`.
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

/// Whether it is what was noted. A file system that was mounted anew has another device number, perhaps with other
/// inodes: there the name tells, which no other run has, and the owner.
fn is_noted(path: &Path, found: &Entry, noted: Identity) -> bool {
    let now = Identity::from(found.identity);
    noted.is(now)
        || (noted.device != now.device
            && noted.is_born_like(now)
            && is_ours(found)
            && is_chosen_name(path))
}

fn is_ours(found: &Entry) -> bool {
    found.owner == rustix::process::getuid().as_raw()
}

/// The open directory that `path` lies in, its name there, and what has that name. What is undone is undone in that
/// directory: whoever swaps a part of the path meanwhile leads nothing elsewhere.
fn held(path: &Path) -> Option<(Directory, OsString, Entry)> {
    let (directory, name) = Directory::of(path).ok()?;
    let found = directory.entry(&name).ok()??;
    Some((directory, name, found))
}

/// `None` if nothing is left of it.
pub(super) fn undo(act: &Act, identity: Option<Identity>) -> Option<Cleaned> {
    let path = act.path();
    let result = match act {
        Act::ScratchFile { .. } => scratch_file(path, identity)?,
        Act::Directory { .. } => directory(path, identity)?,
        Act::WorkDirectory { .. } => work_directory(path, identity)?,
        Act::FuseMount { .. } => fuse_mount(path, identity)?,
        Act::LoopDevice { .. } => {
            if identity.is_none() {
                // A losetup that outlived its caller has not come to it yet, perhaps.
                await_programs(&path.to_string_lossy());
            }
            let device = loopdev::of_file(path, identity.map(|i| i.device))?;
            let detached = loopdev::detach(&device).map_err(|e| chain(&e));
            await_detached(path, &device);
            detached.map(|()| true)
        }
        Act::FileSystem { file, .. } => file_system(path, file)?,
        Act::Daemon { program, .. } => daemon(program, path, identity)?,
        Act::ProgramMount { file_system, .. } | Act::StackedMount { file_system, .. } => {
            named_mount(path, file_system, identity)?
        }
        Act::FileSystemKey { identifier, .. } => {
            if !path.exists() {
                return None;
            }
            // An xfs_io that outlived its caller has not come to add it yet, perhaps.
            await_programs(&format!("add_enckey\0{}", path.display()));
            match keys::on_file_system(path, identifier) {
                Ok(false) => return None,
                Ok(true) => keys::remove_from_file_system(path, identifier),
                Err(e) => Err(e),
            }
            .map_err(|e| chain(&e))
            .map(|()| true)
        }
        Act::UserKey { description } => match keys::of_user(description) {
            Ok(None) => return None,
            Ok(Some(_)) => keys::remove_of_user(description),
            Err(e) => Err(e),
        }
        .map_err(|e| chain(&e))
        .map(|()| true),
        Act::Mapping { .. } => mapping(path, identity)?,
        Act::VeraCryptVolume { .. } => {
            if veracrypt::device_of(path).is_none() {
                await_programs(&path.to_string_lossy());
                veracrypt::device_of(path)?;
            }
            veracrypt::dismount(path).map_err(|e| chain(&e)).map(|()| true)
        }
        Act::BindMount { .. } => bind_mount(path, identity)?,
        Act::MappedFileSystem { device, .. } => mapped_file_system(path, device)?,
    };
    Some(match result {
        Ok(true) => Cleaned::Removed(path.to_owned()),
        Ok(false) => Cleaned::NotOurs(path.to_owned()),
        Err(why) => Cleaned::Failed(path.to_owned(), why),
    })
}

/// Whether it was ours and is gone now, or why not; `None` if there is nothing.
type Outcome = Option<Result<bool, String>>;

fn scratch_file(path: &Path, identity: Option<Identity>) -> Outcome {
    let (directory, name, found) = held(path)?;
    let ours = match identity {
        Some(id) => is_noted(path, &found, id),
        // Killed between creation and the note of it: our file has no byte in it yet.
        None => found.len == 0 && is_ours(&found),
    };
    if found.kind != FileType::RegularFile || !ours {
        return Some(Ok(false));
    }
    Some(directory.remove_file(&name).map(|()| true).map_err(|e| chain(&e)))
}

fn directory(path: &Path, identity: Option<Identity>) -> Outcome {
    let (above, name, found) = held(path)?;
    let ours = identity.is_none_or(|id| id.is(found.identity.into()));
    if found.kind != FileType::Directory || !ours {
        return Some(Ok(false));
    }
    // Only an empty directory goes, so that nothing of anybody is lost.
    Some(above.remove_directory(&name).map(|()| true).map_err(|e| chain(&e)))
}

fn work_directory(path: &Path, identity: Option<Identity>) -> Outcome {
    // Without an identity the process died between making it and noting it: nothing is in it yet.
    let Some(identity) = identity else { return directory(path, None) };
    let (above, name, found) = held(path)?;
    // All that is in it goes: its name must be one that a run gives, too.
    let prefixed = name.to_str().is_some_and(|name| name.starts_with("cryptbench-"));
    let named = prefixed || is_in_runtime_directory(path);
    if found.kind != FileType::Directory || !named || !is_noted(path, &found, identity) {
        return Some(Ok(false));
    }
    Some(above.remove_tree(&name, found.identity).map(|()| true).map_err(|e| chain(&e)))
}

fn fuse_mount(path: &Path, identity: Option<Identity>) -> Outcome {
    let entry = mount_at(path)?;
    let ours = identity.is_none_or(|id| id.device == entry.device);
    if entry.file_system != FILE_SYSTEM || !ours {
        return Some(Ok(false));
    }
    Some(remove_stale_mount(path).map_err(|e| chain(&e)))
}

fn file_system(path: &Path, file: &Path) -> Outcome {
    let entry = mount_at(path)?;
    // Numbers of loop devices are given out again: only the file below tells ours from another's mount.
    if loopdev::of_file(file, Some(entry.device)).is_none() {
        return Some(Ok(false));
    }
    Some(unmount_dead(path).map(|()| true).map_err(|e| chain(&e)))
}

fn mapping(path: &Path, identity: Option<Identity>) -> Outcome {
    let name = dm::name_of(path)?;
    await_programs(name);
    let number = dm::number_of(name)?;
    // Without an identity the name has to do, which no other run has.
    if identity.is_some_and(|id| id.device != number) {
        return Some(Ok(false));
    }
    Some(dm::remove(name).map(|()| true).map_err(|e| chain(&e)))
}

fn mapped_file_system(path: &Path, device: &Path) -> Outcome {
    let name = dm::name_of(device)?;
    await_programs(name);
    let entry = mount_at(path)?;
    if dm::number_of(name) != Some(entry.device) {
        return Some(Ok(false));
    }
    Some(unmount_dead(path).map(|()| true).map_err(|e| chain(&e)))
}

fn bind_mount(path: &Path, identity: Option<Identity>) -> Outcome {
    let entry = mount_at(path)?;
    if !is_in_runtime_directory(path) || identity.is_some_and(|id| id.device != entry.device) {
        return Some(Ok(false));
    }
    Some(unmount_dead(path).map(|()| true).map_err(|e| chain(&e)))
}

fn daemon(program: &str, path: &Path, identity: Option<Identity>) -> Outcome {
    let found = process::of_dead_run(program, path, identity)?;
    let ended = process::end(found).map_err(|e| chain(&e));
    // A daemon that was killed before it had mounted may have come to it after its mount was looked for.
    if ended.is_ok() && mount_at(path).is_some_and(|m| m.file_system.starts_with("fuse.")) {
        return Some(program_mount::unmount_dead(path).map(|()| true).map_err(|e| chain(&e)));
    }
    Some(ended.map(|()| true))
}

/// A mount that is told by its type and, where that was noted, its device number.
fn named_mount(path: &Path, file_system: &str, identity: Option<Identity>) -> Outcome {
    let entry = mount_at(path)?;
    if entry.file_system != file_system || identity.is_some_and(|id| id.device != entry.device) {
        return Some(Ok(false));
    }
    let removed = if file_system.starts_with("fuse.") {
        program_mount::unmount_dead(path)
    } else {
        unmount_dead(path)
    };
    Some(removed.map(|()| true).map_err(|e| chain(&e)))
}
