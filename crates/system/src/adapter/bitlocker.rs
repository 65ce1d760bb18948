//! BitLocker: volumes of Windows, which only their owner can identify and open.

use cryptbench_catalog::{self as catalog, Remedy};

use crate::System;
use crate::kind::unsupported::because;

/// Windows' own disk encryption. cryptsetup(8) opens it with `bitlkOpen`, dislocker(1) in user
/// space.
pub(crate) static BITLOCKER: System = System::unsupported(&catalog::BITLOCKER, |machine| {
    if !machine.has("cryptsetup") && !machine.has("dislocker") {
        return because(
            "neither cryptsetup nor dislocker is installed",
            Remedy::program("cryptsetup").then(" (dm-crypt) or dislocker (FUSE)"),
        );
    }
    if let (false, Some(crate::Availability::Unavailable { reason, remedy })) =
        (machine.has("dislocker"), machine.lacks_device_mapper())
    {
        let or = Remedy::program("dislocker").after("or ").then(", which needs only FUSE");
        return because(reason, remedy.besides(or));
    }
    because(
        "Windows' own driver runs only on Windows, so its cost cannot be measured here",
        "open a volume (cryptsetup open --type bitlk, or dislocker), mount it, and compare it with a plain directory: \
             cryptbench run --pair PLAIN ENCRYPTED; to measure only its ciphers: cryptbench run --builtin-only --cipher \
             bitlocker-aes-128-xts",
    )
});
