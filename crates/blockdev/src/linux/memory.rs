//! Memory pages: huge pages, and pages that are neither swapped out nor dumped.
#![expect(clippy::disallowed_methods, reason = "files of the kernel")]

use std::ops::Range;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap_anonymous, munmap};

use crate::AlignedBuf;

const READ_AND_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// Maps `len` zeroed bytes, at least 1, in new pages.
pub(crate) fn pages(len: usize) -> Option<NonNull<u8>> {
    // SAFETY: a new mapping at an address that the kernel chooses does not affect existing memory.
    let start =
        unsafe { mmap_anonymous(std::ptr::null_mut(), len, READ_AND_WRITE, MapFlags::PRIVATE) };
    NonNull::new(start.ok()?.cast())
}

/// Maps `whole` zeroed bytes, a multiple of [`AlignedBuf::HUGE_PAGE`] and aligned to it, on huge
/// pages if the kernel grants them.
pub(crate) fn huge_pages(whole: usize) -> Option<NonNull<u8>> {
    // Miri cannot unmap a part of a mapping.
    if cfg!(miri) {
        return None;
    }
    let reserved = whole.checked_add(AlignedBuf::HUGE_PAGE)?;
    let start = pages(reserved)?.as_ptr();
    let before = start.align_offset(AlignedBuf::HUGE_PAGE);
    let ptr = start.wrapping_add(before.min(reserved));
    // SAFETY: these are the two ends of the new mapping, outside the `whole` bytes from `ptr`, and nothing refers to
    // them. If unmapping fails, the address space stays reserved but uses no memory.
    unsafe {
        if before > 0 {
            let _ = munmap(start.cast(), before);
        }
        let after = reserved - before - whole;
        if after > 0 {
            let _ = munmap(ptr.wrapping_add(whole).cast(), after);
        }
    }
    // SAFETY: the range is this mapping, and the advice does not change the memory's content. If the kernel refuses,
    // small pages are used.
    let _ = unsafe { madvise(ptr.cast(), whole, Advice::LinuxHugepage) };
    // The bytes are already zero. Writing them allocates the pages in order now, so that no request has to allocate
    // them. SAFETY: `whole` bytes from `ptr` are mapped for writing and not yet shared.
    unsafe { ptr.write_bytes(0, whole) };
    NonNull::new(ptr)
}

/// Unmaps memory that [`pages`] or [`huge_pages`] mapped.
///
/// # Safety
/// One of these functions mapped these `len` bytes, they have not been unmapped, and nothing uses them any
/// more.
pub(crate) unsafe fn give_back(start: NonNull<u8>, len: usize) {
    // SAFETY: the caller's promise.
    let _ = unsafe { munmap(start.as_ptr().cast(), len) };
}

/// Locks pages in memory for as long as they are mapped; returns whether this succeeded.
pub(crate) fn lock(start: *const u8, len: usize) -> bool {
    // SAFETY: locking does not change memory, and the kernel refuses unmapped ranges.
    unsafe { mlock(start.cast_mut().cast(), len) }.is_ok()
}

/// Excludes memory that [`pages`] mapped from core dumps and from child processes, if the kernel supports this.
pub(crate) fn keep_to_this_process(start: NonNull<u8>, len: usize) {
    for advice in [Advice::LinuxDontDump, Advice::LinuxDontFork] {
        // SAFETY: the range is a separate mapping. Child processes do not inherit the range, but this program creates
        // only children that execute another program.
        let _ = unsafe { madvise(start.as_ptr().cast(), len, advice) };
    }
}

/// Bytes on huge pages in all mappings that overlap these addresses (`/proc/self/smaps`).
pub(crate) fn on_huge_pages(addresses: Range<usize>) -> usize {
    let Ok(maps) = std::fs::read_to_string("/proc/self/smaps") else { return 0 };
    let mut inside = false;
    let mut kib: usize = 0;
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next() else { continue };
        let range = first.split_once('-').and_then(|(low, high)| {
            let parse = |s| usize::from_str_radix(s, 16).ok();
            Some((parse(low)?, parse(high)?))
        });
        match (range, words.next()) {
            (Some((low, high)), _) => inside = low < addresses.end && addresses.start < high,
            (None, Some(value)) if inside && first == "AnonHugePages:" => {
                kib += value.parse().unwrap_or(0);
            }
            _ => {}
        }
    }
    kib << 10
}

/// Size of a page in bytes.
pub(crate) fn page_size() -> usize {
    rustix::param::page_size()
}
