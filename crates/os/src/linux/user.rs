//! Users by their numbers.

use rustix::process::{geteuid, getuid};

pub(crate) fn effective() -> u32 {
    geteuid().as_raw()
}

pub(crate) fn real() -> u32 {
    getuid().as_raw()
}

pub(crate) fn is_root() -> bool {
    geteuid().is_root()
}
