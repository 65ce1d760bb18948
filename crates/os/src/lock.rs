//! Locks on open files, with which programs signal to each other that a file is in use.

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

/// Locks a file (Linux: flock(2)). Waits up to `patience` for another holder to release the lock. The lock belongs to
/// the open file, and is released when that file is closed; a lock that the file already has is released first.
///
/// An exclusive lock on a file that is open for writing also respects record locks (fcntl(2)), which virtual machines
/// place on their disks, because QEMU does not use flock(2).
///
/// # Errors
/// `WouldBlock` if the file is still locked after that time; otherwise the operating system's error, for
/// example if the file system does not support locks.
pub fn lock_within(file: &File, how: Lock, patience: Duration) -> io::Result<()> {
    let until = Instant::now() + patience;
    loop {
        crate::system::lock::give_up(file);
        let tried = match how {
            _ if how == Lock::Exclusive && crate::system::lock::is_locked_by_record(file) => {
                Err(TryLockError::WouldBlock)
            }
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
    /// Holds one byte of a file in the way of the first argument, says so, and ends with its input.
    #[cfg(target_os = "linux")]
    const HOLDER: &str = r#"
import fcntl, struct, sys
file = open(sys.argv[2], "r+b")
kind = fcntl.F_RDLCK if "read" in sys.argv[1] else fcntl.F_WRLCK
if "ofd" in sys.argv[1]:
    F_OFD_SETLK = 37
    fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqixxxx", kind, 0, 100, 1, 0))
else:
    fcntl.fcntl(file, fcntl.F_SETLK, struct.pack("hhqqixxxx", kind, 0, 200, 1, 0))
print("held", flush=True)
sys.stdin.read()
"#;

    #[cfg(target_os = "linux")]
    #[test]
    fn record_locks_of_another_process_keep_writers_away() {
        use std::io::{BufRead as _, BufReader};
        use std::process::{Command, Stdio};

        let file = tempfile::NamedTempFile::new().unwrap();
        let at_once = |how| lock_within(&file.reopen().unwrap(), how, Duration::ZERO);
        // QEMU acquires read locks of open files (OFD); other programs those of processes.
        for how in ["ofd read", "ofd write", "posix read", "posix write"] {
            let started = Command::new("python3")
                .args(["-c", HOLDER, how])
                .arg(file.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn();
            let Ok(mut holder) = started else {
                eprintln!("SKIPPED: no python3 here");
                return;
            };
            let mut said = String::new();
            BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
            assert_eq!(said, "held\n", "{how}");
            let error = at_once(Lock::Exclusive).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{how}");
            at_once(Lock::Shared).unwrap();
            drop(holder.stdin.take());
            holder.wait().unwrap();
            at_once(Lock::Exclusive).unwrap();
        }
    }
}
