//! The folder of a set: created by this run, identified by its marker, and removed by the stored names.
//!
//! If an entry cannot be removed, only that entry, its folders and the marker are kept. The marker makes it possible to
//! find and remove them later.

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use cryptbench_os::Directory;

use crate::LoadError;

/// Number of files per subfolder, unless this number would require too many subfolders.
const PER_FOLDER: u32 = 100;

/// Maximum number of subfolders: all are held open while an action runs.
const MAX_FOLDERS: u32 = 256;

/// Maximum number of names to try for the folder of a set.
const MAX_NAMES: u32 = 1000;

/// The file that marks a folder as created by this program.
pub(super) const MARKER: &str = ".cryptbench-files";

/// Prefix of the name of a set's folder.
pub(super) const PREFIX: &str = "cryptbench-files-";

/// One file of a set.
pub(super) struct File {
    pub(super) size: u64,
    pub(super) exists: bool,
    pub(super) renamed: bool,
}

/// The folder of a set and its contents.
pub(super) struct Tree {
    directory: PathBuf,
    name: String,
    token: String,
    folders: u32,
    per_folder: u32,
    pub(super) files: Vec<File>,
    /// False if the file system has refused a rename that must not replace a file.
    pub(super) renames_exclusively: bool,
}

/// The open folders of a tree. Names are looked up only relative to these folders.
pub(super) struct Open {
    pub(super) root: Directory,
    pub(super) folders: Vec<Directory>,
}

impl Tree {
    /// Creates the folder and its subfolders, but no files of the set.
    pub(super) fn make(directory: &Path, sizes: Vec<u64>) -> Result<Self, LoadError> {
        let count = sizes.len() as u32;
        let per_folder = PER_FOLDER.max(count.div_ceil(MAX_FOLDERS));
        let at = at(directory)?;
        let name = own_name(directory, &at)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let token = format!("cryptbench {} {}\n", std::process::id(), since.as_nanos());
        let new = |size| File { size, exists: false, renamed: false };
        let tree = Self {
            directory: directory.to_owned(),
            name,
            token,
            folders: count.div_ceil(per_folder),
            per_folder,
            files: sizes.into_iter().map(new).collect(),
            renames_exclusively: true,
        };
        // Removes a partially created tree, which would otherwise be left behind.
        if let Err(e) = tree.fill(&at) {
            tree.undo(&at);
            return Err(e);
        }
        Ok(tree)
    }

    fn fill(&self, at: &Directory) -> Result<(), LoadError> {
        let failed = |path: PathBuf| move |e: io::Error| LoadError::file("make", path, e);
        let root = at.subdirectory(OsStr::new(&self.name)).map_err(failed(self.path()))?;
        let path = || self.path().join(MARKER);
        let marker = root.create_to_write(OsStr::new(MARKER)).map_err(failed(path()))?;
        write_all(&marker, self.token.as_bytes()).map_err(failed(path()))?;
        for i in 0..self.folders {
            let name = folder_name(i);
            let made = root.make_subdirectory(OsStr::new(&name));
            made.map_err(failed(self.path().join(name)))?;
        }
        Ok(())
    }

    fn undo(&self, at: &Directory) {
        let name = OsStr::new(&self.name);
        if let Ok(root) = at.subdirectory(name) {
            for i in 0..self.folders {
                let _ = root.remove_directory(OsStr::new(&folder_name(i)));
            }
            let _ = root.remove_file(OsStr::new(MARKER));
        }
        let _ = at.remove_directory(name);
    }

    /// The folder of the set.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    /// The path of a file, for messages.
    pub(super) fn path_of(&self, index: usize) -> PathBuf {
        let (folder, name) = self.location(index);
        self.path().join(folder_name(folder as u32)).join(name)
    }

    /// The number of a file's folder, and the file's name.
    pub(super) fn location(&self, index: usize) -> (usize, String) {
        (index / self.per_folder as usize, file_name(index, self.files[index].renamed))
    }

    /// The name to which a file is renamed.
    pub(super) fn other_name(&self, index: usize) -> String {
        file_name(index, !self.files[index].renamed)
    }

    /// Number of existing files.
    pub(super) fn existing(&self) -> usize {
        self.files.iter().filter(|f| f.exists).count()
    }

    /// Opens the folder and checks that it was created by this run.
    fn root(&self, at: &Directory) -> Result<Directory, LoadError> {
        let root = at
            .subdirectory(OsStr::new(&self.name))
            .map_err(|e| LoadError::file("open", self.path(), e))?;
        if self.token != marker_of(&root).unwrap_or_default() {
            return Err(LoadError::NotOurs { path: self.path() });
        }
        Ok(root)
    }

    /// Opens the folders and checks that they were created by this run.
    pub(super) fn open(&self) -> Result<Open, LoadError> {
        let root = self.root(&at(&self.directory)?)?;
        let folder = |i| {
            let name = folder_name(i);
            root.subdirectory(OsStr::new(&name))
                .map_err(|e| LoadError::file("open", self.path().join(name), e))
        };
        let folders = (0..self.folders).map(folder).collect::<Result<_, _>>()?;
        Ok(Open { root, folders })
    }

    /// Removes the files and folders. A folder with other entries is kept.
    ///
    /// # Errors
    /// The first failure; the remaining removals are still attempted.
    pub(super) fn remove(&mut self) -> Result<(), LoadError> {
        let at = at(&self.directory)?;
        let root = self.root(&at)?;
        let mut first = Ok(());
        for folder in 0..self.folders {
            let emptied = self.empty(&root, folder);
            first = first.and(emptied);
        }
        first?;
        let failed = |path: PathBuf| move |e: io::Error| LoadError::file("remove", path, e);
        root.remove_file(OsStr::new(MARKER)).map_err(failed(self.path().join(MARKER)))?;
        drop(root);
        at.remove_directory(OsStr::new(&self.name)).map_err(failed(self.path()))
    }

    /// Removes the files of one folder, and the folder. Missing files are not an error.
    fn empty(&mut self, root: &Directory, folder: u32) -> Result<(), LoadError> {
        let (name, path) = (folder_name(folder), self.path().join(folder_name(folder)));
        let open = match root.subdirectory(OsStr::new(&name)) {
            Ok(open) => open,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(LoadError::file("open", path, e)),
        };
        let start = folder as usize * self.per_folder as usize;
        let files = start..(start + self.per_folder as usize).min(self.files.len());
        let emptied = self.unlink(&open, files);
        drop(open);
        emptied?;
        let removed = root.remove_directory(OsStr::new(&name));
        removed.map_err(|e| LoadError::file("remove", path, e))
    }

    /// Removes the given files, which are all in one folder, if they exist; continues after a failure.
    pub(super) fn unlink(
        &mut self,
        folder: &Directory,
        files: Range<usize>,
    ) -> Result<(), LoadError> {
        let mut first = Ok(());
        for i in files {
            if !self.files[i].exists {
                continue;
            }
            match folder.remove_file(OsStr::new(&self.location(i).1)) {
                Err(e) if e.kind() != ErrorKind::NotFound => {
                    first = first.and(Err(LoadError::file("delete", self.path_of(i), e)));
                }
                _ => {
                    self.files[i].exists = false;
                    self.files[i].renamed = false;
                }
            }
        }
        first
    }
}

/// Opens the directory to measure. The user specified it, so it may be a symbolic link.
fn at(directory: &Path) -> Result<Directory, LoadError> {
    Directory::open(directory).map_err(|e| LoadError::file("open", directory.to_owned(), e))
}

/// Creates a folder that did not exist before, so that everything in it belongs to this run.
fn own_name(directory: &Path, at: &Directory) -> Result<String, LoadError> {
    let mut n = 0;
    loop {
        let name = format!("{PREFIX}{}-{n}", std::process::id());
        match at.make_subdirectory(OsStr::new(&name)) {
            Ok(()) => return Ok(name),
            Err(e) if e.kind() == ErrorKind::AlreadyExists && n < MAX_NAMES => n += 1,
            Err(e) => return Err(LoadError::file("make", directory.join(name), e)),
        }
    }
}

pub(super) fn marker_of(root: &Directory) -> Option<String> {
    let mut file = root.open_file(OsStr::new(MARKER)).ok()?;
    let mut text = [0; 128];
    let n = file.read(&mut text).ok()?;
    String::from_utf8(text[..n].to_vec()).ok()
}

/// Writes all of `data`.
pub(super) fn write_all(mut file: &std::fs::File, mut data: &[u8]) -> io::Result<()> {
    while !data.is_empty() {
        match file.write(data) {
            Ok(0) => return Err(ErrorKind::StorageFull.into()),
            Ok(n) => data = &data[n..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn folder_name(index: u32) -> String {
    format!("d{index:03}")
}

fn file_name(index: usize, renamed: bool) -> String {
    format!("{}{index:06}", if renamed { 'r' } else { 'f' })
}
