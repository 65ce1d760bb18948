//! A heap buffer aligned for direct I/O.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A zero-initialised byte buffer whose address is a multiple of [`AlignedBuf::ALIGN`].
///
/// Direct I/O requires memory aligned to the device's logical block size, 4096 bytes at most on
/// current Linux devices; one alignment serves them all.
pub struct AlignedBuf {
    ptr: NonNull<u8>,
    len: usize,
}

impl AlignedBuf {
    /// Alignment of the first byte, in bytes.
    pub const ALIGN: usize = 4096;

    /// Allocates `len` zeroed bytes.
    ///
    /// # Panics
    /// When `len` is zero or overflows `isize`. Aborts when memory is exhausted.
    pub fn zeroed(len: usize) -> Self {
        assert!(len > 0, "an aligned buffer holds at least one byte");
        let layout = Self::layout(len);
        // SAFETY: the layout has a non-zero size, asserted above.
        let ptr = unsafe { alloc_zeroed(layout) };
        let Some(ptr) = NonNull::new(ptr) else { handle_alloc_error(layout) };
        Self { ptr, len }
    }

    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, Self::ALIGN).expect("buffer size overflows")
    }

    /// Address of the first byte, for the kernel.
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
        // SAFETY: allocated in `zeroed` with this very layout.
        unsafe { dealloc(self.ptr.as_ptr(), Self::layout(self.len)) }
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
        for len in [1, 511, 4096, 1 << 20] {
            let mut b = AlignedBuf::zeroed(len);
            assert_eq!(b.as_mut_ptr() as usize % AlignedBuf::ALIGN, 0);
            assert_eq!(b.len(), len);
            assert!(b.iter().all(|&x| x == 0));
            b[len - 1] = 7;
            assert_eq!(b[len - 1], 7);
        }
    }
}
