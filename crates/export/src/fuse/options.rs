//! How a device is served through FUSE.

/// Options of [`mount`](super::mount).
#[derive(Clone, Debug)]
pub struct FuseOptions {
    /// Name of the only file in the mount.
    pub file_name: String,
    /// Refuse every write.
    pub read_only: bool,
    /// Pass holes that are punched into the file on to the device, if what it discards reads as zeros.
    /// An encrypted volume never does: there, discard goes over NBD, whose TRIM promises no zeros.
    pub discard: bool,
    /// Let other users reach the mount. As an ordinary user this needs `user_allow_other` in
    /// `/etc/fuse.conf`.
    pub allow_other: bool,
    /// The way requests come from the kernel.
    pub transport: Transport,
    /// Threads that take requests from `/dev/fuse`, each with one of them at a time.
    pub threads: usize,
}

/// The way requests come from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Threads that read `/dev/fuse`. The default: on two CPUs it measured no slower than io_uring, it
    /// needs no switch of the kernel's, and it lets the scheduler choose where a request is carried out.
    Device,
    /// io_uring where it can be had, otherwise as [`Device`](Self::Device).
    PreferUring,
    /// io_uring or an error.
    Uring,
}

impl Default for FuseOptions {
    fn default() -> Self {
        Self {
            file_name: "volume".to_owned(),
            read_only: false,
            discard: false,
            allow_other: false,
            transport: Transport::Device,
            threads: 16,
        }
    }
}
