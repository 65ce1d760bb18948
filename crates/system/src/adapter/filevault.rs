//! FileVault 2 on CoreStorage: volumes of macOS, which only their owner can identify and open.

use cryptbench_catalog::{self as catalog, Remedy};

use crate::System;
use crate::kind::unsupported::because;

/// The disk encryption of macOS before APFS. cryptsetup(8) opens it with `fvault2Open` since 2.6.
pub(crate) static FILEVAULT: System = System::unsupported(&catalog::FILEVAULT, |machine| {
    if !machine.has("cryptsetup") {
        return because("cryptsetup is not installed", Remedy::program("cryptsetup"));
    }
    if let Some(crate::Availability::Unavailable { reason, remedy }) = machine.lacks_device_mapper()
    {
        return because(reason, remedy);
    }
    because(
        "only macOS can create FileVault 2 volumes, so a run cannot create one",
        "open an existing volume (cryptsetup open --type fvault2, 2.6 or later), mount it, and compare it with a \
             plain directory: cryptbench run --pair PLAIN ENCRYPTED; to measure only its cipher: cryptbench run --builtin-only \
             --cipher filevault-aes-128-xts",
    )
});
