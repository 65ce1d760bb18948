//! The kernel's setting for FUSE over io_uring, which is off by default.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;

const SWITCH: &str = "/sys/module/fuse/parameters/enable_uring";

/// Keeps FUSE over io_uring enabled for new connections, and restores the setting afterwards.
///
/// The kernel reads the setting when a connection is made; connections that already use io_uring
/// keep it. Only one server at a time holds this guard, so that none disables the setting while
/// another one needs it.
pub(super) struct UringSwitch {
    file: File,
    was_off: bool,
}

impl UringSwitch {
    /// Enables it. `None` if this kernel has no such setting (before 6.14) or this user may not
    /// change it.
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
