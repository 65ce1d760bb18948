//! BitLocker: volumes of Windows, which only their owner can identify and open.

use crate::System;
use crate::kind::unsupported::because;

/// Windows' own disk encryption. cryptsetup(8) opens it with `bitlkOpen`, dislocker(1) in user
/// space.
pub(crate) static BITLOCKER: System = System::unsupported(
    "bitlocker",
    "a BitLocker volume of yours, opened by cryptsetup or dislocker",
    |machine| {
        if !machine.has("cryptsetup") && !machine.has("dislocker") {
            return because(
                "there is neither cryptsetup nor dislocker",
                "apt install cryptsetup-bin (dm-crypt) or dislocker (FUSE)",
            );
        }
        if let (false, Some(crate::Availability::Unavailable { reason, remedy })) =
            (machine.has("dislocker"), machine.lacks_device_mapper())
        {
            return because(
                reason,
                format!("{remedy}; or apt install dislocker, which needs only FUSE"),
            );
        }
        because(
            "only Windows runs its own driver: what that costs cannot be measured here",
            "open a volume (cryptsetup open --type bitlk, or dislocker), mount it, and measure it beside a plain directory: \
             cryptbench run --pair PLAIN ENCRYPTED; its ciphers alone: cryptbench run --builtin-only --cipher \
             bitlocker-aes-128-xts",
        )
    },
);
