//! BitLocker: volumes of Windows, which only their owner can name and open.

use crate::known::{Known, because};
use crate::provision::stand;

/// Windows' own disk encryption. cryptsetup(8) opens it by `bitlkOpen`, dislocker(1) in user space.
pub(crate) const BITLOCKER: Known = Known {
    name: "bitlocker",
    about: "a BitLocker volume of yours, opened by cryptsetup or dislocker",
    lacks: |machine| {
        if !machine.has("cryptsetup") && !machine.has("dislocker") {
            return because(
                "there is neither cryptsetup nor dislocker",
                "apt install cryptsetup-bin (dm-crypt) or dislocker (FUSE)",
            );
        }
        if let (false, Some(crate::Availability::Unavailable { reason, remedy })) =
            (machine.has("dislocker"), stand::lacks_device_mapper(machine))
        {
            return because(
                reason,
                format!("{remedy}; or apt install dislocker, which needs only FUSE"),
            );
        }
        because(
            "only Windows makes BitLocker volumes: a run cannot make one to measure",
            "open one of yours (cryptsetup open --type bitlk, or dislocker), mount it, and measure it beside a plain \
             directory: cryptbench run --pair PLAIN ENCRYPTED",
        )
    },
};
