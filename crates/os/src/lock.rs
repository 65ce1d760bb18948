//! Locks on open files, by which programs show each other that they use a file.

use std::fs::{File, TryLockError};
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time between two attempts.
const POLL: Duration = Duration::from_millis(50);

/// The mode of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Shared with other readers.
    Shared,
    /// For one process only.
    Exclusive,
}

/// Locks a file (Linux: flock(2)). Waits at most `patience` for another holder. The lock belongs to
/// the open file and ends with it; one that the file has already is given up for the new one.
///
/// # Errors
/// `WouldBlock` if it is still locked after that; otherwise the operating system's error, for
/// example if the file system has no locks.
pub fn lock_within(file: &File, how: Lock, patience: Duration) -> io::Result<()> {
    let until = Instant::now() + patience;
    loop {
        crate::system::lock::give_up(file);
        let tried = match how {
            Lock::Shared => file.try_lock_shared(),
            Lock::Exclusive => file.try_lock(),
        };
        match tried {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(POLL),
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Whether another program holds a record lock on a file (fcntl(2)), as QEMU does. If not, this
/// process then holds the lock until it closes any descriptor of the file. False on systems with a
/// single kind of locks.
#[must_use]
pub fn is_locked_by_record(file: &File) -> bool {
    crate::system::lock::is_locked_by_record(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_locks_alone_keeps_others_away() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(file.path()).unwrap();
        let at_once = |file: &File, how| lock_within(file, how, Duration::ZERO);
        let (one, two) = (open(), open());
        at_once(&one, Lock::Shared).unwrap();
        at_once(&two, Lock::Shared).unwrap();
        let error = at_once(&two, Lock::Exclusive).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(one);
        at_once(&two, Lock::Exclusive).unwrap();
        assert!(at_once(&open(), Lock::Shared).is_err());
    }
}
