//! Claims a whole disk and makes partitions on it: the first for requests, the others for arms.
#![expect(
    clippy::disallowed_methods,
    reason = "targets that it claims, checked once they are open"
)]

use std::fs::File;
use std::path::PathBuf;

use cryptbench_os::files::Opening;
use cryptbench_system::SystemError;
use cryptbench_system::resource::{Journal, Partitions};
use cryptbench_text::chain;

use super::existing::{Overwritten, check_again, open};
use crate::RunError;
use crate::decide::storage::Existing;
use crate::look::existing::lock;
use crate::refusal::Refusal;

/// The partitions of a disk. Its fields are released from the first to the last.
pub(super) struct Partitioned {
    /// The partitions for arms, each claimed until its arm is set up.
    for_arms: Vec<(PathBuf, File)>,
    partitions: Partitions,
    /// The disk, locked to keep udev and other runs away.
    _locked: File,
}

impl Partitioned {
    pub(super) fn take(&mut self) -> Vec<(PathBuf, File)> {
        std::mem::take(&mut self.for_arms)
    }

    /// Removes the partitions and their table.
    pub(super) fn remove(self) -> Result<(), SystemError> {
        let Self { for_arms, partitions, _locked } = self;
        drop(for_arms);
        partitions.remove()
    }
}

/// Claims `existing` with all checks, and makes partitions of these lengths on it. Returns the first one for
/// overwriting.
///
/// # Errors
/// [`RunError::Target`] if it may no longer be used; [`RunError::System`] if they cannot be made.
pub(super) fn claim(
    existing: &Existing,
    lens: &[u64],
    buffered: bool,
    journal: &Journal,
) -> Result<Overwritten, RunError> {
    let path = &existing.path;
    let refuse = |why: Refusal| RunError::Target { path: path.clone(), problem: chain(&why) };
    let locked = Opening::to_write().open(path).map_err(Refusal::io("open it")).map_err(refuse)?;
    lock(&locked).map_err(refuse)?;
    let alone = Opening::to_write().alone(true);
    let (whole, _) = open(alone, path, true).map_err(refuse)?;
    check_again(existing, &whole).map_err(refuse)?;
    let partitions = Partitions::create(path, &whole, lens, journal)?;
    // While a disk is claimed, none of its partitions can be claimed.
    drop(whole);
    let mut claimed = Vec::new();
    for path in partitions.paths() {
        let (file, mode) = open(alone, path, buffered).map_err(refuse)?;
        claimed.push((path.clone(), file, mode));
    }
    let mut claimed = claimed.into_iter();
    let (first, file, mode) = claimed.next().expect("plain storage has one");
    let for_arms = claimed.map(|(path, file, _)| (path, file)).collect();
    let disk = Partitioned { for_arms, partitions, _locked: locked };
    Ok(Overwritten::on_partition(file, lens[0], mode, first, disk))
}
