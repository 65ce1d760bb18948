//! Memory for requests: on huge pages where the kernel grants them, and none until it is used.

use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Anonymous memory from the kernel: zeroed, aligned to huge pages, resident where it was touched.
///
/// A request in one physical run of memory is one segment to the block layer, where strewn small pages
/// are up to 256, and disks take only so many segments at once.
pub(super) struct Arena {
    /// The mapping.
    base: NonNull<u8>,
    reserved: usize,
    /// The first huge page in it.
    start: NonNull<u8>,
    len: usize,
    leaks: bool,
}

// SAFETY: uniquely owned plain memory.
unsafe impl Send for Arena {}

impl Arena {
    pub(super) fn new(len: usize) -> std::io::Result<Self> {
        let huge = cryptbench_blockdev::AlignedBuf::HUGE_PAGE;
        let reserved = len.next_multiple_of(huge) + huge;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), reserved, protection, flags) }?;
        let base = NonNull::new(base.cast::<u8>()).ok_or(std::io::ErrorKind::OutOfMemory)?;
        // SAFETY: less than one huge page into a mapping that is longer than that.
        let start = unsafe { base.add(base.align_offset(huge)) };
        // SAFETY: the range lies in this mapping, and the advice changes no content; it may be refused.
        let _ = unsafe {
            madvise(start.as_ptr().cast(), len.next_multiple_of(huge), Advice::LinuxHugepage)
        };
        Ok(Self { base, reserved, start, len, leaks: false })
    }

    /// All of it.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        self.part(0, self.len)
    }

    /// `len` bytes from `at` on. The kernel may meanwhile write to other parts.
    pub(super) fn part(&mut self, at: usize, len: usize) -> &mut [u8] {
        assert!(at <= self.len && len <= self.len - at, "a part of the arena");
        // SAFETY: the bytes lie in the mapping, checked above, and are initialised; `&mut self` keeps
        // other references away.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), len) }
    }
}

impl Arena {
    /// Leaves the memory mapped for good, since somebody may still read or write it.
    pub(super) fn leak(&mut self) {
        self.leaks = true;
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if self.leaks {
            return;
        }
        // SAFETY: mapped in `new` with this length; no borrow outlives `self`.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.reserved) };
    }
}
