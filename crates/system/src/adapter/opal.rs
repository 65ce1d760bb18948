//! Self-encrypting drives (TCG Opal): the drive always encrypts, locked or not.

use cryptbench_catalog::{self as catalog, Remedy};

use crate::System;
use crate::kind::unsupported::because;

/// A drive's own encryption, set up with `cryptsetup luksFormat --hw-opal-only` (2.7 and later) or
/// sedutil.
pub(crate) static OPAL: System = System::unsupported(&catalog::OPAL, |machine| {
    if !machine.has("sedutil-cli") && !machine.has("cryptsetup") {
        return because(
            "there is neither sedutil-cli nor cryptsetup",
            Remedy::program("cryptsetup").then(" (2.7 or later), or sedutil from its project"),
        );
    }
    because(
        "taking possession of a drive erases all of it, which cryptbench does not do to a directory's disk",
        "measure the drive as it is: with Opal its plain speed is its encrypted speed; `cryptbench doctor` as root tells whether \
             the drive is of this kind",
    )
});
