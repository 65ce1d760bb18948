//! TrueCrypt's format by tcplay(8), or by TrueCrypt's own last program.

use crate::known::{Known, because};
use crate::provision::stand;

/// TrueCrypt volumes, which tcplay maps by dm-crypt.
pub(crate) const TRUECRYPT: Known = Known {
    name: "truecrypt",
    about: "TrueCrypt volumes by tcplay on the kernel's dm-crypt",
    lacks: |machine| {
        if !machine.has("tcplay") && !machine.has("truecrypt") {
            return because("there is neither tcplay nor truecrypt", "apt install tcplay");
        }
        if let Some(crate::Availability::Unavailable { reason, remedy }) =
            stand::lacks_device_mapper(machine)
        {
            return because(
                reason,
                format!("{remedy}; builtin and builtin-mounted measure its ciphers without it"),
            );
        }
        because(
            "setting up volumes with tcplay is not done by cryptbench yet",
            "dm-crypt measures the same mappings; cryptbench volume mount opens its volumes",
        )
    },
};
