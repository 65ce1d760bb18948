//! Self-encrypting drives (TCG Opal): the drive always encrypts, locked or not.

use crate::System;
use crate::kind::unsupported::because;

/// A drive's own encryption, set up with `cryptsetup luksFormat --hw-opal-only` (2.7 and later) or
/// sedutil.
pub(crate) static OPAL: System = System::unsupported(
    "opal",
    "a self-encrypting drive: as fast as plain storage, for it encrypts always, with a key of its own",
    |machine| {
        if !machine.has("sedutil-cli") && !machine.has("cryptsetup") {
            return because(
                "there is neither sedutil-cli nor cryptsetup",
                "apt install cryptsetup-bin (2.7 or later), or sedutil from its project",
            );
        }
        because(
            "taking possession of a drive erases all of it, which cryptbench does not do to a directory's disk",
            "measure the drive as it is: with Opal its plain speed is its encrypted speed; sedutil-cli --scan \
             tells which drives are of this kind",
        )
    },
);
