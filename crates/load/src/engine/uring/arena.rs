//! The memory of all requests, on huge pages where the kernel gives them.
//!
//! A registered buffer on huge pages is described to the block layer by a few long segments
//! instead of one per 4 KiB page, which cuts the software cost of a large request by more than
//! half.

use cryptbench_blockdev::AlignedBuf;
use io_uring::IoUring;

/// Alignment and granularity of an arena: the huge page of x86-64 and of most arm64 kernels.
/// Where huge pages are larger, the arena stays on small ones.
const HUGE: usize = 2 << 20;

/// `MADV_COLLAPSE` of `linux/mman.h`, which not every C library's headers know yet.
const MADV_COLLAPSE: libc::c_int = 25;

/// Largest buffer that the kernel registers.
const MAX_REGISTERED: usize = 1 << 30;

/// Memory that requests in flight point into.
pub(super) struct Arena {
    memory: AlignedBuf,
    /// First byte within `memory` that is aligned to a huge page.
    start: usize,
}

impl Arena {
    /// Usable bytes of an arena that is asked for `len`: whole huge pages.
    pub(super) fn len_for(len: usize) -> usize {
        len.next_multiple_of(HUGE)
    }

    /// At least `len` zeroed bytes.
    pub(super) fn new(len: usize) -> Self {
        let mut memory = AlignedBuf::zeroed(Self::len_for(len) + HUGE);
        let address = memory.as_mut_ptr() as usize;
        let start = address.next_multiple_of(HUGE) - address;
        let mut arena = Self { memory, start };
        arena.collapse();
        arena
    }

    /// Usable bytes.
    pub(super) fn len(&self) -> usize {
        self.memory.len() - HUGE
    }

    /// The first usable byte.
    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.memory[self.start..].as_mut_ptr()
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

    /// Asks for huge pages at once; before Linux 6.1, and where memory is too fragmented, the
    /// pages stay small, which costs time but no correctness.
    fn collapse(&mut self) {
        let len = self.len();
        // SAFETY: the range lies within memory that this arena owns, and collapsing changes no
        // content.
        unsafe { libc::madvise(self.as_mut_ptr().cast(), len, MADV_COLLAPSE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_large_enough_aligned_and_writable_to_its_end() {
        for len in [1, 4096, HUGE - 1, HUGE, HUGE + 1, 5 * HUGE] {
            let mut arena = Arena::new(len);
            assert!(arena.len() >= len);
            let first = arena.as_mut_ptr();
            assert_eq!(first as usize % HUGE, 0);
            let usable = arena.len();
            let all = &mut arena.memory[arena.start..][..usable];
            assert!(all.iter().all(|&b| b == 0));
            all[usable - 1] = 1;
        }
    }
}
