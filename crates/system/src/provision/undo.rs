//! Undoing one act of a process that was killed, if what is there is still what it made.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cryptbench_export::fuse::{FILE_SYSTEM, remove_stale_mount};

use super::filesystem::unmount_dead;
use super::ledger::{Act, Cleaned, Identity};
use super::loopdev;
use super::mountinfo::mount_at;

/// `None` if nothing is left of it.
pub(super) fn undo(act: &Act, identity: Option<Identity>) -> Option<Cleaned> {
    let path = act.path();
    let result = match act {
        Act::ScratchFile { .. } => scratch_file(path, identity)?,
        Act::Directory { .. } => directory(path, identity)?,
        Act::FuseMount { .. } => fuse_mount(path, identity)?,
        Act::LoopDevice { .. } => {
            let device = loopdev::of_file(path, identity.map(|i| i.device))?;
            loopdev::detach(&device).map_err(|e| e.to_string()).map(|()| true)
        }
        Act::FileSystem { file, .. } => file_system(path, file)?,
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
    let found = fs::symlink_metadata(path).ok()?;
    let ours = match identity {
        Some(id) => id == Identity::from(&found),
        // Killed between creation and the note of it: our file has no byte in it yet.
        None => found.len() == 0 && found.uid() == rustix::process::getuid().as_raw(),
    };
    if !found.is_file() || !ours {
        return Some(Ok(false));
    }
    Some(fs::remove_file(path).map(|()| true).map_err(|e| e.to_string()))
}

fn directory(path: &Path, identity: Option<Identity>) -> Outcome {
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_dir() || identity.is_some_and(|id| id != Identity::from(&found)) {
        return Some(Ok(false));
    }
    // Only an empty directory goes, so that nothing of anybody is lost.
    Some(fs::remove_dir(path).map(|()| true).map_err(|e| e.to_string()))
}

fn fuse_mount(path: &Path, identity: Option<Identity>) -> Outcome {
    let entry = mount_at(path)?;
    let ours = identity.is_none_or(|id| id.device == entry.device);
    if entry.file_system != FILE_SYSTEM || !ours {
        return Some(Ok(false));
    }
    Some(remove_stale_mount(path).map_err(|e| e.to_string()))
}

fn file_system(path: &Path, file: &Path) -> Outcome {
    let entry = mount_at(path)?;
    // Numbers of loop devices are given out again: only the file below tells ours from another's mount.
    if loopdev::of_file(file, Some(entry.device)).is_none() {
        return Some(Ok(false));
    }
    Some(unmount_dead(path).map(|()| true).map_err(|e| e.to_string()))
}
