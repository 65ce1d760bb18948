//! The five actions, with each file timed separately.

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read as _};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use cryptbench_os::Directory;
use hdrhistogram::Histogram;

use super::content::Contents;
use super::tree::{Open, Tree, write_all};
use super::{FilesMeasurement, cold, cpu_ns};
use crate::LoadError;
use crate::clock::Clock;
use crate::offsets::splitmix;

/// Sum of the measured actions.
pub(super) struct Tally {
    clock: Clock,
    elapsed_ns: u64,
    cpu_ns: u64,
    files: u64,
    bytes: u64,
    latency: Histogram<u64>,
}

impl Tally {
    pub(super) fn new() -> Self {
        // 1 ns to 1 h are valid bounds, so the constructor cannot fail.
        let latency = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("valid bounds");
        Self { clock: Clock::start(), elapsed_ns: 0, cpu_ns: 0, files: 0, bytes: 0, latency }
    }

    /// Measures the wall and CPU time of `action`. The CPU clock, which is slow to read, is read outside the measured
    /// wall time.
    fn timed<T>(&mut self, action: impl FnOnce() -> T) -> (T, u64) {
        let cpu = cpu_ns();
        let started = self.clock.ns();
        let result = action();
        let took = self.clock.ns() - started;
        self.cpu_ns += cpu_ns().saturating_sub(cpu);
        self.elapsed_ns += took;
        (result, took)
    }

    /// Executes and counts the action on one file.
    fn file<T>(
        &mut self,
        bytes: u64,
        action: impl FnOnce() -> io::Result<T>,
        failed: impl FnOnce(io::Error) -> LoadError,
    ) -> Result<T, LoadError> {
        let (result, took) = self.timed(action);
        let value = result.map_err(failed)?;
        self.latency.saturating_record(took);
        self.files += 1;
        self.bytes += bytes;
        Ok(value)
    }

    pub(super) fn measured(self, metadata_cold: bool, interrupted: bool) -> FilesMeasurement {
        FilesMeasurement {
            elapsed: Duration::from_nanos(self.elapsed_ns),
            files: self.files,
            bytes: self.bytes,
            latency: self.latency,
            cpu: Duration::from_nanos(self.cpu_ns),
            metadata_cold,
            interrupted,
        }
    }
}

fn create_file(folder: &Directory, name: &str, data: &[u8]) -> io::Result<()> {
    let file = folder.create_to_write(OsStr::new(name))?;
    write_all(&file, data)
}

fn was_there(error: &LoadError) -> bool {
    matches!(error, LoadError::File { source, .. } if source.kind() == ErrorKind::AlreadyExists)
}

/// Creates all files and flushes. Returns true if `stop` interrupted this.
pub(super) fn create(
    tree: &mut Tree,
    open: &Open,
    contents: &mut Contents,
    tally: &mut Tally,
    stop: &AtomicBool,
) -> Result<bool, LoadError> {
    for i in 0..tree.files.len() {
        if stop.load(Relaxed) {
            return Ok(true);
        }
        let (folder, name) = tree.location(i);
        let size = tree.files[i].size;
        let data = contents.of(i as u32, size);
        let made = tally.file(
            size,
            || create_file(&open.folders[folder], &name, data),
            |e| LoadError::file("create", tree.path_of(i), e),
        );
        // An incompletely written file exists and was created by this run, unlike a file that existed before.
        tree.files[i].exists = !matches!(&made, Err(e) if was_there(e));
        made?;
    }
    let (flushed, _) = tally.timed(|| cold::flush(open));
    flushed?;
    Ok(false)
}

/// Creates missing files, unmeasured.
pub(super) fn create_missing(
    tree: &mut Tree,
    open: &Open,
    contents: &mut Contents,
    stop: &AtomicBool,
) -> Result<(), LoadError> {
    for i in 0..tree.files.len() {
        if tree.files[i].exists {
            continue;
        }
        if stop.load(Relaxed) {
            return Err(LoadError::Interrupted);
        }
        let (folder, name) = tree.location(i);
        let data = contents.of(i as u32, tree.files[i].size);
        let made = create_file(&open.folders[folder], &name, data)
            .map_err(|e| LoadError::file("create", tree.path_of(i), e));
        tree.files[i].exists = !matches!(&made, Err(e) if was_there(e));
        made?;
    }
    Ok(())
}

pub(super) fn stat(
    tree: &Tree,
    open: &Open,
    tally: &mut Tally,
    seed: u64,
    stop: &AtomicBool,
) -> Result<bool, LoadError> {
    for i in order(tree.files.len(), seed) {
        if stop.load(Relaxed) {
            return Ok(true);
        }
        let (folder, name) = tree.location(i);
        let len = tally.file(
            0,
            || open.folders[folder].len_of(OsStr::new(&name)),
            |e| LoadError::file("examine", tree.path_of(i), e),
        )?;
        let size = tree.files[i].size;
        if len != size {
            return Err(LoadError::FileContent { path: tree.path_of(i), offset: len.min(size) });
        }
    }
    Ok(false)
}

pub(super) fn read(
    tree: &Tree,
    open: &Open,
    contents: &mut Contents,
    tally: &mut Tally,
    seed: u64,
    stop: &AtomicBool,
) -> Result<bool, LoadError> {
    let largest = tree.files.iter().map(|f| f.size).max().unwrap_or(0);
    // One byte more than the largest file, to detect files that have grown.
    let mut buffer = vec![0; largest as usize + 1];
    for i in order(tree.files.len(), seed) {
        if stop.load(Relaxed) {
            return Ok(true);
        }
        let (folder, name) = tree.location(i);
        let size = tree.files[i].size;
        let len = tally.file(
            size,
            || read_file(&open.folders[folder], &name, &mut buffer),
            |e| LoadError::file("read", tree.path_of(i), e),
        )?;
        if let Some(offset) = contents.first_difference(i as u32, size, &buffer[..len]) {
            return Err(LoadError::FileContent { path: tree.path_of(i), offset });
        }
    }
    Ok(false)
}

/// Reads to the end of the file or until the buffer is full, and returns the number of bytes read.
fn read_file(folder: &Directory, name: &str, buffer: &mut [u8]) -> io::Result<usize> {
    let mut file = folder.open_own(OsStr::new(name))?;
    let mut len = 0;
    while len < buffer.len() {
        match file.read(&mut buffer[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(len)
}

pub(super) fn rename(
    tree: &mut Tree,
    open: &Open,
    tally: &mut Tally,
    seed: u64,
    stop: &AtomicBool,
) -> Result<bool, LoadError> {
    for i in order(tree.files.len(), seed) {
        if stop.load(Relaxed) {
            return Ok(true);
        }
        let (folder, name) = tree.location(i);
        let other = tree.other_name(i);
        let folder = &open.folders[folder];
        let mut exclusive = tree.renames_exclusively;
        tally.file(
            0,
            || rename_file(&mut exclusive, folder, &name, &other),
            |e| LoadError::file("rename", tree.path_of(i), e),
        )?;
        tree.renames_exclusively = exclusive;
        tree.files[i].renamed ^= true;
    }
    Ok(false)
}

/// Renames a file unless the new name exists. Some file systems in user space do not support this. There, a plain
/// rename is used for the first file after the failure, and directly for all later files, so that no further failed
/// calls are measured. [`check_free`] has checked the names before.
fn rename_file(
    exclusive: &mut bool,
    folder: &Directory,
    name: &str,
    other: &str,
) -> io::Result<()> {
    let (name, other) = (OsStr::new(name), OsStr::new(other));
    if *exclusive {
        *exclusive = folder.try_rename_to_new(name, other)?;
        if *exclusive {
            return Ok(());
        }
    }
    folder.rename(name, other)
}

/// Checks that none of the new names exists. The time for this is not measured.
pub(super) fn check_free(tree: &Tree, open: &Open) -> Result<(), LoadError> {
    for i in 0..tree.files.len() {
        let (folder, _) = tree.location(i);
        let other = tree.other_name(i);
        let free = open.folders[folder].refuse_taken(OsStr::new(&other));
        free.map_err(|e| LoadError::file("rename", tree.path_of(i), e))?;
    }
    Ok(())
}

pub(super) fn delete(
    tree: &mut Tree,
    open: &Open,
    tally: &mut Tally,
    stop: &AtomicBool,
) -> Result<bool, LoadError> {
    for i in 0..tree.files.len() {
        if stop.load(Relaxed) {
            return Ok(true);
        }
        let (folder, name) = tree.location(i);
        tally.file(
            0,
            || open.folders[folder].remove_file(OsStr::new(&name)),
            |e| LoadError::file("delete", tree.path_of(i), e),
        )?;
        tree.files[i].exists = false;
        tree.files[i].renamed = false;
    }
    Ok(false)
}

/// Deletes the existing files. The time for this is not measured. A file that no longer exists is not an error.
pub(super) fn delete_all(tree: &mut Tree, open: &Open) -> Result<(), LoadError> {
    let mut first = Ok(());
    for i in 0..tree.files.len() {
        let (folder, _) = tree.location(i);
        let deleted = tree.unlink(&open.folders[folder], i..i + 1);
        first = first.and(deleted);
    }
    first
}

/// A permutation of `0..n` by the Fisher-Yates shuffle (Durstenfeld's version).
fn order(n: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<_> = (0..n).collect();
    for i in (1..n).rev() {
        let below = (u128::from(splitmix(seed, i as u64)) * (i as u128 + 1)) >> 64;
        order.swap(i, below as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn an_order_holds_each_file_once_and_follows_the_seed() {
        for n in [0, 1, 2, 1000] {
            let mut seen = order(n, 5);
            assert_eq!(seen, order(n, 5));
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..n));
        }
        assert_ne!(order(1000, 5), order(1000, 6));
        assert_ne!(order(1000, 5), (0..1000).collect::<Vec<_>>());
    }
}
