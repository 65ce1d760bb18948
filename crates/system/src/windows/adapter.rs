//! The systems on Windows: those that this program can measure itself, and volumes that the user has opened.

#[path = "../adapter/builtin.rs"]
pub(crate) mod builtin;
#[path = "../adapter/paired.rs"]
pub(crate) mod paired;
#[path = "../adapter/plain.rs"]
pub(crate) mod plain;

use cryptbench_catalog as catalog;

use crate::System;
use crate::kind::unsupported::because;

/// How to measure a volume that the user has opened.
const PAIR: &str = "open a volume and compare a directory on it with one on a plain disk: cryptbench run --pair C:\\plain V:\\";

/// Windows' own disk encryption.
static BITLOCKER: System = System {
    about: "your own BitLocker volume, unlocked by Windows",
    ..System::unsupported(&catalog::BITLOCKER, |_| {
        because(
            "a run does not change how Windows encrypts a disk",
            format!(
                "{PAIR}; `manage-bde -status` shows which disks are encrypted; to measure only its ciphers: cryptbench run --cipher \
                 bitlocker-aes-128-xts"
            ),
        )
    })
};

/// VeraCrypt. Up to version 1.25.9, it also opens TrueCrypt volumes.
static VERACRYPT: System = System {
    about: "your own VeraCrypt or TrueCrypt volume, mounted by its program",
    ..System::unsupported(&catalog::VERACRYPT, |_| {
        because("a run does not set up Windows drivers", PAIR)
    })
};

/// All systems, in the order of tables.
pub(crate) static SYSTEMS: &[&System] =
    &[&plain::PLAIN, &builtin::BUILTIN, &BITLOCKER, &VERACRYPT, &paired::PAIRED];

/// A run on Windows cannot set up any system, so the list is empty.
pub(crate) static ORDER: &[(&System, bool)] = &[];
