//! Systems that are not known here: files are made and read as the standard library can, and nothing else is told.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::entry::single;
use crate::{Entry, FileIdentity, FileType};

/// A directory. It is kept by its path, so that renaming it leads elsewhere: no descriptor can be held open here.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// The directory that `path` leads to now.
    ///
    /// # Errors
    /// What the system says, such as that there is none.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        match path.is_dir() {
            true => Ok(Self { path }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// The directory in which `path` lies, and the last part of `path`.
    ///
    /// # Errors
    /// As [`Self::open`]; `InvalidInput` for a path without a last part, such as `/` or `..`.
    pub fn of(path: &Path) -> io::Result<(Self, OsString)> {
        let none = || io::Error::new(io::ErrorKind::InvalidInput, "it does not name a file");
        let name = path.file_name().ok_or_else(none)?.to_owned();
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok((Self::open(parent)?, name))
    }

    /// A second handle on the same directory.
    ///
    /// # Errors
    /// None here.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { path: self.path.clone() })
    }

    /// Makes a new file in this directory and opens it for reading and writing; `mode` is of no use here.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken, by whatever; else what the system says.
    pub fn create_file(&self, name: &OsStr, _mode: u32) -> io::Result<File> {
        File::options().read(true).write(true).create_new(true).open(self.join(name)?)
    }

    /// Opens a regular file of this directory; anything else is refused.
    ///
    /// # Errors
    /// What the system says; `InvalidInput` if it is no regular file.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        self.open_as(name, false)
    }

    /// Opens a regular file of this directory for reading and writing.
    ///
    /// # Errors
    /// As [`Self::open_file`].
    pub fn open_file_to_write(&self, name: &OsStr) -> io::Result<File> {
        self.open_as(name, true)
    }

    fn open_as(&self, name: &OsStr, write: bool) -> io::Result<File> {
        if self.entry(name)?.is_some_and(|found| found.kind != FileType::RegularFile) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
        }
        let file = File::options().read(true).write(write).open(self.join(name)?)?;
        crate::read::regular(&file)?;
        Ok(file)
    }

    /// What lies under a name, if anything does. Which file it is and whose, is not known here: its identity is that of
    /// every other, and its owner 0.
    ///
    /// # Errors
    /// What the system says.
    pub fn entry(&self, name: &OsStr) -> io::Result<Option<Entry>> {
        let found = match fs::symlink_metadata(self.join(name)?) {
            Ok(found) => found,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let kind = match found.file_type() {
            kind if kind.is_symlink() => FileType::Symlink,
            kind if kind.is_dir() => FileType::Directory,
            kind if kind.is_file() => FileType::RegularFile,
            _ => FileType::Unknown,
        };
        let identity = FileIdentity { device: 0, inode: 0, born: None };
        Ok(Some(Entry { identity, kind, owner: 0, len: found.len() }))
    }

    /// All names in it.
    ///
    /// # Errors
    /// What the system says.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        fs::read_dir(&self.path)?.map(|entry| entry.map(|e| e.file_name())).collect()
    }

    /// Renames a file of this directory over another regular file of it, or to a new name.
    ///
    /// # Errors
    /// What the system says.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.join(from)?, self.join(to)?)
    }

    /// Renames a file of this directory to a name that must be free.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken, by whatever.
    pub fn rename_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        // A hard link fails where the name is taken.
        fs::hard_link(self.join(from)?, self.join(to)?)?;
        self.remove_file(from)
    }

    /// Removes a file, or a symbolic link itself.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.join(name)?)
    }

    /// Makes sure that new names in it outlive a power cut, which cannot be asked for here.
    ///
    /// # Errors
    /// None here.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// A path by which this process reaches it, as long as it is not renamed.
    #[must_use]
    pub fn reached(&self) -> PathBuf {
        self.path.clone()
    }

    /// The path that it had when it was opened.
    ///
    /// # Errors
    /// None here.
    pub fn path(&self) -> io::Result<PathBuf> {
        Ok(self.path.clone())
    }

    fn join(&self, name: &OsStr) -> io::Result<PathBuf> {
        Ok(self.path.join(single(name)?))
    }
}

/// Opens a file to be read.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Nothing is known here to take bytes one after the other.
pub(crate) fn stream(_path: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

pub(crate) mod counters {
    //! No counters.

    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use crate::counters::Passed;

    /// A moment.
    #[derive(Clone, Debug)]
    pub struct Snapshot(Instant);

    /// Reads nothing but the clock.
    #[derive(Default)]
    pub struct Counters {
        devices: usize,
    }

    impl Counters {
        /// What would be counted is not known here.
        #[must_use]
        pub fn new(_device: Option<PathBuf>, _serving: &[&str]) -> Self {
            Self { devices: 1 }
        }

        /// Nothing is told of the process.
        pub fn watch(&mut self, _pid: u32) {}

        /// Nothing is watched.
        pub fn forget_watched(&mut self) {}

        /// Gives another device its number.
        pub fn add_device(&mut self, _device: Option<PathBuf>) -> usize {
            self.devices += 1;
            self.devices - 1
        }

        /// No device's counters are read.
        pub fn use_device(&mut self, _device: usize) {}

        /// None counts.
        #[must_use]
        pub fn device_counts(&self, _device: usize) -> bool {
            false
        }

        /// Waits, as the machine would be watched for `wait`; how busy it is, is not known.
        pub fn measure_baseline(&mut self, wait: Duration, _cpus: u32) -> f64 {
            std::thread::sleep(wait);
            0.0
        }

        /// This moment.
        #[must_use]
        pub fn snapshot(&self) -> Snapshot {
            Snapshot(Instant::now())
        }

        /// The time that passed.
        #[must_use]
        pub fn passed(&self, before: &Snapshot) -> Passed {
            Passed { wall_s: before.0.elapsed().as_secs_f64(), ..Passed::default() }
        }
    }
}

pub(crate) mod machine {
    //! What the standard library knows of the machine.

    use std::thread::available_parallelism;

    use crate::machine::Machine;

    pub(crate) fn describe() -> Machine {
        Machine {
            cpu_model: std::env::consts::ARCH.to_owned(),
            cpus: available_parallelism().map_or(1, |n| n.get() as u32),
            kernel: std::env::consts::OS.to_owned(),
            os: std::env::consts::OS.to_owned(),
            ..Machine::default()
        }
    }
}

pub(crate) mod process {
    //! Nothing of other processes.

    pub(crate) fn started(_process: u32) -> Option<u64> {
        None
    }

    pub(crate) fn has_ended(_process: u32) -> bool {
        true
    }

    pub(crate) fn cpu_s(_process: u32) -> Option<f64> {
        None
    }
}

pub(crate) mod storage {
    //! No list of mounts, and no room.

    use std::io;
    use std::path::Path;

    use crate::storage::{Mount, Space};

    /// Every mount, the latest last.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`]: the system's list is not known here.
    pub fn mounts() -> io::Result<Vec<Mount>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The room of the file system that `path` lies on.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`]: it is not known here.
    pub fn space(_path: &Path) -> io::Result<Space> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
