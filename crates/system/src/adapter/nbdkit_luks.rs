//! nbdkit's LUKS filter: LUKS1 in user space behind a network block device.

use std::path::Path;

use crate::known::{Known, because};

/// nbdkit-luks-filter(1), which needs a kernel with network block devices to be a disk.
pub(crate) const NBDKIT_LUKS: Known = Known {
    name: "nbdkit-luks",
    about: "LUKS1 in user space by nbdkit's filter, behind a network block device",
    lacks: |machine| {
        if let Some(program) = machine.missing(&["nbdkit", "nbd-client"]) {
            return because(
                format!("there is no program {program}"),
                "apt install nbdkit nbd-client",
            );
        }
        if !Path::new("/dev/nbd0").exists() {
            return because(
                "this kernel has no network block devices (there is no /dev/nbd0)",
                "modprobe nbd; if there is no such module, run a kernel with CONFIG_BLK_DEV_NBD",
            );
        }
        because(
            "attaching network block devices is not done by cryptbench yet",
            "take qemu-luks, which serves the same format through FUSE",
        )
    },
};
