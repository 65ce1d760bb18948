//! How a device is served through FUSE.

/// Options of [`mount`](super::mount).
#[derive(Clone, Debug)]
pub struct FuseOptions {
    /// Name of the only file in the mount.
    pub file_name: String,
    /// Refuses every write.
    pub read_only: bool,
    /// Passes holes punched into the file down to the device as discards, if discarded ranges read as zeros. Never
    /// set for an encrypted volume, whose clients can discard over NBD, where TRIM does not promise zeros.
    pub discard: bool,
    /// Lets other users access the mount. For unprivileged users this requires `user_allow_other` in
    /// `/etc/fuse.conf`.
    pub allow_other: bool,
    /// How requests arrive from the kernel.
    pub transport: Transport,
    /// Owner and group of the file; the owner and group of this process if `None`.
    pub owner: Option<(u32, u32)>,
    /// Number of threads that read `/dev/fuse`; each handles one request at a time. With io_uring, there are twice as
    /// many threads for long requests.
    pub threads: usize,
}

/// How requests arrive from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// io_uring if the kernel supports it and the device is a range of a file, otherwise [`Device`](Self::Device).
    /// This is the default: many small requests then need half of the CPU time (docs/benchmarks-internals.md).
    Auto,
    /// Threads that read `/dev/fuse`.
    Device,
    /// io_uring; mounting fails without it.
    Uring,
}

impl Default for FuseOptions {
    fn default() -> Self {
        Self {
            file_name: "volume".to_owned(),
            read_only: false,
            discard: false,
            allow_other: false,
            transport: Transport::Auto,
            owner: None,
            threads: 16,
        }
    }
}
