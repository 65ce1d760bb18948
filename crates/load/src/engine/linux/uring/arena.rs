//! The memory of all requests, on huge pages if the kernel grants them.
//!
//! On small pages, the number of segments per request depends on chance. The number differs between runs and between
//! the buffers of one run, and changes a disk's bandwidth by up to half: see [`AlignedBuf::on_huge_pages`].

use cryptbench_blockdev::AlignedBuf;
use io_uring::IoUring;

/// Largest buffer that the kernel registers, in bytes.
const MAX_REGISTERED: usize = 1 << 30;

/// The memory to which the requests in flight point.
pub(super) struct Arena {
    memory: AlignedBuf,
    pages: &'static str,
}

impl Arena {
    /// Allocates `len` zeroed bytes.
    pub(super) fn new(len: usize) -> Self {
        let memory = AlignedBuf::on_huge_pages(len);
        let pages = if memory.bytes_on_huge_pages() == len { "huge pages" } else { "small pages" };
        Self { memory, pages }
    }

    /// Size in bytes.
    pub(super) fn len(&self) -> usize {
        self.memory.len()
    }

    /// The kind of pages, for display.
    pub(super) fn pages(&self) -> &'static str {
        self.pages
    }

    /// The first byte.
    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr()
    }

    /// Registers the arena as buffer 0 of a ring.
    ///
    /// # Safety
    /// The arena must outlive the registration: drop it only after `unregister_buffers` or after
    /// the ring.
    ///
    /// # Errors
    /// The kernel's reason for refusal, in words.
    pub(super) unsafe fn register(&mut self, ring: &IoUring) -> Result<(), String> {
        let len = self.len();
        if len > MAX_REGISTERED {
            return Err(format!("{len} bytes exceed the kernel's limit of {MAX_REGISTERED}"));
        }
        let iovec = libc::iovec { iov_base: self.as_mut_ptr().cast(), iov_len: len };
        // SAFETY: the memory is valid for `len` bytes, and this function's contract keeps it valid
        // while it is registered.
        unsafe { ring.submitter().register_buffers(&[iovec]) }.map_err(|e| match e.raw_os_error() {
            Some(libc::ENOMEM) => format!("{len} bytes exceed the limit on locked memory"),
            _ => e.to_string(),
        })
    }
}
