//! ZFS with native encryption: its own programs create a pool on whole devices.

use cryptbench_catalog::{self as catalog, Remedy};

use crate::System;
use crate::kind::unsupported::because;

/// OpenZFS, datasets with `encryption=on`.
pub(crate) static ZFS: System = System::unsupported(&catalog::ZFS, |machine| {
    if !machine.kernel_has("zfs") {
        return because(
            "this kernel has no ZFS (/proc/filesystems does not list it)",
            Remedy::packages_of(catalog::ZFS.packages)
                .then(" and the headers of this kernel, then modprobe zfs"),
        );
    }
    if let Some(program) = machine.missing(&["zpool", "zfs"]) {
        return because(format!("there is no program {program}"), Remedy::program(program));
    }
    because(
        "making pools is not done by cryptbench yet",
        "make a plain and an encrypted dataset in one pool, and run cryptbench in each",
    )
});
