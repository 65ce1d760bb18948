//! Parameters of a disk for the kernel.

/// Parameters of a disk for the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    /// Bytes; a multiple of 512.
    pub size: u64,
    /// Requests should be a multiple of this many bytes; a power of two from 512 to 4096.
    pub sector: usize,
    /// Whether the kernel refuses writes.
    pub read_only: bool,
    /// Any number, which the kernel stores and returns.
    pub mark: u64,
}
