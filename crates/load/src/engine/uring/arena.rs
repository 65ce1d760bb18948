//! The memory of all requests, on ordinary pages as the buffers of applications are.
//!
//! Huge pages would describe a large request to the block layer in fewer segments, and so measure a
//! disk that applications do not see: where a queue takes 254 segments (virtio), a request of 1 MiB
//! on 4 KiB pages is split in two, and one on a huge page is not.

use cryptbench_blockdev::AlignedBuf;
use io_uring::IoUring;

/// Largest buffer that the kernel registers.
const MAX_REGISTERED: usize = 1 << 30;

/// Memory that requests in flight point into.
pub(super) struct Arena {
    memory: AlignedBuf,
}

impl Arena {
    /// `len` zeroed bytes.
    pub(super) fn new(len: usize) -> Self {
        let mut memory = AlignedBuf::zeroed(len);
        // SAFETY: the range is this buffer's own memory, and the advice changes no content. Where it
        // is refused, pages may be huge, which costs comparability and no correctness.
        unsafe { libc::madvise(memory.as_mut_ptr().cast(), len, libc::MADV_NOHUGEPAGE) };
        Self { memory }
    }

    /// Bytes.
    pub(super) fn len(&self) -> usize {
        self.memory.len()
    }

    /// The first byte.
    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr()
    }

    /// Registers the arena as buffer 0 of a ring.
    ///
    /// # Safety
    /// The arena outlives the registration: it is dropped after `unregister_buffers` or with the
    /// ring.
    ///
    /// # Errors
    /// In words, why the kernel refused.
    pub(super) unsafe fn register(&mut self, ring: &IoUring) -> Result<(), String> {
        let len = self.len();
        if len > MAX_REGISTERED {
            return Err(format!("{len} bytes exceed the kernel's limit of {MAX_REGISTERED}"));
        }
        let iovec = libc::iovec { iov_base: self.as_mut_ptr().cast(), iov_len: len };
        // SAFETY: the memory is valid for `len` bytes, and for as long as it is registered by
        // this function's contract.
        unsafe { ring.submitter().register_buffers(&[iovec]) }.map_err(|e| match e.raw_os_error() {
            Some(libc::ENOMEM) => format!("{len} bytes exceed the limit on locked memory"),
            _ => e.to_string(),
        })
    }
}
