//! bcachefs with encryption: a kernel file system that encrypts and authenticates by itself.

use crate::System;
use crate::kind::unsupported::because;

/// bcachefs, formatted with `--encrypted` (ChaCha20-Poly1305).
pub(crate) static BCACHEFS: System = System::unsupported(
    "bcachefs",
    "bcachefs with its own encryption (ChaCha20-Poly1305)",
    |machine| {
        if !machine.kernel_has("bcachefs") {
            return because(
                "this kernel has no bcachefs (/proc/filesystems does not list it)",
                "modprobe bcachefs; kernels before 6.7 and from 6.18 on have it only as a module of its own \
                 (apt install bcachefs-tools, where there is a DKMS package)",
            );
        }
        if !machine.has("bcachefs") {
            return because("there is no program bcachefs", "apt install bcachefs-tools");
        }
        because(
            "making bcachefs is not done by cryptbench yet",
            "bcachefs format --encrypted on a loop device, mount it, and run cryptbench there and on a plain one",
        )
    },
);
