//! Removes sets whose process exited without removing them.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use cryptbench_os::{Directory, process};

use super::tree::{MARKER, PREFIX, marker_of};
use crate::LoadError;

/// Removes sets of small files in `directory` whose processes have exited, and returns their number.
///
/// A set is identified by the name of its folder and the marker in it. Only regular files and folders whose names
/// belong to the set are removed; a folder with any other contents is kept.
///
/// # Errors
/// The first failure; the remaining removals are still attempted.
pub fn remove_left_behind(directory: &Path) -> Result<u32, LoadError> {
    let at =
        Directory::open(directory).map_err(|e| LoadError::file("open", directory.to_owned(), e))?;
    let (mut removed, mut first) = (0, Ok(()));
    let sets = entries(&at, |name| name.starts_with(PREFIX))
        .map_err(|e| LoadError::file("remove", directory.to_owned(), e))?;
    for name in sets {
        // A link, or a folder that cannot be opened, is not a set.
        let Ok(root) = at.subdirectory(OsStr::new(&name)) else { continue };
        if !is_dead(&root) {
            continue;
        }
        match remove_set(&at, root, &name, &directory.join(&name)) {
            Ok(()) => removed += 1,
            Err(e) => first = first.and(Err(e)),
        }
    }
    first.map(|()| removed)
}

/// Removes the marker after the files and before the folder, because the marker shows that the remaining files belong
/// to a set.
fn remove_set(at: &Directory, root: Directory, name: &str, path: &Path) -> Result<(), LoadError> {
    let failed = |path: PathBuf| move |e| LoadError::file("remove", path, e);
    let mut first = Ok(());
    for folder in entries(&root, |n| is_numbered(n, "d")).map_err(failed(path.to_owned()))? {
        let emptied = remove_folder(&root, &folder, &path.join(&folder));
        first = first.and(emptied);
    }
    first?;
    root.remove_file(OsStr::new(MARKER)).map_err(failed(path.join(MARKER)))?;
    drop(root);
    at.remove_directory(OsStr::new(name)).map_err(failed(path.to_owned()))
}

fn remove_folder(root: &Directory, name: &str, path: &Path) -> Result<(), LoadError> {
    let failed = |path: PathBuf| move |e| LoadError::file("remove", path, e);
    let folder = root.subdirectory(OsStr::new(name)).map_err(failed(path.to_owned()))?;
    let files = entries(&folder, |n| is_numbered(n, "f") || is_numbered(n, "r"));
    let mut first = Ok(());
    for file in files.map_err(failed(path.to_owned()))? {
        let removed = folder.remove_file(OsStr::new(&file));
        first = first.and(removed.map_err(failed(path.join(&file))));
    }
    first?;
    root.remove_directory(OsStr::new(name)).map_err(failed(path.to_owned()))
}

/// Whether a folder contains the marker, and the marker's process has exited.
fn is_dead(root: &Directory) -> bool {
    let marker = marker_of(root).unwrap_or_default();
    let mut words = marker.split_whitespace();
    let process = match (words.next(), words.next().map(str::parse)) {
        (Some("cryptbench"), Some(Ok(number))) if number != 0 => number,
        _ => return false,
    };
    !process::exists(process)
}

/// Names of those entries of a folder that `wanted` accepts.
fn entries(folder: &Directory, wanted: impl Fn(&str) -> bool) -> io::Result<Vec<String>> {
    let names = folder.names()?.into_iter().filter_map(|name| name.into_string().ok());
    Ok(names.filter(|name| wanted(name)).collect())
}

/// Whether a name consists of a prefix and digits, as in a set.
fn is_numbered(name: &str, prefix: &str) -> bool {
    let digits = name.strip_prefix(prefix).unwrap_or_default();
    digits.len() >= 3 && digits.bytes().all(|b| b.is_ascii_digit())
}
