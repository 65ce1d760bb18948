//! Folders of sets whose process ended without removing them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, open, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::tree::{FOLDER, MARKER, PREFIX, marker_of};
use crate::LoadError;

/// Removes the sets of small files that processes which have ended left in `directory`, and returns how
/// many.
///
/// A set is known by the name of its folder and the marker in it. Of what lies there only regular files
/// and folders with the names of a set's are removed; a folder with anything else in it stays.
///
/// # Errors
/// The first thing that could not be removed; the others are tried all the same.
pub fn remove_left_behind(directory: &Path) -> Result<u32, LoadError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let at = open(directory, flags, Mode::empty())
        .map_err(|e| LoadError::file("open", directory.to_owned(), e))?;
    let (mut removed, mut first) = (0, Ok(()));
    let sets = entries(&at, |name| name.starts_with(PREFIX))
        .map_err(|e| LoadError::file("remove", directory.to_owned(), e))?;
    for (name, kind) in sets {
        // Neither a link nor a folder that may not be entered is a set of ours.
        let Ok(root) = openat(&at, &name, FOLDER, Mode::empty()) else { continue };
        if kind != FileType::Directory || !is_dead(&root) {
            continue;
        }
        match remove_set(&at, root, &name, &directory.join(&name)) {
            Ok(()) => removed += 1,
            Err(e) => first = first.and(Err(e)),
        }
    }
    first.map(|()| removed)
}

/// The marker goes last but one: by it, what is left is known again.
fn remove_set(at: &OwnedFd, root: OwnedFd, name: &str, path: &Path) -> Result<(), LoadError> {
    let failed = |path: PathBuf| move |e| LoadError::file("remove", path, e);
    let mut first = Ok(());
    for (folder, _) in entries(&root, |n| is_numbered(n, "d")).map_err(failed(path.to_owned()))? {
        let emptied = remove_folder(&root, &folder, &path.join(&folder));
        first = first.and(emptied);
    }
    first?;
    unlinkat(&root, MARKER, AtFlags::empty()).map_err(failed(path.join(MARKER)))?;
    drop(root);
    unlinkat(at, name, AtFlags::REMOVEDIR).map_err(failed(path.to_owned()))
}

fn remove_folder(root: &OwnedFd, name: &str, path: &Path) -> Result<(), LoadError> {
    let failed = |path: PathBuf| move |e| LoadError::file("remove", path, e);
    let folder = openat(root, name, FOLDER, Mode::empty()).map_err(failed(path.to_owned()))?;
    let files = entries(&folder, |n| is_numbered(n, "f") || is_numbered(n, "r"));
    let mut first = Ok(());
    for (file, _) in files.map_err(failed(path.to_owned()))? {
        let removed = unlinkat(&folder, &file, AtFlags::empty());
        first = first.and(removed.map_err(failed(path.join(&file))));
    }
    first?;
    unlinkat(root, name, AtFlags::REMOVEDIR).map_err(failed(path.to_owned()))
}

/// Whether a folder carries a marker of ours whose process has ended.
fn is_dead(root: &OwnedFd) -> bool {
    let marker = marker_of(root).unwrap_or_default();
    let mut words = marker.split_whitespace();
    let pid = match (words.next(), words.next().and_then(|pid| pid.parse().ok())) {
        (Some("cryptbench"), Some(pid)) => Pid::from_raw(pid),
        _ => None,
    };
    pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}

/// Names and kinds of what lies in a folder and is called as `wanted` says.
fn entries(
    folder: &OwnedFd,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(String, FileType)>, Errno> {
    let mut found = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        if let Ok(name) = entry.file_name().to_str()
            && wanted(name)
        {
            found.push((name.to_owned(), entry.file_type()));
        }
    }
    Ok(found)
}

/// A prefix and digits, as the names of a set are.
fn is_numbered(name: &str, prefix: &str) -> bool {
    let digits = name.strip_prefix(prefix).unwrap_or_default();
    digits.len() >= 3 && digits.bytes().all(|b| b.is_ascii_digit())
}
