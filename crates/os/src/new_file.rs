//! New files: created under a random name in an open directory, and renamed once they are complete.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use crate::{Directory, FileType, random_name, system};

/// A file that is not yet complete. Dropping this value removes the file. Until the new file is complete, an older file
/// with the same name remains unchanged.
#[derive(Debug)]
pub struct NewFile {
    directory: Directory,
    temporary: OsString,
    name: OsString,
    file: File,
    named: bool,
}

impl NewFile {
    /// Creates the file that will get the name `path`, with these permission bits minus the umask.
    ///
    /// # Errors
    /// `InvalidInput` if anything except a regular file has that name, including a symbolic link;
    /// otherwise the operating system's error.
    pub fn begin(path: &Path, mode: u32) -> io::Result<Self> {
        let (directory, name) = Directory::of(path)?;
        Self::begin_in(directory, name, mode)
    }

    /// Like [`Self::begin`], in a directory that is already open.
    ///
    /// # Errors
    /// Those of [`Self::begin`].
    pub fn begin_in(directory: Directory, name: OsString, mode: u32) -> io::Result<Self> {
        Self::begin_noted(directory, name, mode, |_| Ok(()))
    }

    /// Like [`Self::begin`], but passes the temporary name to `note` before the file is created.
    ///
    /// # Errors
    /// Those of [`Self::begin`], and the error of `note`.
    pub fn begin_noted(
        directory: Directory,
        name: OsString,
        mode: u32,
        note: impl FnOnce(&OsStr) -> io::Result<()>,
    ) -> io::Result<Self> {
        replaceable(&directory, &name)?;
        let temporary = OsString::from(random_name(".cryptbench-")?);
        note(&temporary)?;
        let file = directory.create_file(&temporary, mode)?;
        Ok(Self { directory, temporary, name, file, named: false })
    }

    /// The open file.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Renames the file to its final name, replacing a regular file.
    ///
    /// # Errors
    /// Those of [`Self::begin`]; the new file is then removed.
    pub fn replace(self) -> io::Result<()> {
        self.finish(|new| {
            replaceable(&new.directory, &new.name)?;
            new.directory.rename(&new.temporary, &new.name)
        })
    }

    /// Renames the file to its final name, which must not exist.
    ///
    /// # Errors
    /// `AlreadyExists`; otherwise the operating system's error. The new file is then removed.
    pub fn appear(self) -> io::Result<()> {
        self.finish(|new| new.directory.rename_to_new(&new.temporary, &new.name))
    }

    /// Removes the file, as dropping this value does, but reports errors.
    ///
    /// # Errors
    /// The operating system's error; the file still exists.
    pub fn abandon(mut self) -> io::Result<()> {
        self.named = true;
        self.directory.remove_file(&self.temporary)
    }

    fn finish(mut self, name: impl FnOnce(&Self) -> io::Result<()>) -> io::Result<()> {
        self.file.sync_all()?;
        name(&self)?;
        self.named = true;
        self.directory.sync()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.named {
            let _ = self.directory.remove_file(&self.temporary);
        }
    }
}

/// Returns an error if anything except a regular file has this name.
fn replaceable(directory: &Directory, name: &OsStr) -> io::Result<()> {
    let what = match directory.entry(name)?.map(|found| found.kind) {
        None | Some(FileType::RegularFile) => return Ok(()),
        Some(FileType::Symlink) => "a symbolic link",
        Some(FileType::Directory) => "a directory",
        Some(FileType::BlockDevice | FileType::CharacterDevice) => "a device",
        Some(_) => "not a regular file",
    };
    let problem = format!("it is {what}; remove it, or specify another file");
    Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
}

/// Writes a file atomically: at any time, the file is either missing, the old file, or the complete new file.
///
/// # Errors
/// Those of [`NewFile::begin`] and [`NewFile::replace`].
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut new = NewFile::begin(path, 0o666)?;
    new.file().write_all(bytes)?;
    new.replace()
}

/// Writes to an output that the user specified. A file is written as in [`write_whole`]. A pipe, a character device
/// below `/dev`, and a descriptor of this process such as `/dev/stdout` (from its current position) are written
/// directly.
///
/// # Errors
/// Those of [`write_whole`]; refuses a block device.
pub fn write_named(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match system::stream(path)? {
        Some(mut stream) => stream.write_all(bytes),
        None => write_whole(path, bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    #[cfg(unix)]
    use std::os::unix::fs::symlink;

    use super::*;

    fn left(directory: &Path) -> Vec<String> {
        let names = fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name());
        let mut names: Vec<_> = names.map(|n| n.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[cfg(unix)]
    #[test]
    fn a_planted_link_is_refused_and_its_target_kept() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "kept").unwrap();
        let page = dir.path().join("report.html");
        symlink(&victim, &page).unwrap();
        let error = write_whole(&page, b"page").unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
        // Earlier versions wrote to these names first.
        symlink(&victim, dir.path().join("page.html.part")).unwrap();
        write_whole(&dir.path().join("page.html"), b"page").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"kept");
        assert_eq!(left(dir.path()), ["page.html", "page.html.part", "report.html", "victim"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_is_planted_while_the_file_is_written_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (victim, page) = (dir.path().join("victim"), dir.path().join("page"));
        fs::write(&victim, "kept").unwrap();
        let new = NewFile::begin(&page, 0o666).unwrap();
        symlink(&victim, &page).unwrap();
        assert!(new.replace().is_err());
        assert_eq!(fs::read(&victim).unwrap(), b"kept");
        assert_eq!(left(dir.path()), ["page", "victim"]);
    }

    #[test]
    fn an_old_file_is_replaced_whole_and_a_file_that_is_dropped_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let page = dir.path().join("page");
        fs::write(&page, "old").unwrap();
        drop(NewFile::begin(&page, 0o666).unwrap());
        assert_eq!(fs::read(&page).unwrap(), b"old");
        write_whole(&page, b"new").unwrap();
        assert_eq!(fs::read(&page).unwrap(), b"new");
        assert!(NewFile::begin(&page, 0o666).unwrap().appear().is_err());
        NewFile::begin(&page, 0o666).unwrap().abandon().unwrap();
        assert_eq!(left(dir.path()), ["page"]);
    }

    #[test]
    fn the_first_name_is_told_before_there_is_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut told = None;
        let begun = |told: &mut Option<OsString>, ok: bool| {
            let (directory, name) = Directory::of(&dir.path().join("page")).unwrap();
            NewFile::begin_noted(directory, name, 0o600, |name| {
                assert!(!dir.path().join(name).exists());
                *told = Some(name.to_owned());
                ok.then_some(()).ok_or(io::ErrorKind::Other.into())
            })
        };
        assert!(begun(&mut told, false).is_err());
        assert!(left(dir.path()).is_empty());
        let new = begun(&mut told, true).unwrap();
        assert!(dir.path().join(told.unwrap()).exists());
        new.appear().unwrap();
        assert_eq!(left(dir.path()), ["page"]);
    }
}
