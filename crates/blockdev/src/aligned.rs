//! A heap buffer aligned for direct I/O.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::system;

/// A zero-initialised byte buffer whose address is a multiple of [`AlignedBuf::ALIGN`].
///
/// Direct I/O requires memory aligned to the device's logical block size, which is at most 4096 bytes on current Linux
/// devices. One alignment therefore suits all devices.
pub struct AlignedBuf {
    ptr: NonNull<u8>,
    len: usize,
    owner: Owner,
}

/// The source of the memory.
#[derive(Clone, Copy)]
enum Owner {
    Heap,
    /// The memory is a separate mapping of this many bytes.
    Mapping(usize),
}

impl AlignedBuf {
    /// Alignment of the first byte, in bytes.
    pub const ALIGN: usize = 4096;

    /// Size of a huge page in bytes, on x86-64 and, with 4 KiB base pages, on aarch64.
    pub const HUGE_PAGE: usize = 2 << 20;

    /// Allocates `len` zeroed bytes.
    ///
    /// # Panics
    /// If `len` is zero or overflows `isize`. Aborts if memory is exhausted.
    pub fn zeroed(len: usize) -> Self {
        assert!(len > 0, "an aligned buffer holds at least one byte");
        let layout = Self::layout(len);
        // SAFETY: the layout has a non-zero size, asserted above.
        let ptr = unsafe { alloc_zeroed(layout) };
        let Some(ptr) = NonNull::new(ptr) else { handle_alloc_error(layout) };
        Self { ptr, len, owner: Owner::Heap }
    }

    /// Allocates `len` zeroed bytes, on huge pages if the kernel grants them.
    ///
    /// The block layer treats a physically contiguous request as one segment. With small pages, the page allocator
    /// determines whether a buffer is contiguous, which differs from buffer to buffer. A virtio queue of 256
    /// descriptors holds either eight contiguous requests of 1 MiB, or a single such request whose pages are scattered.
    ///
    /// # Panics
    /// As for [`Self::zeroed`].
    pub fn on_huge_pages(len: usize) -> Self {
        assert!(len > 0, "an aligned buffer holds at least one byte");
        Self::mapped(len).unwrap_or_else(|| Self::zeroed(len))
    }

    fn mapped(len: usize) -> Option<Self> {
        let whole = len.checked_next_multiple_of(Self::HUGE_PAGE)?;
        Some(Self { ptr: system::huge_pages(whole)?, len, owner: Owner::Mapping(whole) })
    }

    /// Number of the buffer's bytes on huge pages, as reported by the operating system; 0 if it does not report this
    /// number.
    pub fn bytes_on_huge_pages(&self) -> usize {
        let start = self.ptr.addr().get();
        // The kernel lists adjacent mappings with the same permissions as one mapping.
        system::on_huge_pages(start..start + self.len).min(self.len)
    }

    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, Self::ALIGN).expect("buffer size overflows")
    }

    /// Address of the first byte, to pass to the kernel.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.ptr.as_ptr()
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `ptr` points to `len` initialised bytes owned by `self`.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        match self.owner {
            // SAFETY: `zeroed` allocated the memory with this layout.
            Owner::Heap => unsafe { dealloc(self.ptr.as_ptr(), Self::layout(self.len)) },
            // SAFETY: `huge_pages` allocated this many bytes, and only `self` owns them.
            Owner::Mapping(len) => unsafe { system::give_back(self.ptr, len) },
        }
    }
}

// SAFETY: the buffer is uniquely owned plain memory.
unsafe impl Send for AlignedBuf {}
// SAFETY: shared access only reads.
unsafe impl Sync for AlignedBuf {}

#[cfg(test)]
mod tests {
    use super::AlignedBuf;

    #[test]
    fn is_aligned_zeroed_and_writable() {
        // A megabyte takes Miri minutes.
        for len in [1, 511, 4096, if cfg!(miri) { 4097 } else { 1 << 20 }] {
            for mut b in [AlignedBuf::zeroed(len), AlignedBuf::on_huge_pages(len)] {
                assert_eq!(b.as_mut_ptr() as usize % AlignedBuf::ALIGN, 0);
                assert_eq!(b.len(), len);
                assert!(b.iter().all(|&x| x == 0));
                b[len - 1] = 7;
                assert_eq!(b[len - 1], 7);
                // Miri cannot open synthetic files of the kernel.
                assert!(cfg!(miri) || b.bytes_on_huge_pages() <= len);
            }
        }
    }
}
