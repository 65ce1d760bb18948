//! bcachefs with encryption: a kernel file system with its own authenticated encryption.

use cryptbench_catalog::{self as catalog, Remedy};

use crate::System;
use crate::kind::unsupported::because;

/// bcachefs, formatted with `--encrypted` (ChaCha20-Poly1305).
pub(crate) static BCACHEFS: System = System::unsupported(&catalog::BCACHEFS, |machine| {
    if !machine.kernel_has("bcachefs") {
        let module = "modprobe bcachefs; kernels before 6.7 and from 6.18 on have it only as a module of its own (";
        return because(
            "this kernel has no bcachefs (/proc/filesystems does not list it)",
            Remedy::program("bcachefs").after(module).then(", where there is a DKMS package)"),
        );
    }
    if !machine.has("bcachefs") {
        return because("there is no program bcachefs", Remedy::program("bcachefs"));
    }
    because(
        "making bcachefs is not done by cryptbench yet",
        "bcachefs format --encrypted on a loop device, mount it, and run cryptbench there and on a plain one",
    )
});
