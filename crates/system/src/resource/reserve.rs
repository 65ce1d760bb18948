//! Files that are allocated alternately, so that none of them is in a better region of the device than the
//! others.
//!
//! Two files on one disk may differ in speed: the outer tracks of a hard disk are faster, and the host of a
//! virtual disk stores some parts on faster storage than others. Repeats do not average this out, because the
//! difference is the same in each. Files that alternate every few megabytes are spread equally over all
//! regions.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::scratch_file::allocate;
use super::stack::Made;
use super::{Journal, Scratch, ScratchFile};
use crate::SystemError;

/// Number of bytes of a file before the next file's turn. A hard disk that reads sequentially then seeks about
/// three times per second.
const TURN: u64 = 64 << 20;

/// Minimum number of turns per file, however small the file is.
const LEAST_TURNS: u64 = 8;

/// Allocations end on a multiple of this many bytes.
const STEP: u64 = 1 << 20;

/// Containers that are created before the arms that use them.
#[derive(Default)]
pub struct Reserve {
    files: Mutex<Vec<Reserved>>,
    partitions: Mutex<Vec<Given>>,
}

struct Reserved {
    made: Made<ScratchFile>,
    path: PathBuf,
    len: u64,
}

/// A partition reserved instead of a container at this path.
struct Given {
    instead_of: PathBuf,
    partition: PathBuf,
    /// Keeps others from using the partition until its arm uses it.
    claimed: File,
}

impl Reserve {
    /// Creates `path`, which must not exist, for a container of up to `len` bytes that will be compared with
    /// the scratch file.
    ///
    /// # Errors
    /// [`SystemError::Io`]; nothing is left behind.
    pub fn add(
        &self,
        path: PathBuf,
        len: u64,
        beside: &Scratch,
        journal: &Journal,
    ) -> Result<(), SystemError> {
        let what = ScratchFile { path: path.clone() };
        let made = Made::make(journal, what.clone(), || what.make_like(beside.file()))?;
        self.files().push(Reserved { made, path, len });
        Ok(())
    }

    /// Returns the file at `path`, if it was reserved. The caller then removes it.
    pub(super) fn take(&self, path: &Path) -> Option<Made<ScratchFile>> {
        let mut files = self.files();
        let at = files.iter().position(|file| file.path == path)?;
        Some(files.swap_remove(at).made)
    }

    /// Reserves a partition for the container that would have the path `instead_of`. It is `claimed` until its arm is
    /// set up.
    pub fn give(&self, instead_of: PathBuf, partition: PathBuf, claimed: File) {
        let mut partitions = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        partitions.push(Given { instead_of, partition, claimed });
    }

    /// The partition reserved instead of a container at `path`, and the claim on it.
    pub(super) fn given(&self, path: &Path) -> Option<(PathBuf, File)> {
        let mut partitions = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        let at = partitions.iter().position(|given| given.instead_of == path)?;
        let Given { partition, claimed, .. } = partitions.swap_remove(at);
        Some((partition, claimed))
    }

    /// Whether `path` is reserved and has not been used yet.
    pub fn holds(&self, path: &Path) -> bool {
        self.files().iter().any(|file| file.path == path)
    }

    fn files(&self) -> MutexGuard<'_, Vec<Reserved>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        // On failure a file stays in the journal, and cleanup tries again.
        self.files().drain(..).for_each(|mut file| drop(file.made.destroy()));
    }
}

/// Allocates `scratch` and all reserved files on the device alternately.
///
/// # Errors
/// [`SystemError::Io`].
pub fn allocate_in_turn(scratch: &[&Scratch], reserve: &Reserve) -> Result<(), SystemError> {
    let mut files: Vec<(Arc<File>, u64, PathBuf)> =
        scratch.iter().map(|s| (Arc::clone(s.file()), s.len(), s.path().to_owned())).collect();
    files.extend(
        reserve.files().iter().map(|r| (Arc::clone(&r.made.live.file), r.len, r.path.clone())),
    );
    let longest = files.iter().map(|(_, len, _)| *len).max().unwrap_or(0);
    let turns = if files.len() < 2 { 1 } else { (longest / TURN).max(LEAST_TURNS) };
    for turn in 0..turns {
        for (file, len, path) in &files {
            let part = border(*len, turn, turns)..border(*len, turn + 1, turns);
            if !part.is_empty() {
                allocate(file, part, path)?;
            }
        }
    }
    Ok(())
}

/// The offset at which a turn starts for a file of `len` bytes. It is proportional to the length, so that all
/// files end together.
fn border(len: u64, turn: u64, turns: u64) -> u64 {
    match turn == turns {
        true => len,
        false => (u128::from(len) * u128::from(turn) / u128::from(turns)) as u64 / STEP * STEP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_cover_each_file_once() {
        for len in [1, STEP, STEP + 1, 100 * STEP + 5, 40 << 30] {
            for turns in [1, 8, 640] {
                assert_eq!(border(len, 0, turns), 0);
                assert_eq!(border(len, turns, turns), len);
                let borders: Vec<u64> = (0..=turns).map(|t| border(len, t, turns)).collect();
                assert!(borders.is_sorted(), "{len} {turns}");
            }
        }
    }
}
