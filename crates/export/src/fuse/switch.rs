//! The kernel's switch for FUSE over io_uring, which is off by default.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;

const SWITCH: &str = "/sys/module/fuse/parameters/enable_uring";

/// Keeps FUSE over io_uring allowed for new connections, and leaves the switch as it was found.
///
/// The kernel reads it when a connection is made; those that have io_uring keep it. One server at a time
/// holds it, so that none turns it off under another.
pub(super) struct UringSwitch {
    file: File,
    was_off: bool,
}

impl UringSwitch {
    /// Turns it on. `None` if this kernel has no such switch (before 6.14) or this user may not.
    pub(super) fn on() -> Option<Self> {
        let mut file = File::options().read(true).write(true).open(SWITCH).ok()?;
        file.lock().ok()?;
        let mut state = String::new();
        file.read_to_string(&mut state).ok()?;
        let was_off = state.trim() != "Y";
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
