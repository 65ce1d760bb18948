//! The kernel's switch for FUSE over io_uring, which is off by default.

use std::fs;

const SWITCH: &str = "/sys/module/fuse/parameters/enable_uring";

/// Keeps FUSE over io_uring allowed for new connections, and leaves the switch as it was found.
///
/// The kernel reads it when a connection is made; those that have io_uring keep it.
pub(super) struct UringSwitch {
    was_off: bool,
}

impl UringSwitch {
    /// Turns it on. `None` if this kernel has no such switch (before 6.14) or this user may not.
    pub(super) fn on() -> Option<Self> {
        let was_off = fs::read_to_string(SWITCH).ok()?.trim() != "Y";
        if was_off {
            fs::write(SWITCH, "Y").ok()?;
        }
        Some(Self { was_off })
    }
}

impl Drop for UringSwitch {
    fn drop(&mut self) {
        if self.was_off {
            let _ = fs::write(SWITCH, "N");
        }
    }
}
