//! One module per encryption system.

pub(crate) mod bcachefs;
pub(crate) mod bindfs;
pub(crate) mod bitlocker;
pub(crate) mod builtin;
pub(crate) mod builtin_mounted;
pub(crate) mod cryfs;
pub(crate) mod delay;
pub(crate) mod dmcrypt;
pub(crate) mod ecryptfs;
pub(crate) mod encfs;
pub(crate) mod filevault;
pub(crate) mod fscrypt;
pub(crate) mod gocryptfs;
pub(crate) mod nbdkit_luks;
pub(crate) mod opal;
pub(crate) mod paired;
pub(crate) mod passing;
pub(crate) mod plain;
pub(crate) mod qemu_luks;
pub(crate) mod rclone;
pub(crate) mod securefs;
pub(crate) mod truecrypt;
pub(crate) mod veracrypt;
pub(crate) mod zfs;

use crate::System;

/// All systems, in the order of tables.
pub(crate) static SYSTEMS: &[&System] = &[
    &plain::PLAIN,
    &builtin::BUILTIN,
    &builtin_mounted::BUILTIN_MOUNTED,
    &builtin_mounted::BUILTIN_RAW,
    &dmcrypt::DM_CRYPT,
    &qemu_luks::QEMU_LUKS,
    &nbdkit_luks::NBDKIT_LUKS,
    &veracrypt::VERACRYPT,
    &truecrypt::TRUECRYPT,
    &bindfs::BINDFS,
    &delay::DELAY,
    &passing::SERIAL,
    &passing::SERIAL_MOUNTED,
    &passing::PIECES,
    &passing::PIECES_MOUNTED,
    &gocryptfs::GOCRYPTFS,
    &encfs::ENCFS,
    &cryfs::CRYFS,
    &securefs::SECUREFS,
    &rclone::RCLONE,
    &fscrypt::FSCRYPT,
    &ecryptfs::ECRYPTFS,
    &bitlocker::BITLOCKER,
    &filevault::FILEVAULT,
    &zfs::ZFS,
    &bcachefs::BCACHEFS,
    &opal::OPAL,
    &paired::PAIRED,
];

/// Default order; `true` means that an unavailable system is reported. The others are considered only if the
/// set is not full.
///
/// Kernel systems come first, then those that users install, and then this program's mounts, which work on
/// every machine with FUSE.
pub(crate) static ORDER: &[(&System, bool)] = &[
    (&dmcrypt::DM_CRYPT, true),
    (&veracrypt::VERACRYPT, true),
    (&gocryptfs::GOCRYPTFS, true),
    (&builtin_mounted::BUILTIN_MOUNTED, true),
    (&builtin_mounted::BUILTIN_RAW, true),
    (&securefs::SECUREFS, false),
    (&cryfs::CRYFS, false),
    // Last, because its own documentation advises against using it.
    (&encfs::ENCFS, false),
];
