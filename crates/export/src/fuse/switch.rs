//! The kernel's setting for FUSE over io_uring, which is off by default.
#![expect(clippy::disallowed_methods, reason = "files of /sys")]

use std::fs::{File, TryLockError};
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

const SWITCH: &str = "/sys/module/fuse/parameters/enable_uring";

/// How long to wait for other servers that are starting.
const PATIENCE: Duration = Duration::from_secs(2);

/// Keeps FUSE over io_uring enabled for new connections, and restores the setting afterwards.
///
/// The kernel reads the setting when a connection is created; connections that already use io_uring continue to do so.
/// Only one server at a time holds this guard, so that no server disables the setting while another needs it.
pub(super) struct UringSwitch {
    file: File,
    was_off: bool,
}

impl UringSwitch {
    /// Enables the setting. `None` if the kernel does not have the setting (before 6.14), or if the setting is off and
    /// this user may not change it.
    pub(super) fn on() -> Option<Self> {
        let file = File::options().read(true).write(true).open(SWITCH);
        let file = file.or_else(|_| File::open(SWITCH)).ok()?;
        // Any user can lock the file, but this must not prevent other users from mounting.
        let until = Instant::now() + PATIENCE;
        while let Err(e) = file.try_lock() {
            if matches!(e, TryLockError::Error(_)) || Instant::now() > until {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut state = [0];
        file.read_at(&mut state, 0).ok()?;
        let was_off = state != *b"Y";
        if was_off {
            file.write_at(b"Y", 0).ok()?;
        }
        Some(Self { file, was_off })
    }
}

impl Drop for UringSwitch {
    fn drop(&mut self) {
        if self.was_off {
            let _ = self.file.write_at(b"N", 0);
        }
    }
}
