//! Directories by their paths.

use std::io;
use std::path::{Component, Path, PathBuf, Prefix};

use super::call::rights;

pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        create_private(above)?;
    }
    rights::make_private(path).or_else(|e| match path.is_dir() {
        // Another process was faster.
        true => Ok(()),
        false => Err(e),
    })
}

pub(crate) fn may_write(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.permissions().readonly() || found.is_dir())
}

/// Only an attempt to write can show this.
pub(crate) fn writable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// A path in its usual form, without the prefix `\\?\` of long paths, if that form refers to the same file.
pub(crate) fn plain(path: &Path) -> PathBuf {
    const LONGEST: usize = 240;
    let mut parts = path.components();
    let Some(Component::Prefix(prefix)) = parts.next() else { return path.to_owned() };
    let Prefix::VerbatimDisk(letter) = prefix.kind() else { return path.to_owned() };
    let short = PathBuf::from(format!("{}:", char::from(letter))).join(parts.as_path());
    let is_plain = |name: &str| !name.ends_with(['.', ' ']);
    let all_plain = parts.all(|part| part.as_os_str().to_str().is_some_and(is_plain));
    if all_plain && short.as_os_str().len() < LONGEST { short } else { path.to_owned() }
}

pub(crate) fn resolved(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().map(|path| plain(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_forms_are_shortened_where_that_names_the_same() {
        let plain = |path: &str| plain(Path::new(path)).display().to_string();
        assert_eq!(plain(r"\\?\C:\plain\a b"), r"C:\plain\a b");
        assert_eq!(plain(r"\\?\C:\"), r"C:\");
        assert_eq!(plain(r"\\?\C:\odd. \x"), r"\\?\C:\odd. \x");
        assert_eq!(plain(r"\\server\share\x"), r"\\server\share\x");
        assert_eq!(plain(r"V:\x"), r"V:\x");
    }
}
