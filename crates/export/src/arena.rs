//! Memory for requests: on huge pages if the kernel grants them, and allocated only when used.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Anonymous memory from the kernel: zeroed, aligned to huge pages, and resident only where it has been accessed.
///
/// The block layer treats a physically contiguous request as one segment. A request on scattered small pages has up
/// to 256 segments, and disks limit the number of segments in flight.
pub(crate) struct Arena {
    /// Start of the mapping.
    base: NonNull<u8>,
    reserved: usize,
    /// The first huge page in the mapping.
    start: NonNull<u8>,
    len: usize,
    leaks: AtomicBool,
}

// SAFETY: an arena is plain memory. Threads that share an arena access it only through pointers, and agree on the part
// that each of them may use.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    pub(crate) fn new(len: usize) -> std::io::Result<Self> {
        let huge = cryptbench_blockdev::AlignedBuf::HUGE_PAGE;
        let reserved = len.next_multiple_of(huge) + huge;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address that the kernel chooses does not affect other memory.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), reserved, protection, flags) }?;
        let base = NonNull::new(base.cast::<u8>()).ok_or(std::io::ErrorKind::OutOfMemory)?;
        // SAFETY: the offset is less than one huge page, and the mapping is longer than a huge page.
        let start = unsafe { base.add(base.align_offset(huge)) };
        // SAFETY: the range is in this mapping, and the advice does not change the content; the kernel may refuse the
        // advice.
        let _ = unsafe {
            madvise(start.as_ptr().cast(), len.next_multiple_of(huge), Advice::LinuxHugepage)
        };
        Ok(Self { base, reserved, start, len, leaks: AtomicBool::new(false) })
    }

    /// The whole arena.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        self.part(0, self.len)
    }

    /// `len` bytes from offset `at`. The kernel may write to other parts at the same time.
    pub(crate) fn part(&mut self, at: usize, len: usize) -> &mut [u8] {
        assert!(at <= self.len && len <= self.len - at, "a part of the arena");
        // SAFETY: the bytes are in the mapping, as checked above, and are initialised; `&mut self` excludes
        // other references.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), len) }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Address of `len` bytes from offset `at`, for other users of the arena.
    pub(crate) fn at(&self, at: usize, len: usize) -> *mut u8 {
        assert!(at <= self.len && len <= self.len - at, "a part of the arena");
        // SAFETY: the bytes are in the mapping, as checked above.
        unsafe { self.start.as_ptr().add(at) }
    }

    /// Never unmaps the memory, because the kernel or another thread may still access it.
    pub(crate) fn leak(&self) {
        self.leaks.store(true, Ordering::Relaxed);
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if *self.leaks.get_mut() {
            return;
        }
        // SAFETY: `new` mapped the memory with this length; no borrow outlives `self`.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.reserved) };
    }
}
