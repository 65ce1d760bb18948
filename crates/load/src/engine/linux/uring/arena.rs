//! The memory of all requests, on huge pages where the kernel grants them.
//!
//! On small pages it is luck how many segments a request has, it differs between runs and between the
//! buffers of one run, and it moves a disk's bandwidth by half: see [`AlignedBuf::on_huge_pages`].

use cryptbench_blockdev::AlignedBuf;
use io_uring::IoUring;

/// Largest buffer that the kernel registers.
const MAX_REGISTERED: usize = 1 << 30;

/// Memory that requests in flight point into.
pub(super) struct Arena {
    memory: AlignedBuf,
    pages: &'static str,
}

impl Arena {
    /// `len` zeroed bytes.
    pub(super) fn new(len: usize) -> Self {
        let memory = AlignedBuf::on_huge_pages(len);
        let pages = if memory.bytes_on_huge_pages() == len { "huge pages" } else { "small pages" };
        Self { memory, pages }
    }

    /// Bytes.
    pub(super) fn len(&self) -> usize {
        self.memory.len()
    }

    /// What the memory lies on, for people.
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
