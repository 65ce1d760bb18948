//! The data of a stacked system in the page cache below its mount.
#![expect(clippy::disallowed_methods, reason = "files of a run in an arm")]

use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use cryptbench_os::{Details, FileType, files};
use cryptbench_system::PreparedArm;

/// Drops the stored files of a stacked system from the page cache below its mount, which neither
/// direct I/O nor advice on the mount reaches.
pub(super) fn drop_below(arm: &PreparedArm) {
    // From the top down: writing back an upper layer dirties the lower one.
    arm.cached_above.iter().chain(&arm.stored).for_each(|path| forget(path));
}

/// Writes back a stacked system's data from the page cache or from the system's own cache: FUSE does not forward every
/// flush, and ZFS flushes to its log.
pub(super) fn settle_below(arm: &PreparedArm) {
    let _ = arm.write_back();
    for path in arm.cached_above.iter().chain(&arm.stored) {
        // If this fails, the device's counters show it.
        let _ = write_back(path);
    }
}

/// Drops the clean pages of all files at or below `path` from the page cache.
pub(crate) fn forget(path: &Path) {
    let _ = each_file(path, &mut |file| {
        // Advice only: if the kernel ignores it, the device's counters show it.
        files::forget(&file);
        ControlFlow::Continue(())
    });
}

/// Maximum number of files that are flushed individually.
const FEW: usize = 64;

/// Writes all files at or below `path` back to the device.
///
/// Flushes the files individually if there are few, because a flush of the whole file system also waits for other
/// programs' data. If there are many, opens only as many as needed to determine this.
pub(crate) fn write_back(path: &Path) -> io::Result<()> {
    match few_files(path) {
        Some(files) => files.iter().try_for_each(files::write_back),
        None => files::sync_file_system(&File::open(path)?),
    }
}

/// The files at or below `path`, unless there are many.
fn few_files(path: &Path) -> Option<Vec<File>> {
    let mut files = Vec::new();
    let all = each_file(path, &mut |file| {
        files.push(file);
        if files.len() > FEW { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    all.is_continue().then_some(files)
}

/// Opens every regular file at or below `path`, or the block device there, until `act` stops; does not follow
/// symbolic links.
fn each_file(path: &Path, act: &mut dyn FnMut(File) -> ControlFlow<()>) -> ControlFlow<()> {
    let Ok(found) = fs::symlink_metadata(path) else { return ControlFlow::Continue(()) };
    if found.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            each_file(&entry.path(), act)?;
        }
    } else if (found.is_file() || Details::of(&found).kind == FileType::BlockDevice)
        && let Ok(file) = File::open(path)
    {
        act(file)?;
    }
    ControlFlow::Continue(())
}

/// `settle` waits until the data is on the device, and returns how long that took. It is called twice. The second
/// call has nothing to write: it measures only the search for files, which does not count for the trial. `read` is
/// called between the two, so that it does not include the second call.
pub(super) fn late<T, E>(
    mut settle: impl FnMut() -> Result<Duration, E>,
    read: impl FnOnce() -> T,
) -> Result<(Duration, T), E> {
    let all = settle()?;
    let read = read();
    Ok((all.saturating_sub(settle()?), read))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn what_looking_takes_is_no_part_of_what_was_late() {
        let events = RefCell::new(Vec::new());
        let mut takes = [900, 700].into_iter();
        let settle = || {
            events.borrow_mut().push("settle");
            Ok::<_, ()>(Duration::from_millis(takes.next().unwrap()))
        };
        let read = || {
            events.borrow_mut().push("read");
            7
        };
        assert_eq!(late(settle, read), Ok((Duration::from_millis(200), 7)));
        assert_eq!(events.into_inner(), ["settle", "read", "settle"]);
        // Nothing is late if the second call took longer.
        let mut takes = [3, 4].into_iter();
        let settle = || Ok::<_, ()>(Duration::from_millis(takes.next().unwrap()));
        assert_eq!(late(settle, || ()), Ok((Duration::ZERO, ())));
    }

    #[test]
    fn of_many_files_no_more_are_opened_than_tell_so() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("deep")).unwrap();
        for i in 0..FEW {
            fs::write(dir.path().join(format!("deep/{i}")), "x").unwrap();
        }
        assert_eq!(few_files(dir.path()).unwrap().len(), FEW);
        for i in 0..FEW {
            fs::write(dir.path().join(format!("more-{i}")), "x").unwrap();
        }
        assert!(few_files(dir.path()).is_none());
        let mut opened = 0;
        let enough = each_file(dir.path(), &mut |_| {
            opened += 1;
            if opened > FEW { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!((enough, opened), (ControlFlow::Break(()), FEW + 1));
        write_back(dir.path()).unwrap();
        write_back(&dir.path().join("deep/0")).unwrap();
    }
}
