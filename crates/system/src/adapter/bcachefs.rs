//! bcachefs with encryption: a kernel file system with its own authenticated encryption.

use cryptbench_catalog as catalog;

use crate::System;
use crate::kind::unsupported::because;

/// bcachefs, formatted with `--encrypted` (ChaCha20-Poly1305).
pub(crate) static BCACHEFS: System = System::unsupported(&catalog::BCACHEFS, |machine| {
    if !machine.kernel_has("bcachefs") {
        return because(
            "this kernel has no bcachefs (not in /proc/filesystems)",
            "modprobe bcachefs; kernels before 6.7 or from 6.18 on need the module from bcachefs.org",
        );
    }
    if !machine.has("bcachefs") {
        return because(
            "bcachefs is not installed",
            "install bcachefs-tools from bcachefs.org: Debian 12 and 13 have no package of it",
        );
    }
    because(
        "cryptbench cannot create bcachefs file systems yet",
        "create one on a loop device (bcachefs format --encrypted), mount it, and run cryptbench there and on a plain \
         file system",
    )
});
