//! Self-encrypting drives (TCG Opal): the drive always encrypts, locked or not.

use cryptbench_catalog::{self as catalog, Remedy};

use crate::System;
use crate::kind::unsupported::because;

/// A drive's own encryption, set up with `cryptsetup luksFormat --hw-opal-only` (2.7 and later) or
/// sedutil.
pub(crate) static OPAL: System = System::unsupported(&catalog::OPAL, |machine| {
    if !machine.has("sedutil-cli") && !machine.has("cryptsetup") {
        return because(
            "neither sedutil-cli nor cryptsetup is installed",
            Remedy::program("cryptsetup").then(" (2.7 or later), or sedutil from its project"),
        );
    }
    because(
        "cryptbench does not take ownership of a drive: if it were killed, only a reset by the PSID on the drive's label, which \
         erases it, would make the drive usable again",
        "lock a partition with `cryptsetup luksFormat --hw-opal-only` and compare it with another one: cryptbench run --pair \
         PLAIN OPAL; `cryptbench doctor` as root shows whether the drive supports Opal",
    )
});
