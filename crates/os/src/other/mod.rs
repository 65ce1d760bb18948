//! Systems without support: files work as far as the standard library allows, and everything else
//! is unknown.

pub(crate) mod counters;
mod directory;
pub(crate) mod files;
pub(crate) mod process;
pub(crate) mod terminal;

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

pub use self::directory::Directory;
use crate::{Details, FileType};

/// Opens a file for reading.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// The name of standard output does not work here yet, and no other stream can be recognised.
pub(crate) fn stream(path: &Path) -> io::Result<Option<File>> {
    match path == Path::new(terminal::STDOUT) {
        true => Err(io::ErrorKind::Unsupported.into()),
        false => Ok(None),
    }
}

/// The details that the standard library knows.
pub(crate) fn details(found: &Metadata) -> Details {
    let since = found.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let since = since.unwrap_or_default();
    Details {
        kind: file_type(found.file_type()),
        file_system: 0,
        inode: 0,
        device: 0,
        names: 1,
        allocated: found.len(),
        changed: (since.as_secs().cast_signed(), i64::from(since.subsec_nanos())),
    }
}

/// The kind as far as the standard library knows it.
fn file_type(kind: std::fs::FileType) -> FileType {
    match kind {
        kind if kind.is_symlink() => FileType::Symlink,
        kind if kind.is_dir() => FileType::Directory,
        kind if kind.is_file() => FileType::RegularFile,
        _ => FileType::Unknown,
    }
}

pub(crate) mod clock {
    //! No CPU clock.

    pub(crate) fn process_cpu_ns() -> u64 {
        0
    }
}

pub(crate) mod dirs {
    //! Directories get default permissions.

    use std::io;
    use std::path::Path;

    pub(crate) fn create_private(path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path)
    }

    pub(crate) fn may_write(_path: &Path) -> bool {
        true
    }
}

pub(crate) mod lock {
    //! Only the standard library's kind of locks.

    use std::fs::File;

    pub(crate) fn is_locked_by_record(_file: &File) -> bool {
        false
    }
}

pub(crate) mod net {
    //! No socket options.

    use std::time::Duration;

    /// Does nothing: ending an unread connection is not supported here.
    pub fn end_when_unread<S>(_stream: S, _after: Duration) {}
}

pub(crate) mod signals {
    //! No signals.

    use std::io;

    pub(crate) fn when_asked_to_end(_tell: impl FnMut() + Send + 'static) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

pub(crate) mod user {
    //! No user numbers: everyone has the number that all owners have.

    use std::process::Command;

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

    pub(crate) fn real() -> u32 {
        0
    }

    pub(crate) fn is_root() -> bool {
        false
    }
}

pub(crate) mod machine {
    //! What the standard library knows about the machine.

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

    pub(crate) fn possible_cpus() -> Option<u32> {
        None
    }

    pub(crate) fn memory_bytes() -> Option<u64> {
        None
    }

    pub(crate) fn memory_available() -> Option<u64> {
        None
    }

    pub(crate) fn processor_time() -> Option<(u64, u64)> {
        None
    }

    pub(crate) fn kernel_setting(_name: &str) -> Option<String> {
        None
    }

    pub(crate) fn host_name() -> Option<String> {
        None
    }

    pub(crate) fn machine_id() -> Option<String> {
        None
    }

    pub(crate) fn drop_directory_caches() -> bool {
        false
    }
}

pub(crate) mod storage {
    //! No list of mounts, and no free space.

    use std::io;
    use std::path::Path;

    use crate::storage::{Mount, Space};

    /// All mounts, the latest last.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`]: the list is unknown on this system.
    pub fn mounts() -> io::Result<Vec<Mount>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The size and free space of the file system of `path`.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`]: they are unknown on this system.
    pub fn space(_path: &Path) -> io::Result<Space> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn number_in_words(number: u64) -> String {
        number.to_string()
    }

    pub(crate) fn serving(_file_system: u64) -> Vec<u32> {
        Vec::new()
    }

    pub(crate) fn is_encrypted(_directory: &Path) -> bool {
        false
    }
}
