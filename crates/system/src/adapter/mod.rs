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
pub(crate) mod plain;
pub(crate) mod qemu_luks;
pub(crate) mod securefs;
pub(crate) mod truecrypt;
pub(crate) mod veracrypt;
pub(crate) mod zfs;
