//! File systems that a new volume can have.

/// A file system for a new volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystemKind {
    /// Linux's usual file system.
    Ext4,
    /// For large files and parallel writers.
    Xfs,
    /// With checksums and snapshots.
    Btrfs,
    /// FAT32: readable everywhere, files up to 4 GiB.
    Vfat,
    /// exFAT: readable on Windows, macOS and Linux.
    Exfat,
    /// NTFS: Windows' own.
    Ntfs,
}
