//! ZFS with native encryption: ZFS's own programs create a pool on whole devices.

use cryptbench_catalog::{self as catalog, Remedy};

use crate::System;
use crate::kind::unsupported::because;

/// OpenZFS, datasets with `encryption=on`.
pub(crate) static ZFS: System = System::unsupported(&catalog::ZFS, |machine| {
    if !machine.kernel_has("zfs") {
        return because(
            "this kernel has no ZFS (not in /proc/filesystems)",
            Remedy::packages_of(catalog::ZFS.packages)
                .then(" and this kernel's headers, then modprobe zfs"),
        );
    }
    if let Some(program) = machine.missing(&["zpool", "zfs"]) {
        return because(format!("{program} is not installed"), Remedy::program(program));
    }
    because(
        "cryptbench cannot create ZFS pools yet",
        "create a plain and an encrypted dataset in one pool, and run cryptbench in each",
    )
});
