//! Parameters of a disk for the kernel.

/// Parameters of a disk for the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    /// Bytes; a multiple of 512.
    pub size: u64,
    /// Preferred request size in bytes: request sizes should be multiples of this size. A power of two from 512 to
    /// 4096.
    pub sector: usize,
    /// Whether the kernel refuses writes.
    pub read_only: bool,
    /// Any number; the kernel stores it and returns it on request.
    pub mark: u64,
}
